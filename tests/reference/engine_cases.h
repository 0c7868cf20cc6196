// Engines and requests for tests of the engine core.
#pragma once

#include <string>
#include <vector>

#include "reference/decode/engine.h"

namespace draftproof::reference::decode {

inline LanguageModelPtr target_model(bool is_recurrent = false) {
  return hashed_model({.vocab_size = 8, .seed = 1, .is_recurrent = is_recurrent});
}

/// Shares most of its weights with target_model().
inline LanguageModelPtr draft_model() {
  return hashed_model({.vocab_size = 8, .seed = 2, .shared_parts = 14, .shared_seed = 1});
}

inline EngineConfig small_engine() {
  EngineConfig config;
  config.target = target_model();
  config.drafts = model_source(draft_model());
  config.rule = "match";
  config.target_cache = {.page_size = 4, .page_count = 64};
  config.draft_cache = {.page_size = 3, .page_count = 96};
  config.context_max = 64;
  config.request_max = 4;
  config.chunk_tokens = 5;
  return config;
}

/// Requests that differ in prompt, length, seed and sampling; some share a prefix.
inline std::vector<RequestSpec> mixed_requests(int count) {
  std::vector<RequestSpec> specs;
  for (int i = 0; i < count; ++i) {
    RequestSpec spec;
    spec.prompt = {1, 2, 3, 4, 5, 6, 7, 0, static_cast<Token>(i % 3)};
    if (i % 4 == 3) spec.prompt.resize(2);
    spec.max_tokens = 3 + 5 * (i % 5);
    spec.seed = static_cast<std::uint64_t>(100 + i);
    if (i % 3 == 1) spec.sampling = {.temperature = 0.7, .top_k = 5};
    if (i % 3 == 2) spec.sampling.temperature = 0;
    specs.push_back(spec);
  }
  return specs;
}

inline void finish_all(Engine& engine) {
  while (engine.step()) {
  }
}

/// What every request emits, and why it ends.
struct Output {
  std::vector<Token> tokens;
  FinishReason finish = FinishReason::kNone;
  friend bool operator==(const Output&, const Output&) = default;
};

inline Output output_of(const HostRequest& request) {
  return {request.output_tokens(), request.finish};
}

inline std::vector<Output> outputs(const EngineConfig& config,
                                   const std::vector<RequestSpec>& specs) {
  Engine engine(config);
  std::vector<RequestId> ids;
  for (const RequestSpec& spec : specs) ids.push_back(engine.submit(spec));
  finish_all(engine);
  std::vector<Output> all;
  for (const RequestId id : ids) all.push_back(output_of(engine.request(id)));
  return all;
}

inline EngineConfig without_drafts(EngineConfig config) {
  config.drafts = nullptr;
  return config;
}

}  // namespace draftproof::reference::decode
