#include "properties/audits/findings.h"

#include <algorithm>
#include <utility>

#include "oracle/hidden_share.h"
#include "properties/audits/words.h"
#include "reference/error.h"

namespace draftproof::properties::audits {
namespace {

std::vector<const AuditCase*> shortest_first(const CheckContext& context) {
  std::vector<const AuditCase*> cases = context.cases;
  std::stable_sort(cases.begin(), cases.end(), [](const AuditCase* one, const AuditCase* other) {
    return one->request.prompt.size() < other->request.prompt.size();
  });
  return cases;
}

}  // namespace

std::vector<PairedTrial> paired_trials(const CheckContext& context,
                                       std::optional<Seeding> seeding) {
  std::vector<PairedTrial> pairs;
  for (const AuditCase* audit_case : shortest_first(context)) {
    if (seeding && audit_case->seeding != *seeding) continue;
    const auto& baseline = context.evidence.of(audit_case->id, Arm::kBaseline);
    const auto& speculative = context.evidence.of(audit_case->id, Arm::kSpeculative);
    for (const auto& [trial, transcript] : baseline) {
      const auto other = speculative.find(trial);
      if (other != speculative.end()) pairs.push_back({audit_case, &transcript, &other->second});
    }
  }
  return pairs;
}

void for_each_transcript(const CheckContext& context, Arm arm,
                         const std::function<void(const AuditCase&, const Transcript&)>& visit) {
  for (const AuditCase* audit_case : shortest_first(context)) {
    for (std::uint32_t repeat = 0;; ++repeat) {
      const auto& trials = context.evidence.of(audit_case->id, arm, repeat);
      if (trials.empty() && repeat > 0) break;
      for (const auto& entry : trials) visit(*audit_case, entry.second);
    }
  }
}

std::optional<std::int64_t> drafted_tokens(const CheckContext& context) {
  std::optional<std::int64_t> drafted;
  for_each_transcript(context, Arm::kSpeculative,
                      [&](const AuditCase&, const Transcript& transcript) {
                        if (const auto& counters = transcript.completion.counters)
                          drafted = drafted.value_or(0) + counters->drafted;
                      });
  return drafted;
}

oracle::Verdict unless_never_drafted(const CheckContext& context, oracle::Verdict verdict) {
  if (verdict.kind != oracle::VerdictKind::kUpheld) return verdict;
  const auto drafted = drafted_tokens(context);
  if (!drafted)
    verdict.notes.push_back("the engine counts no drafts: that any were made is not shown here");
  if (drafted != 0) return verdict;
  verdict.kind = oracle::VerdictKind::kInconclusive;
  verdict.label = oracle::Label::kNotExercised;
  verdict.evidence = "no token was drafted in this setting, says the engine; " + verdict.evidence;
  verdict.smallest_visible_effect.clear();
  return verdict;
}

oracle::Verdict unless_too_many_lost(std::uint64_t lost, std::uint64_t judged,
                                     const std::string& what, oracle::Verdict verdict) {
  if (lost == 0) return verdict;
  const std::string counted = std::to_string(lost) + " " + what;
  if (verdict.kind != oracle::VerdictKind::kUpheld || !are_too_many_lost(lost, judged)) {
    verdict.notes.push_back(counted + " and are not in this");
    return verdict;
  }
  verdict.kind = oracle::VerdictKind::kInconclusive;
  verdict.label = oracle::Label::kNone;
  verdict.evidence += "; " + counted + ": too many, and theirs may be those that show it";
  verdict.smallest_visible_effect.clear();
  return verdict;
}

std::string words_of(const Transcript& transcript) {
  std::string text =
      "case " + transcript.key.case_id + ", trial " + std::to_string(transcript.key.trial);
  if (transcript.request.seed) text += " (seed " + std::to_string(*transcript.request.seed) + ")";
  return text + ": " + words_of(transcript.request);
}

void refute(const CheckContext& context, oracle::Verdict& verdict, const Transcript& transcript,
            oracle::Label label, oracle::Witness witness) {
  constexpr std::string_view kCase = "{case}";
  if (witness.let.empty()) witness.let = words_of(transcript);
  const std::string shown = witness.replay.empty() ? transcript.key.case_id : witness.replay;
  witness.replay = context.settings.replay;
  if (const auto place = witness.replay.find(kCase); place != std::string::npos)
    witness.replay.replace(place, kCase.size(), shown);
  verdict.kind = oracle::VerdictKind::kViolated;
  verdict.label = label;
  verdict.witness = std::move(witness);
}

std::string visible_share_words(const CheckContext& context, std::uint64_t count,
                                const std::string& things) {
  DRAFTPROOF_CHECK(count > 0);
  return "a share of " + rounded_up(oracle::hidden_share(count, context.miss)) + " of " + things;
}

int vocab_size_of(const CheckContext& context) {
  if (context.settings.target != nullptr) return context.settings.target->vocab_size();
  return std::max(context.settings.baseline.vocab_size, context.settings.speculative.vocab_size);
}

std::string of_all(std::uint64_t part, std::uint64_t all) {
  return std::to_string(part) + " of " + std::to_string(all);
}

std::optional<std::size_t> first_difference(const Completion& one, const Completion& other) {
  const auto& first = one.token_ids;
  const auto& second = other.token_ids;
  const auto parted = std::mismatch(first.begin(), first.end(), second.begin(), second.end());
  if (parted.first == first.end() && parted.second == second.end()) return {};
  return static_cast<std::size_t>(parted.first - first.begin());
}

}  // namespace draftproof::properties::audits
