#include "tools/draftproof/engine_trial.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "properties/audits/audits.h"
#include "reference/model/spelling.h"
#include "tools/engines/toy_client.h"
#include "tools/serve/service.h"

namespace draftproof::tools {
namespace {

namespace audits = properties::audits;
namespace decode = reference::decode;

constexpr int kTrialTokensMax = 8;
constexpr int kPromptLengthMax = 6;
constexpr std::size_t kPrompts = 24;
constexpr int kPagesOfOthers = 1024;

/// What one request may need at its longest, with its draft.
int pages_for(const decode::EngineConfig& config, const reference::kv::CacheConfig& cache) {
  const int slots = kPromptLengthMax + kTrialTokensMax + config.draft_count + 1;
  return slots / cache.page_size + 2;
}

/// The scene's engine with room for the audits' requests. A scene that says how many pages there
/// are means it: requests then wait for each other, and are preempted.
decode::EngineConfig served_config(const fixtures::StateScene& scene) {
  decode::EngineConfig config = scene.config;
  // Greedy rules say nothing of temperatures; these two are the same ones at temperature 0.
  if (config.rule == "tree-greedy") config.rule = "match";
  if (config.rule == "greedy") config.rule = "chain";
  for (auto* cache : {&config.target_cache, &config.draft_cache}) {
    if (cache->page_count == reference::kv::CacheConfig{}.page_count)
      cache->page_count = kPagesOfOthers;
    cache->page_count = std::max(cache->page_count, pages_for(config, *cache));
  }
  return config;
}

std::unique_ptr<serve::Service> served(decode::EngineConfig config,
                                       const fixtures::StateFault* fault) {
  const auto vocab_size = static_cast<std::size_t>(config.target->vocab_size());
  const bool is_speculative = config.drafts != nullptr;
  serve::ServiceOptions options{
      .http = {},
      .dialect = serve::dialect("llama.cpp"),
      .host = {.config = std::move(config),
               .spelling = reference::model::letters_spelling(vocab_size)},
      .model = "toy"};
  options.http.thread_count = 4;
  if (is_speculative) options.draft_method = "draft_model";
  if (fault != nullptr && fault->steps) options.host.steps = fault->steps();
  if (fault != nullptr) options.host.make_cache = fault->caches;
  return std::make_unique<serve::Service>(std::move(options));
}

/// Counts what passes.
class CountedEngine final : public properties::Engine {
 public:
  CountedEngine(std::unique_ptr<properties::Engine> inner, EngineTrial& trial)
      : inner_(std::move(inner)), trial_(trial) {}
  properties::Capabilities capabilities() const override { return inner_->capabilities(); }
  std::vector<properties::Completion> generate(
      properties::Arm arm, const std::vector<properties::SamplingRequest>& requests) override {
    auto completions = inner_->generate(arm, requests);
    trial_.requests += requests.size();
    for (const properties::Completion& completion : completions) {
      if (!completion.counters) continue;
      trial_.drafted += completion.counters->drafted;
      trial_.accepted += completion.counters->accepted;
    }
    return completions;
  }

 private:
  std::unique_ptr<properties::Engine> inner_;
  EngineTrial& trial_;
};

audits::AuditSettings settings_for(const fixtures::StateScene& scene, const std::string& replay,
                                   std::size_t sample_count) {
  audits::AuditSettings settings;
  settings.prompts =
      audits::varied_prompts(kPrompts, kPromptLengthMax, scene.config.target->vocab_size(), 7);
  for (const decode::RequestSpec& spec : scene.requests)
    if (spec.prompt.size() <= static_cast<std::size_t>(kPromptLengthMax))
      settings.prompts.push_back(spec.prompt);
  if (!scene.requests.empty())
    settings.request.adjustments.penalties = scene.requests.back().adjustments.penalties;
  settings.request.max_tokens = kTrialTokensMax;
  settings.batch_size = 16;
  settings.sample_count = sample_count;
  settings.replay = replay;
  return settings;
}

}  // namespace

EngineTrial try_engine(const fixtures::StateFault& setting, const fixtures::StateFault* fault,
                       const std::string& replay, std::size_t sample_count) {
  const fixtures::StateScene scene = setting.scene();
  const decode::EngineConfig config = served_config(scene);
  decode::EngineConfig plain = config;
  plain.drafts = nullptr;
  const auto speculative_server = served(config, fault);
  const auto baseline_server = served(std::move(plain), fault);
  ToyClientOptions options;
  options.baseline_port = baseline_server->port();
  options.speculative_port = speculative_server->port();
  options.capabilities = {.name = "toy engine",
                          .vocab_size = config.target->vocab_size(),
                          .draft_count = config.draft_count,
                          .can_draw = true,
                          .reports_counters = true,
                          .logprobs = properties::LogprobKind::kRaw};
  const auto target = audits::toy_target({.model = config.target,
                                          .contract = serve::dialect("llama.cpp").contract,
                                          .window = config.target_cache.window});
  EngineTrial trial;
  CountedEngine engine(toy_client(options), trial);
  trial.verdicts = audits::all_audits(engine, *target, settings_for(scene, replay, sample_count));
  return trial;
}

}  // namespace draftproof::tools
