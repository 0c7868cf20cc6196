// Draft efficiency: whether as many drafts are accepted as could be. No law shows a drafter whose
// cache went wrong, or one that is fed too late; every token it costs is still the target's. Where
// both laws are known, what a rule accepts is known too, given the tokens that were emitted: token
// y behind its context was an accepted draft, if one was due there, with probability
//   min(1, draft(y) / target(y))   sampled drafts, ratio rule (Leviathan 2023)
//   draft(y)                       sampled drafts that must match a token of the target's
//   1 if y is the draft's likeliest, else 0   greedy drafts under either rule
// and the first token that was not ends the verification, as does draft_count of them, which one
// more token follows. Answers are independent given their tokens, and one of n tokens accepts 0 to
// n - 1 of them, so the sum is that close to its expectation (Hoeffding 1963). Fewer than the
// engine's rule allows is inefficient, or than the least of the three where nobody names it; more
// is not judged here.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "oracle/family.h"
#include "properties/audits/findings.h"
#include "properties/audits/law_cache.h"
#include "properties/audits/law_sample.h"
#include "properties/audits/words.h"

namespace draftproof::properties::audits {
namespace {

using reference::Token;

/// Those of DraftRule behind kUnknown, in their order.
constexpr std::size_t kRuleCount = 3;
constexpr std::array<const char*, kRuleCount> kRules = {
    "sampled drafts and the ratio rule", "sampled drafts that must match", "greedy drafts"};

/// Of one token: the probability that it was an accepted draft, if one was due.
using Chances = std::array<double, kRuleCount>;

Chances chances_of(const ContextLaw& law, Token token) {
  const auto own = static_cast<std::size_t>(token);
  if (token < 0 || own >= law.target.size()) return {};
  const double drafted = law.draft[own], due = law.target[own];
  const auto top = static_cast<std::size_t>(std::max_element(law.draft.begin(), law.draft.end()) -
                                            law.draft.begin());
  return {due > 0 ? std::min(1.0, drafted / due) : 0, drafted, own == top ? 1.0 : 0.0};
}

/// Accepted drafts that are due in an answer, by rule: where a verification may begin, and how far
/// it gets from there. The first token is the prefill's, the last one is nobody's draft.
std::array<double, kRuleCount> accepted_due(const std::vector<Chances>& chances,
                                            std::size_t draft_count) {
  std::array<double, kRuleCount> due = {};
  const std::size_t count = chances.size();
  for (std::size_t rule = 0; rule < kRuleCount; ++rule) {
    std::vector<double> begins(count + 1);
    if (count > 1) begins[1] = 1;
    for (std::size_t begin = 1; begin < count; ++begin) {
      double reached = begins[begin];
      const std::size_t drafts = std::min(draft_count, count - 1 - begin);
      for (std::size_t slot = 0; slot < drafts; ++slot) {
        const double chance = chances[begin + slot][rule];
        due[rule] += reached * chance;
        begins[begin + slot + 1] += reached * (1 - chance);
        reached *= chance;
      }
      begins[std::min(begin + drafts + 1, count)] += reached;
    }
  }
  return due;
}

struct Totals {
  std::int64_t drafted = 0, accepted = 0;
  std::uint64_t answers = 0;
  std::array<double, kRuleCount> due = {};
  double squares = 0;  ///< of what an answer may accept

  double share() const {
    return drafted == 0 ? 0 : static_cast<double>(accepted) / static_cast<double>(drafted);
  }
};

Totals totals_of(const CheckContext& context, const LawSample& sample) {
  Totals totals;
  const JudgeSettings& settings = context.settings;
  const bool has_laws = settings.target != nullptr && settings.draft != nullptr &&
                        settings.speculative.draft_count > 0;
  const auto draft_count = static_cast<std::size_t>(std::max(settings.speculative.draft_count, 0));
  std::optional<LawCache> laws;
  if (has_laws) laws.emplace(*settings.target, settings.draft);
  for (const Answer& answer : sample.answers) {
    const auto& counters = answer.transcript->completion.counters;
    if (!counters) continue;
    ++totals.answers;
    totals.drafted += counters->drafted;
    totals.accepted += counters->accepted;
    if (!laws || answer.tokens.empty()) continue;
    std::vector<Chances> chances;
    const ContextLaw* law = &laws->start(*answer.audit_case);
    for (const Token token : answer.tokens) {
      if (token < 0 || static_cast<std::size_t>(token) >= laws->vocab_size() || law->draft.empty())
        break;
      chances.push_back(chances_of(*law, token));
      if (chances.size() < answer.tokens.size()) law = &laws->behind(*law, token);
    }
    const auto due = accepted_due(chances, draft_count);
    for (std::size_t rule = 0; rule < kRuleCount; ++rule) totals.due[rule] += due[rule];
    const auto most = static_cast<double>(answer.tokens.size() - 1);
    totals.squares += most * most;
  }
  return totals;
}

std::string counted(const Totals& totals) {
  return std::to_string(totals.accepted) + " of " + std::to_string(totals.drafted) +
         " drafted tokens accepted in " + std::to_string(totals.answers) + " answers";
}

/// Whole tokens.
std::string counted(double tokens) { return std::to_string(std::llround(tokens)); }

/// Against what the laws allow. Precondition: they are known.
void hold_against_laws(const CheckContext& context, const LawSample& sample, const Totals& totals,
                       oracle::Verdict& verdict) {
  const std::size_t look = sample.looks.empty() ? 0 : sample.looks.size() - 1;
  const double miss = oracle::share_of_look(context.miss, look);
  const double slack = std::sqrt(totals.squares * std::log(1 / miss) / 2);
  const auto rule = context.settings.draft_rule;
  const auto least =
      rule == DraftRule::kUnknown
          ? static_cast<std::size_t>(std::min_element(totals.due.begin(), totals.due.end()) -
                                     totals.due.begin())
          : static_cast<std::size_t>(rule) - 1;
  for (std::size_t each = 0; each < kRuleCount; ++each)
    verdict.notes.push_back(std::string(kRules[each]) + ": " + counted(totals.due[each]) + " due");
  verdict.smallest_visible_effect = counted(slack) + " accepted tokens fewer than the " +
                                    counted(totals.due[least]) + " of " + kRules[least];
  verdict.assumption = "drafts are as long as the engine says, and not cut short by a threshold";
  if (totals.due[least] <= slack) {
    verdict.kind = oracle::VerdictKind::kInconclusive;
    verdict.smallest_visible_effect.clear();
    verdict.evidence += ": too few answers to miss the " + counted(totals.due[least]) +
                        " that are due of " + kRules[least];
    return;
  }
  if (static_cast<double>(totals.accepted) >= totals.due[least] - slack) return;
  verdict.label = oracle::Label::kInefficient;
  verdict.evidence += ", and " + counted(totals.due[least]) + " are due of " + kRules[least] +
                      ": what is drafted is not what the draft's law says";
}

/// The best of the other settings whose answers were counted, as a hint.
void compare_settings(const CheckContext& context, const Totals& totals, oracle::Verdict& verdict) {
  double best = 0;
  std::string name;
  for (std::size_t setting = 0; setting < context.matrix.settings.size(); ++setting) {
    const Setting& other = context.matrix.settings[setting];
    if (&other == &context.setting || other.is_greedy()) continue;
    Totals sum;
    for (const AuditCase& each : context.matrix.cases) {
      if (each.setting != setting) continue;
      for (const auto& [trial, transcript] : context.evidence.of(each.id, Arm::kSpeculative)) {
        if (!transcript.completion.counters) continue;
        sum.drafted += transcript.completion.counters->drafted;
        sum.accepted += transcript.completion.counters->accepted;
      }
    }
    if (sum.share() <= best) continue;
    best = sum.share();
    name = other.id;
  }
  if (!name.empty() && totals.share() < best / 2)
    verdict.notes.push_back("setting " + name + " accepts " + percent(best) +
                            " of its drafts, this one " + percent(totals.share()));
}

}  // namespace

oracle::Verdict draft_efficiency(const CheckContext& context) {
  oracle::Verdict verdict = begun(context);
  const LawSample sample = law_sample(context, Arm::kSpeculative);
  const Totals totals = totals_of(context, sample);
  verdict.trials = totals.answers;
  if (totals.answers == 0) {
    verdict.evidence = "no answer came with counters";
    return verdict;
  }
  verdict.evidence = counted(totals);
  if (totals.drafted == 0) {
    verdict.label = oracle::Label::kNotExercised;
    verdict.evidence = "no token was drafted in this setting, says the engine";
    return verdict;
  }
  verdict.kind = oracle::VerdictKind::kUpheld;
  const JudgeSettings& settings = context.settings;
  if (settings.target != nullptr && settings.draft != nullptr &&
      settings.speculative.draft_count > 0) {
    hold_against_laws(context, sample, totals, verdict);
  } else if (totals.accepted == 0) {
    verdict.label = oracle::Label::kInefficient;
    verdict.smallest_visible_effect = "no draft accepted at all";
  } else {
    verdict.label = oracle::Label::kNotExercised;  // by default inconclusive
    verdict.evidence += ": without both laws nobody knows how many are due";
  }
  compare_settings(context, totals, verdict);
  return verdict;
}

}  // namespace draftproof::properties::audits
