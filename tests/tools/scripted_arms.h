// Scripted arms: an engine of four tokens whose every answer is a function of its request, right or
// with a law of its own in the speculative arm, so that what is collected can be compared bit for
// bit. Nothing here has a clock or a socket.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "properties/audits/judge.h"
#include "tools/audit/collector.h"

namespace draftproof::tests {

inline constexpr std::array<double, 4> kScriptedLaw = {0.4, 0.3, 0.2, 0.1};

class ScriptedLaw final : public properties::audits::KnownTarget {
 public:
  int vocab_size() const override { return 4; }
  std::vector<double> next(const properties::SamplingRequest& request,
                           std::span<const reference::Token>) const override {
    if (request.sampling.temperature == 0) return {1, 0, 0, 0};
    return {kScriptedLaw.begin(), kScriptedLaw.end()};
  }
};

inline double scripted_coin(std::uint64_t seed, std::uint64_t position) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + position * 0xbf58476d1ce4e5b9u + 1;
  for (const int shift : {30, 27, 31}) {
    x ^= x >> shift;
    x *= 0x94d049bb133111ebu;
  }
  return static_cast<double>(x >> 11) * 0x1p-53;
}

/// `extra` is taken from the likeliest token and given to the rarest one.
inline properties::Completion scripted_answer(const properties::SamplingRequest& request,
                                              double extra = 0) {
  properties::Completion completion;
  for (int i = 0; i < request.max_tokens; ++i) {
    double left = scripted_coin(request.seed.value_or(0), static_cast<std::uint64_t>(i));
    reference::Token token = 0;
    const std::array<double, 4> law = {kScriptedLaw[0] - extra, kScriptedLaw[1], kScriptedLaw[2],
                                       kScriptedLaw[3] + extra};
    while (token < 3 && left >= law[static_cast<std::size_t>(token)])
      left -= law[static_cast<std::size_t>(token++)];
    completion.token_ids.push_back(request.sampling.temperature == 0 ? 0 : token);
  }
  return completion;
}

/// Two sampled settings of two prompts each and a greedy one.
inline properties::audits::Matrix scripted_matrix(std::uint64_t trial_max = 64) {
  using properties::audits::Seeding;
  properties::audits::Matrix matrix;
  matrix.first_look = 8;
  for (const double temperature : {1.0, 0.7, 0.0}) {
    properties::SamplingRequest request;
    request.sampling.temperature = static_cast<float>(temperature);
    request.max_tokens = 4;
    const std::string id = temperature == 0 ? "t0" : temperature == 1 ? "t1" : "t0.7";
    matrix.settings.push_back({id, request, 2});
    const std::size_t setting = matrix.settings.size() - 1;
    for (const reference::Token token : {1, 2}) {
      request.prompt = {token};
      const bool is_shared = temperature != 0 && token == 2;
      matrix.cases.push_back({id + "/p" + std::to_string(token) + (is_shared ? "/shared" : ""),
                              setting, "p" + std::to_string(token), request,
                              is_shared ? Seeding::kShared : Seeding::kIndependent, "",
                              temperature == 0 ? 2 : trial_max});
    }
  }
  return matrix;
}

/// What a collection is given, with a clock that ticks once a question.
struct ScriptedWorld {
  properties::audits::Matrix matrix = scripted_matrix();
  ScriptedLaw law;
  properties::audits::JudgeSettings judge;
  double extra = 0;  ///< of the speculative arm
  std::function<void(properties::Arm, const properties::SamplingRequest&)> before = {};
  tools::audit::CollectHooks hooks;
  std::vector<std::pair<properties::Arm, properties::SamplingRequest>> asked;
  double clock = 0;

  ScriptedWorld() {
    judge.target = &law;
    judge.effect_tv = 0.25;
    judge.baseline.vocab_size = judge.speculative.vocab_size = 4;
    hooks.ask = [this](properties::Arm arm,
                       const std::vector<properties::SamplingRequest>& requests, int) {
      std::vector<properties::Completion> answers;
      for (const auto& request : requests) {
        if (before) before(arm, request);
        asked.emplace_back(arm, request);
        answers.push_back(
            scripted_answer(request, arm == properties::Arm::kSpeculative ? extra : 0));
      }
      return answers;
    };
    hooks.keep = [](const auto&) {};
    hooks.now = [this] { return clock += 0.001; };
  }
  ScriptedWorld(const ScriptedWorld&) = delete;

  tools::audit::CollectResult collect(properties::audits::Evidence& evidence,
                                      std::optional<std::uint64_t> request_max = {},
                                      std::vector<std::size_t> settings = {0, 1, 2}) {
    const tools::audit::CollectPlan plan{.matrix = matrix,
                                         .judge = judge,
                                         .settings = std::move(settings),
                                         .time_limit_s = {},
                                         .request_max = request_max};
    return tools::audit::collect(plan, hooks, evidence);
  }
};

/// Every transcript of the matrix as a line, in a fixed order; cold answers left out.
inline std::vector<std::string> lines_of(const properties::audits::Matrix& matrix,
                                         const properties::audits::Evidence& evidence) {
  std::vector<std::string> lines;
  for (const auto& each : matrix.cases)
    for (const auto arm : {properties::Arm::kBaseline, properties::Arm::kSpeculative})
      for (const std::uint32_t repeat : {0u, 1u, properties::kScoreRepeat})
        for (const auto& [trial, transcript] : evidence.of(each.id, arm, repeat))
          lines.push_back(properties::line_of(transcript));
  return lines;
}

}  // namespace draftproof::tests
