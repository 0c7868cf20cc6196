// Runs of a right engine at random: rules, drafts, caches, requests and everything that happens to
// them, as a function of one number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "properties/state/twin.h"
#include "reference/decode/engine.h"

namespace draftproof::properties::state {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  /// 0 .. count - 1
  int below(int count) {
    state_ = reference::kv::history_behind(state_, 0, 0);
    return static_cast<int>((state_ >> 20) % static_cast<std::uint64_t>(count));
  }
  bool one_in(int count) { return below(count) == 0; }
  int between(int low, int high) { return low + below(high - low + 1); }
  template <typename Value>
  const Value& of(const std::vector<Value>& values) {
    return values[static_cast<std::size_t>(below(static_cast<int>(values.size())))];
  }

 private:
  std::uint64_t state_;
};

inline constexpr int kRunVocab = 7;

/// Three states; each refuses another token, and none the last one.
inline std::shared_ptr<const reference::model::Grammar> run_grammar() {
  std::vector<std::vector<int>> next(3, std::vector<int>(kRunVocab));
  for (int state = 0; state < 3; ++state)
    for (int token = 0; token < kRunVocab; ++token)
      next[static_cast<std::size_t>(state)][static_cast<std::size_t>(token)] =
          token % 3 == state && token + 1 < kRunVocab ? reference::model::Grammar::kRefused
                                                      : (state + token) % 3;
  return std::make_shared<const reference::model::Grammar>(next);
}

/// Sees `order` last tokens like its target, whose rows it shares most of.
inline reference::decode::DraftSourcePtr run_source(Dice& dice, const std::string& rule,
                                                    int order) {
  using namespace reference::decode;
  const LanguageModelPtr model = hashed_model({.vocab_size = kRunVocab,
                                               .seed = 2,
                                               .order = order,
                                               .shared_parts = dice.between(8, 16),
                                               .shared_seed = 1});
  if (dice.one_in(8)) return nullptr;
  if (rule == "with-replacement" || rule == "chain" || rule == "block") {
    if (dice.one_in(4)) return lookup_source(dice.between(1, 2));
    return dice.one_in(4) ? greedy_model_source(model) : model_source(model);
  }
  if (rule == "greedy") return dice.one_in(3) ? lookup_source(1) : greedy_model_source(model);
  const std::vector<int> widths = dice.of<std::vector<int>>({{2, 2}, {3, 1, 1}, {1, 2}, {2}});
  if (rule == "without-replacement" || rule == "traversal")
    return sampled_tree_source(model, widths);
  if (dice.one_in(4)) return lookup_source(1);
  return dice.one_in(3) ? greedy_model_source(model) : tree_source(model, widths);
}

inline reference::kv::CacheConfig run_cache(Dice& dice, int tokens) {
  reference::kv::CacheConfig cache;
  cache.page_size = dice.between(1, 5);
  cache.page_count = (tokens + cache.page_size - 1) / cache.page_size + dice.below(12);
  cache.window = dice.one_in(3) ? dice.between(1, 9) : 0;
  cache.is_trimmable = dice.one_in(2);
  cache.is_quantised = dice.one_in(3);
  cache.keeps_prefixes = !dice.one_in(4);
  return cache;
}

inline reference::decode::EngineConfig run_config(Dice& dice) {
  using namespace reference::decode;
  EngineConfig config;
  config.rule = dice.of<std::string>({"chain", "chain", "greedy", "block", "tree-greedy",
                                      "target-only", "with-replacement", "without-replacement",
                                      "traversal", "match", "match"});
  const int order = dice.of<int>({0, 1, 1, 2});
  config.target = hashed_model(
      {.vocab_size = kRunVocab, .seed = 1, .order = order, .is_recurrent = dice.one_in(5)});
  config.drafts = run_source(dice, config.rule, order);
  config.draft_count = dice.between(0, 5);
  config.context_max = dice.between(12, 30);
  config.target_cache = run_cache(dice, config.context_max);
  config.draft_cache = run_cache(dice, config.context_max);
  config.recurrent_rollback = dice.one_in(2) ? reference::kv::RecurrentRollback::kSelect
                                             : reference::kv::RecurrentRollback::kReplayAccepted;
  config.request_max = dice.between(1, 4);
  config.chunk_tokens = dice.one_in(2) ? dice.between(1, 4) : 64;
  if (dice.one_in(2)) config.graph_sizes = {4, 8, 16};
  config.is_asynchronous = dice.one_in(2);
  config.offloads = dice.one_in(3);
  if (dice.one_in(3)) config.budget.verify_rows = dice.between(1, 9);
  if (dice.one_in(4)) config.budget.draft_tokens = dice.between(0, 5);
  if (dice.one_in(4)) config.budget.temporary_pages = dice.between(0, 4);
  if (dice.one_in(4)) config.budget.rollback_cells = dice.between(0, 6);
  if (dice.one_in(4)) config.budget.speculative_requests = dice.between(0, 2);
  if (dice.one_in(4)) config.budget.workspace_floats = kRunVocab * dice.between(1, 9);
  if (dice.one_in(4)) config.gates.accepted_min = reference::Exact(1) / 2;
  config.adapter_count = 3;
  config.contract =
      dice.of<std::string>({"default", "default", "vllm", "transformers", "tensorrt-llm"});
  return config;
}

inline void adjust(Dice& dice, reference::decode::RequestSpec& spec) {
  const auto token = [&] { return static_cast<reference::Token>(dice.below(kRunVocab)); };
  reference::Adjustments& asked = spec.adjustments;
  if (dice.one_in(3)) asked.penalties.repetition = 1.5;
  if (dice.one_in(3)) asked.penalties.frequency = 0.25;
  if (dice.one_in(3)) asked.penalties.presence = 0.5;
  if (dice.one_in(3)) asked.logit_bias = {{token(), 1.25}};
  if (dice.one_in(3)) asked.bad_words = {{token(), token()}, {token()}};
  if (dice.one_in(3) && spec.eos) asked.min_tokens = dice.between(1, 6);
}

inline reference::decode::RequestSpec run_request(Dice& dice,
                                                  const reference::decode::EngineConfig& config) {
  const auto token = [&] { return static_cast<reference::Token>(dice.below(kRunVocab)); };
  reference::decode::RequestSpec spec;
  // Few different prompts, so that prefixes are found again.
  const int prompt = dice.below(3);
  for (int i = dice.between(1, std::min(9, config.context_max - 1)); i > 0; --i)
    spec.prompt.push_back((prompt + 3 * i) % kRunVocab);
  spec.max_tokens = dice.between(1, 20);
  if (dice.one_in(2)) spec.eos = token();
  if (dice.one_in(2)) spec.stops.push_back({token(), token()});
  if (dice.one_in(4)) spec.stops.push_back({token(), token(), token()});
  spec.sampling.temperature = dice.of<double>({1, 1, 0.7, 0});
  if (dice.one_in(4)) spec.sampling.top_k = dice.between(1, 4);
  if (dice.one_in(4)) spec.sampling.top_p = 0.8;
  if (dice.one_in(2)) spec.seed = static_cast<std::uint64_t>(dice.below(1000));
  if (dice.one_in(2)) adjust(dice, spec);
  if (dice.one_in(3)) spec.grammar = run_grammar();
  if (spec.grammar && dice.one_in(2)) spec.grammar_behind = token();
  spec.adapter = dice.of<int>({0, 0, 0, 1, 2});
  spec.is_speculative = !dice.one_in(8);
  spec.logprob_count = dice.between(-1, 3);
  return spec;
}

/// One call of an engine.
enum class Call : std::uint8_t {
  kSubmit,
  kDraft,
  kVerify,
  kCommit,
  kStep,
  kPreempt,
  kCancel,
  kEvict,
  kForget
};

/// Does something at random; answers what, and behind which boundary the engine stands.
inline Call call_at_random(Dice& dice, reference::decode::Engine& engine) {
  const auto any = [&]() -> reference::decode::RequestId {
    return static_cast<reference::decode::RequestId>(
        dice.between(1, static_cast<int>(engine.state().next_request)));
  };
  const int number = dice.below(100);
  if (number < 12) {
    if (engine.state().next_request < 24) engine.submit(run_request(dice, engine.config()));
    return Call::kSubmit;
  }
  if (number < 34) return engine.draft(), Call::kDraft;
  if (number < 58) return engine.verify(), Call::kVerify;
  if (number < 80) return engine.commit(), Call::kCommit;
  if (number < 92) return engine.step(), Call::kStep;
  if (number < 95) return engine.preempt(any()), Call::kPreempt;
  if (number < 97) return engine.cancel(any()), Call::kCancel;
  if (number < 98) return engine.evict_prefixes(), Call::kEvict;
  const reference::decode::RequestId id = any();
  const auto found = engine.state().host.find(id);
  if (found != engine.state().host.end() &&
      found->second.phase == reference::decode::Phase::kFinished)
    engine.forget(id);
  return Call::kForget;
}

inline Boundary boundary_of(Call call) {
  return call == Call::kDraft ? Boundary::kAfterFeed : Boundary::kAfterEmit;
}

}  // namespace draftproof::properties::state
