#include "tools/draftproof/engine_trial.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "properties/random.h"
#include "reference/model/spelling.h"
#include "tools/audit/collector.h"
#include "tools/engines/client.h"
#include "tools/serve/service.h"

namespace draftproof::tools {
namespace {

namespace audits = properties::audits;
namespace decode = reference::decode;

constexpr int kTrialTokensMax = 8;
constexpr int kPromptLengthMax = 6;
constexpr std::size_t kPrompts = 24;
constexpr int kPagesOfOthers = 1024;
constexpr std::size_t kSampledPrompts = 4;
constexpr std::size_t kRequestsTogether = 16;
constexpr double kReadTimeout = 30;    ///< seconds
constexpr double kFalseAlarms = 1e-9;  ///< of a scene

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

std::unique_ptr<engines::ArmClient> client_of(const serve::Service& server) {
  engines::ClientOptions options;
  options.url = "http://127.0.0.1:" + std::to_string(server.port());
  options.engine = "llama.cpp";
  options.read_timeout_s = kReadTimeout;
  return engines::http_client(options);
}

/// What is asked of one setting, and what of it is judged.
struct Scene {
  std::string id;
  reference::Sampling sampling;
  int logprob_count = -1;
  std::vector<std::string> audits;
  std::size_t prompt_count = 0;  ///< spread over all; 0: all of them
  std::uint64_t trials = 1;
  bool has_baseline = false;
};

std::vector<Scene> scenes(std::uint64_t sample_count) {
  return {
      {.id = "greedy",
       .sampling = {.temperature = 0},
       .audits = {"well_formed", "counter_identities", "greedy_margin_parity"},
       .has_baseline = true},
      {.id = "t1-k2", .sampling = {.top_k = 2}, .audits = {"support_of_filters"}, .trials = 4},
      {.id = "t1",
       .sampling = {},
       .audits = {"next_token_law", "joint_law"},
       .prompt_count = kSampledPrompts,
       .trials = sample_count},
      {.id = "t1-logprobs", .sampling = {}, .logprob_count = 0, .audits = {"logprob_truth"}},
  };
}

/// `count` prompts of 1 to kPromptLengthMax tokens.
std::vector<properties::Prompt> varied_prompts(std::size_t count, int vocab_size) {
  properties::Random random(7);
  std::vector<properties::Prompt> prompts;
  for (std::size_t i = 0; i < count; ++i) {
    properties::Prompt prompt(1 + i % static_cast<std::size_t>(kPromptLengthMax));
    for (reference::Token& token : prompt)
      token = static_cast<reference::Token>(random.below(static_cast<std::uint64_t>(vocab_size)));
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

/// Shortest first, so that a witness is short.
std::vector<properties::Prompt> prompts_of(const fixtures::StateScene& scene) {
  auto prompts = varied_prompts(kPrompts, scene.config.target->vocab_size());
  for (const decode::RequestSpec& spec : scene.requests)
    if (spec.prompt.size() <= static_cast<std::size_t>(kPromptLengthMax))
      prompts.push_back(spec.prompt);
  std::stable_sort(prompts.begin(), prompts.end(), [](const auto& first, const auto& second) {
    return first.size() < second.size();
  });
  return prompts;
}

audits::Matrix matrix_of(const Scene& asked, const fixtures::StateScene& scene) {
  properties::SamplingRequest request;
  request.sampling = asked.sampling;
  request.logprob_count = asked.logprob_count;
  request.max_tokens = kTrialTokensMax;
  if (!scene.requests.empty())
    request.adjustments.penalties = scene.requests.back().adjustments.penalties;
  audits::Matrix matrix;
  matrix.settings = {{.id = asked.id, .request = request}};
  const auto prompts = prompts_of(scene);
  const std::size_t count =
      asked.prompt_count == 0 ? prompts.size() : std::min(asked.prompt_count, prompts.size());
  for (std::size_t i = 0; i < count; ++i) {
    request.prompt = prompts[i * prompts.size() / count];
    matrix.cases.push_back({.id = asked.id + "/" + std::to_string(i),
                            .prompt_name = std::to_string(i),
                            .request = request,
                            .cohort = "",
                            .trial_max = asked.trials});
  }
  return matrix;
}

/// Asks without seeds: requests of one body have one in this protocol, and many of them together
/// are what an engine's state is tried by.
std::vector<properties::Completion> answers(properties::Engine& engine, properties::Arm arm,
                                            std::vector<properties::SamplingRequest> requests,
                                            EngineTrial& trial) {
  std::vector<properties::Completion> completions;
  for (std::size_t begin = 0; begin < requests.size(); begin += kRequestsTogether) {
    const std::size_t end = std::min(begin + kRequestsTogether, requests.size());
    std::vector<properties::SamplingRequest> together(
        requests.begin() + static_cast<std::ptrdiff_t>(begin),
        requests.begin() + static_cast<std::ptrdiff_t>(end));
    for (properties::SamplingRequest& request : together) request.seed.reset();
    for (properties::Completion& completion : engine.generate(arm, together)) {
      ++trial.requests;
      if (completion.counters) {
        trial.drafted += completion.counters->drafted;
        trial.accepted += completion.counters->accepted;
      }
      completions.push_back(std::move(completion));
    }
  }
  return completions;
}

/// Asks for one scene and judges it.
void try_scene(const Scene& asked, const fixtures::StateScene& scene, properties::Engine& engine,
               audits::JudgeSettings judge, EngineTrial& trial) {
  const audits::Matrix matrix = matrix_of(asked, scene);
  judge.audits = asked.audits;
  judge.has_baseline = asked.has_baseline;
  audit::CollectHooks hooks;
  hooks.ask = [&](properties::Arm arm, const std::vector<properties::SamplingRequest>& requests,
                  int) { return answers(engine, arm, requests, trial); };
  audits::Evidence asked_for, answered;
  hooks.keep = [&](const std::vector<properties::Transcript>& transcripts) {
    for (properties::Transcript transcript : transcripts) {
      transcript.request.seed.reset();  // as it was sent
      answered.add(std::move(transcript));
    }
  };
  hooks.now = [] { return 0.0; };
  const audit::CollectPlan plan{.matrix = matrix,
                                .judge = judge,
                                .settings = {0},
                                .time_limit_s = {},
                                .request_max = {},
                                .repeated_trials = 0,
                                .scored_trials = 0};
  audit::collect(plan, hooks, asked_for);
  for (oracle::Verdict& verdict : audits::judge(matrix, answered, judge))
    trial.verdicts.push_back(std::move(verdict));
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
  const std::shared_ptr<engines::ArmClient> baseline = client_of(*baseline_server);
  const std::shared_ptr<engines::ArmClient> speculative = client_of(*speculative_server);
  const auto target = audits::toy_target({.model = config.target,
                                          .contract = serve::dialect("llama.cpp").contract,
                                          .window = config.target_cache.window});
  EngineTrial trial;
  const auto engine = engines::two_arms_together(baseline, speculative);
  audits::JudgeSettings judge;
  judge.false_alarms = kFalseAlarms;
  judge.baseline = baseline->capabilities();
  judge.speculative = speculative->capabilities();
  judge.baseline.takes_seed = judge.speculative.takes_seed = false;
  judge.target = target.get();
  judge.replay = replay;
  for (const Scene& asked : scenes(sample_count)) try_scene(asked, scene, *engine, judge, trial);
  return trial;
}

}  // namespace draftproof::tools
