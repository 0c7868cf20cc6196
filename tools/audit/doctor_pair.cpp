// Doctor: both arms beside each other: one engine, one tokenizer, one model. And the controls of
// the baseline: the law of a toy, and its own law once more.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "oracle/power.h"
#include "oracle/sequential.h"
#include "oracle/two_sample.h"
#include "tools/audit/doctor_bench.h"

namespace draftproof::tools::audit {
namespace {

using properties::Arm;
using properties::Completion;
using properties::SamplingRequest;
using reference::Token;

/// A false alarm of a control once in a million examinations.
constexpr double kAlarmAt = 1e-6;
const double kLogAlarm = -std::log(kAlarmAt);
/// A bound of ids where nobody tells the vocabulary.
constexpr std::uint64_t kManyTokens = 1 << 20;

void compare(Bench& bench, const std::string& question, const std::string& one,
             const std::string& other, Standing otherwise, const std::string& remedy,
             bool is_needed) {
  Finding finding{"both", question, Standing::kHolds, one, "", is_needed};
  if (one.empty() || other.empty()) {
    finding.standing = Standing::kNotKnown;
    finding.says = one.empty() && other.empty() ? "neither arm tells it" : "one arm tells it not";
    finding.is_needed = false;
  } else if (one != other) {
    finding.standing = otherwise;
    finding.says = one + " | " + other;
    finding.remedy = remedy;
  }
  bench.add(std::move(finding));
}

std::string text_of(const std::optional<int>& number) {
  return number ? std::to_string(*number) : "";
}

/// Answers of one token: no draft is behind them.
std::vector<Completion> singles(Bench& bench, Patient& patient, std::size_t prompt, int count,
                                int tokens) {
  std::vector<SamplingRequest> requests;
  for (int i = 0; i < count; ++i) {
    requests.push_back(bench.request(prompt, 1, tokens));
    if (patient.record.capabilities.takes_seed) requests.back().seed = bench.next_seed();
  }
  return bench.ask(patient, requests);
}

std::uint64_t vocabulary(const Patient& patient) {
  const int count = patient.record.capabilities.vocab_size;
  return count > 0 ? static_cast<std::uint64_t>(count) : kManyTokens;
}

std::size_t cells_of(const std::vector<Completion>& completions) {
  std::map<std::vector<Token>, int> seen;
  for (const Completion& each : completions) ++seen[each.token_ids];
  return std::max<std::size_t>(seen.size(), 2);
}

Finding verdict_of(const std::string& subject, const std::string& question, double log_e_value,
                   std::uint64_t count, double visible, const std::string& remedy) {
  Finding finding{subject, question, Standing::kHolds, "", "", true};
  finding.says = fmt::format(
      "{} draws, e-value {:.2g} (alarm at {:g}); a total variation of {:.2g} "
      "would have shown",
      count, std::exp(std::min(log_e_value, 700.0)), 1 / kAlarmAt, visible);
  if (log_e_value < kLogAlarm) return finding;
  finding.standing = Standing::kFails;
  finding.says = fmt::format("{} draws, e-value {:.2g} (alarm at {:g})", count,
                             std::exp(std::min(log_e_value, 700.0)), 1 / kAlarmAt);
  finding.remedy = remedy;
  return finding;
}

}  // namespace

void probe_same_engine(Bench& bench) {
  const ArmRecord& baseline = bench.patient(Arm::kBaseline)->record;
  const ArmRecord& speculative = bench.patient(Arm::kSpeculative)->record;
  const engines::ArmFacts& one = baseline.facts;
  const engines::ArmFacts& other = speculative.facts;
  compare(bench, "are one engine", one.engine, other.engine, Standing::kLimited,
          "another engine has another arithmetic: greedy parity will meet near ties", false);
  compare(bench, "are one build", one.version, other.version, Standing::kLimited,
          "a difference may be the build's; start one build twice", false);
  compare(bench, "name one model", one.model, other.model, Standing::kLimited,
          "names may differ for one model; the laws below decide", false);
  compare(bench, "have one vocabulary", text_of(one.vocab_size), text_of(other.vocab_size),
          Standing::kFails, "serve the same model in both arms", true);
  compare(bench, "cut texts alike", baseline.tokenizer_hash, speculative.tokenizer_hash,
          Standing::kFails, "serve the same tokenizer in both arms", true);
  compare(bench, "have one chat template", baseline.template_hash, speculative.template_hash,
          Standing::kLimited, "send token ids, or give both arms one template", false);
}

void probe_same_model(Bench& bench) {
  Patient& baseline = *bench.patient(Arm::kBaseline);
  Patient& speculative = *bench.patient(Arm::kSpeculative);
  const bool can_draw =
      baseline.record.capabilities.can_draw && speculative.record.capabilities.can_draw;
  const int count = can_draw ? bench.settings().draw_count : 1;
  std::vector<double> evidence;
  std::size_t cells = 2;
  std::size_t greedy_equal = 0;
  const std::size_t prompts = bench.settings().prompts.size();
  for (std::size_t prompt = 0; prompt < prompts; ++prompt) {
    const SamplingRequest greedy = bench.request(prompt, 0, 1);
    greedy_equal +=
        bench.ask_one(baseline, greedy).token_ids == bench.ask_one(speculative, greedy).token_ids
            ? 1U
            : 0U;
    if (!can_draw) continue;
    const auto one = singles(bench, baseline, prompt, count, 1);
    const auto other = singles(bench, speculative, prompt, count, 1);
    oracle::TwoSampleEvidence pairs(std::max(vocabulary(baseline), vocabulary(speculative)));
    for (std::size_t i = 0; i < one.size(); ++i) pairs.add(one[i].token_ids, other[i].token_ids);
    evidence.push_back(pairs.log_e_value());
    cells = std::max(cells, cells_of(one));
  }
  const std::string remedy = "serve the same model, dtype and adapter in both arms";
  if (can_draw) {
    const auto all = static_cast<std::uint64_t>(count) * prompts;
    bench.add(verdict_of("both", "serve one model", oracle::log_combined(evidence), all,
                         oracle::visible_distance_of_pairs(all, kLogAlarm, cells), remedy));
  }
  Finding finding{"both",
                  "have one likeliest first token",
                  greedy_equal == prompts ? Standing::kHolds : Standing::kLimited,
                  fmt::format("{} of {} prompts", greedy_equal, prompts),
                  "",
                  !can_draw};
  if (greedy_equal == 0) {
    finding.standing = Standing::kFails;
    finding.is_needed = true;
    finding.remedy = remedy;
  }
  bench.add(std::move(finding));
}

void probe_known_law(Bench& bench, Patient& patient) {
  const auto* target = bench.settings().target;
  if (target == nullptr || !patient.record.capabilities.can_draw ||
      !patient.record.capabilities.returns_token_ids)
    return;
  const auto size = static_cast<std::size_t>(target->vocab_size());
  std::vector<double> evidence;
  std::uint64_t tokens = 0;
  for (std::size_t prompt = 0; prompt < bench.settings().prompts.size(); ++prompt) {
    const SamplingRequest request = bench.request(prompt, 1, 2);
    if (request.prompt.empty()) continue;
    // Given the tokens before it each token has the law of that context: counts of one context are
    // draws of one law, and evidence of contexts adds up.
    std::map<std::vector<Token>, std::vector<std::uint64_t>> counts;
    for (const Completion& each : singles(bench, patient, prompt, bench.settings().draw_count, 2)) {
      std::vector<Token> before;
      for (const Token token : each.token_ids) {
        auto& row = counts.try_emplace(before, std::vector<std::uint64_t>(size)).first->second;
        if (token < 0 || static_cast<std::size_t>(token) >= size) {
          bench.add({to_string(patient.arm), "has the law of the toy", Standing::kFails,
                     fmt::format("the id {} came; the toy has ids 0 to {}", token, size - 1),
                     "serve the toy that --toy names", true});
          return;
        }
        ++row[static_cast<std::size_t>(token)];
        before.push_back(token);
        ++tokens;
      }
    }
    double log_e_value = 0;
    for (const auto& [before, row] : counts)
      log_e_value += oracle::log_evidence(row, target->next(request, before));
    evidence.push_back(log_e_value);
  }
  if (evidence.empty()) return;
  bench.add(verdict_of(to_string(patient.arm), "has the law of the toy",
                       oracle::log_combined(evidence), tokens,
                       oracle::visible_distance(tokens, kLogAlarm, size),
                       "serve the toy that --toy names, without lossy options, or name the "
                       "contract (target.contract)"));
}

void probe_against_itself(Bench& bench, Patient& patient) {
  if (!patient.record.capabilities.can_draw) return;
  const int half = bench.settings().draw_count / 2;
  std::vector<double> evidence;
  std::size_t cells = 2;
  for (std::size_t prompt = 0; prompt < bench.settings().prompts.size(); ++prompt) {
    const auto one = singles(bench, patient, prompt, half, 2);
    const auto other = singles(bench, patient, prompt, half, 2);
    oracle::TwoSampleEvidence pairs(vocabulary(patient));
    for (std::size_t i = 0; i < one.size(); ++i) pairs.add(one[i].token_ids, other[i].token_ids);
    evidence.push_back(pairs.log_e_value());
    cells = std::max(cells, cells_of(one));
  }
  const auto all = static_cast<std::uint64_t>(half) * bench.settings().prompts.size();
  bench.add(verdict_of(to_string(patient.arm), "has its own law once more (A/A)",
                       oracle::log_combined(evidence), all,
                       oracle::visible_distance_of_pairs(all, kLogAlarm, cells),
                       "its law changes while it runs; no audit can tell that from speculation"));
}

}  // namespace draftproof::tools::audit
