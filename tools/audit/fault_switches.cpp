// Fault switches: pairs of settings that differ in one parameter, one of them upheld and one
// violated.
#include <algorithm>
#include <map>
#include <optional>

#include "properties/describe.h"
#include "tools/audit/localise.h"

namespace draftproof::tools::audit {
namespace {

using oracle::Claim;
using oracle::Verdict;
using oracle::VerdictKind;
using properties::short_number;
using properties::audits::Matrix;
using properties::audits::Setting;

using Parameters = std::vector<std::pair<std::string, std::string>>;

std::string number_or_off(double value, double off) {
  return value == off ? "off" : short_number(value);
}

std::string list_of(const std::vector<reference::Token>& tokens) {
  std::string text;
  for (const reference::Token token : tokens)
    text += (text.empty() ? "" : " ") + std::to_string(token);
  return text.empty() ? "none" : text;
}

std::string yes_or_no(bool value) { return value ? "yes" : "no"; }

std::string bias_of(const reference::Adjustments& adjustments) {
  std::string text;
  for (const reference::TokenBias& bias : adjustments.logit_bias)
    text += (text.empty() ? "" : " ") + std::to_string(bias.token) + ":" + short_number(bias.bias);
  return text.empty() ? "off" : text;
}

std::string bad_words_of(const reference::Adjustments& adjustments) {
  std::string text;
  for (const auto& word : adjustments.bad_words) text += (text.empty() ? "" : ", ") + list_of(word);
  return text.empty() ? "none" : text;
}

/// The one parameter that differs, if it is one.
std::optional<std::size_t> only_difference(const Parameters& one, const Parameters& other) {
  std::optional<std::size_t> place;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one[i].second == other[i].second) continue;
    if (place) return {};
    place = i;
  }
  return place;
}

bool is_of_the_law(Claim claim) {
  return claim == Claim::kSupportSafe || claim == Claim::kGreedyExact ||
         claim == Claim::kMarginalLossless || claim == Claim::kSequenceLossless;
}

constexpr const char* kAllOfTheLaw = "audits of the law";

/// Verdicts of a setting by audit, and all of the law together.
std::map<std::string, Verdict> by_property(const std::vector<Verdict>& verdicts,
                                           const std::string& setting) {
  std::map<std::string, Verdict> found;
  std::vector<Verdict> law;
  for (const Verdict& verdict : verdicts) {
    if (verdict.setting != setting) continue;
    found.emplace(verdict.property, verdict);
    if (is_of_the_law(verdict.claim)) law.push_back(verdict);
  }
  if (law.empty()) return found;
  Verdict all;
  all.kind = oracle::merged(law);
  all.property = kAllOfTheLaw;
  found.emplace(all.property, all);
  return found;
}

/// Where an audit of its own names a pair of settings, the sum of all says nothing more.
std::vector<FaultSwitch> without_sums(const std::vector<FaultSwitch>& switches) {
  std::vector<FaultSwitch> kept;
  for (const FaultSwitch& each : switches) {
    const bool is_told = std::any_of(switches.begin(), switches.end(), [&](const auto& own) {
      return own.property != kAllOfTheLaw && own.upheld_setting == each.upheld_setting &&
             own.violated_setting == each.violated_setting;
    });
    if (each.property != kAllOfTheLaw || !is_told) kept.push_back(each);
  }
  return kept;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> parameters_of(const Setting& setting) {
  const properties::SamplingRequest& request = setting.request;
  const reference::Adjustments& adjustments = request.adjustments;
  const reference::Penalties& penalties = adjustments.penalties;
  return {
      {"temperature", short_number(request.sampling.temperature)},
      {"top_k",
       number_or_off(static_cast<double>(std::max<std::int64_t>(request.sampling.top_k, 0)), 0)},
      {"top_p", number_or_off(request.sampling.top_p, 1)},
      {"min_p", number_or_off(request.sampling.min_p, 0)},
      {"repetition_penalty", number_or_off(penalties.repetition, 1)},
      {"frequency_penalty", number_or_off(penalties.frequency, 0)},
      {"presence_penalty", number_or_off(penalties.presence, 0)},
      {"penalty_window", penalties.last_n ? std::to_string(*penalties.last_n) : "default"},
      {"logit_bias", bias_of(adjustments)},
      {"allowed_ids", adjustments.allowed_ids ? list_of(*adjustments.allowed_ids) : "all"},
      {"bad_words", bad_words_of(adjustments)},
      {"min_tokens", std::to_string(adjustments.min_tokens)},
      {"max_tokens", std::to_string(request.max_tokens)},
      {"logprobs", request.logprob_count < 0 ? "off" : std::to_string(request.logprob_count)},
      {"ignore_end", yes_or_no(request.ignores_end)},
      {"stop_token_ids", list_of(request.stop_token_ids)},
      {"grammar", request.grammar.empty() ? "none" : request.grammar},
      {"adapter", request.adapter.empty() ? "none" : request.adapter},
      {"stream", yes_or_no(request.is_streamed)},
      {"prefix_cache", yes_or_no(request.uses_prefix_cache)},
      {"concurrency", std::to_string(setting.concurrency)},
  };
}

std::string to_string(const FaultSwitch& fault_switch) {
  return fault_switch.parameter + " " + fault_switch.upheld_value + " -> " +
         fault_switch.violated_value + " switches it on: " + fault_switch.property + " upheld in " +
         fault_switch.upheld_setting + ", violated in " + fault_switch.violated_setting;
}

std::vector<FaultSwitch> fault_switches(const Matrix& matrix,
                                        const std::vector<Verdict>& verdicts) {
  std::vector<Parameters> parameters;
  std::vector<std::map<std::string, Verdict>> found;
  for (const Setting& setting : matrix.settings) {
    parameters.push_back(parameters_of(setting));
    found.push_back(by_property(verdicts, setting.id));
  }
  std::vector<FaultSwitch> switches;
  for (std::size_t bad = 0; bad < found.size(); ++bad) {
    for (std::size_t good = 0; good < found.size(); ++good) {
      const auto place = only_difference(parameters[good], parameters[bad]);
      if (!place) continue;
      for (const auto& [property, verdict] : found[bad]) {
        if (verdict.kind != VerdictKind::kViolated) continue;
        const auto other = found[good].find(property);
        if (other == found[good].end() || other->second.kind != VerdictKind::kUpheld) continue;
        const auto& [name, upheld_value] = parameters[good][*place];
        switches.push_back({property, name, upheld_value, parameters[bad][*place].second,
                            matrix.settings[good].id, matrix.settings[bad].id,
                            other->second.smallest_visible_effect});
      }
    }
  }
  return without_sums(switches);
}

}  // namespace draftproof::tools::audit
