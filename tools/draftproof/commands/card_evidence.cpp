#include "tools/draftproof/commands/card_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace draftproof::tools {
namespace {

using oracle::Claim;
using oracle::ReplayFault;
using oracle::Verdict;
using oracle::VerdictKind;

constexpr std::size_t kObservationsShown = 20;

std::string describe(const CardCaseSpec& spec) {
  return fmt::format("{} request{}, draft length {}, vocabulary {}, {}, {}", spec.request_count,
                     spec.request_count == 1 ? "" : "s", spec.draft_count, spec.vocab_size,
                     to_string(spec.law), to_string(spec.coins));
}

std::string size_class(std::size_t vocab_size) {
  if (vocab_size <= 8) return "V <= 8";
  if (vocab_size <= 1000) return "V <= 1,000";
  if (vocab_size < 20000) return "V beside the tiles";
  return vocab_size < 100000 ? "V = 32,000" : "V = 128,256";
}

std::string listed(const CardAnswer& answer) {
  return fmt::format("tokens [{}], accept count {}, emit count {}", fmt::join(answer.tokens, ", "),
                     answer.accept_count, answer.emit_count);
}

bool is_race(const std::string& check) { return check == "race" || check == "same-value-race"; }

void accumulate(oracle::ReplayJudgement& total, const oracle::ReplayJudgement& one) {
  total.decisions += one.decisions;
  total.accepts += one.accepts;
  total.near += one.near;
  total.near_moved += one.near_moved;
  total.undefined += one.undefined;
  total.largest_coins += one.largest_coins;
  total.smallest_coins += one.smallest_coins;
  total.candidates_max = std::max(total.candidates_max, one.candidates_max);
}

/// Names, claims and what the least finding of a fault would look like.
struct FaultVerdict {
  ReplayFault fault;
  const char* property;
  Claim claim;
  const char* evidence;
  const char* visible;
};

}  // namespace

void CardEvidence::add(Findings& findings, const CardCase& made, std::string where,
                       std::string expected, std::string observed, std::string because) {
  ++findings.count;
  const std::uint64_t size =
      made.spec.vocab_size * made.spec.request_count * (made.spec.draft_count + 1);
  if (findings.witness && findings.least_size <= size) return;
  findings.least_size = size;
  oracle::Witness witness;
  witness.let = fmt::format("case {}: {}; seed {}, offset {}; {}", made.spec.number,
                            describe(made.spec), made.seed, made.offset, where);
  witness.expected = std::move(expected);
  witness.observed = std::move(observed);
  witness.because = std::move(because);
  witness.replay = replay_;
  findings.witness = std::move(witness);
}

void CardEvidence::judge(const CardCase& made, const oracle::ReplayRule& rule,
                         const std::vector<CardAnswer>& answers) {
  ++cases_;
  threshold_depth_max_ = std::max(threshold_depth_max_, rule.rounding.threshold_depth);
  cumulative_depth_max_ = std::max(cumulative_depth_max_, rule.rounding.cumulative_depth);
  ++cells_[std::string(to_string(made.spec.law))];
  ++cells_[std::string(to_string(made.spec.coins))];
  ++cells_[size_class(made.spec.vocab_size)];
  for (std::size_t index = 0; index < answers.size(); ++index) {
    ++requests_;
    const oracle::ReplayJudgement judgement = oracle::replay(
        rule, made.request(index),
        {answers[index].tokens, answers[index].accept_count, answers[index].emit_count});
    accumulate(total_, judgement);
    for (const oracle::ReplayFinding& finding : judgement.findings) {
      add(faults_[finding.fault], made,
          fmt::format("request {}, position {}", index, finding.position), finding.expected,
          finding.observed, finding.because);
      if (finding.fault == ReplayFault::kCertainRejected && finding.coin == 1.0f)
        ++rejected_at_one_;
    }
  }
}

void CardEvidence::compare(const CardCase& made, const std::vector<CardAnswer>& first,
                           const std::vector<CardAnswer>& other, const std::string& schedule) {
  ++comparisons_;
  for (std::size_t index = 0; index < first.size(); ++index)
    if (first[index] != other[index])
      add(schedules_, made, fmt::format("request {}, schedule {}", index, schedule),
          listed(first[index]), listed(other[index]), "the schedule is all that differs");
}

void CardEvidence::observe(const CardCase& made, const gpu::CardRun& run) {
  ++runs_;
  thread_instructions_ += run.report.counts.thread_instructions;
  for (const std::string& name : run.changed_inputs)
    add(inputs_, made, "buffer " + name, "unchanged", "changed", "");
  for (const reference::Observation& each : run.report.observations) {
    const auto key = std::tuple(each.check, each.place.ptx_line, each.other.ptx_line);
    const auto [found, is_first] = observations_.emplace(key, each);
    if (is_first) {
      found->second.message += " [" + describe(made.spec) + "]";
    } else {
      found->second.count += each.count;
    }
  }
}

Verdict CardEvidence::verdict(const Findings& findings, bool is_complete) const {
  Verdict verdict;
  verdict.subject = card_->name;
  verdict.trials = requests_;
  verdict.kind = findings.count > 0 ? VerdictKind::kViolated
                 : is_complete      ? VerdictKind::kUpheld
                                    : VerdictKind::kInconclusive;
  verdict.witness = findings.witness;
  return verdict;
}

Verdict CardEvidence::followed(const Findings& findings, bool is_complete) const {
  const auto strays = faults_.find(ReplayFault::kDecision);
  Verdict verdict = this->verdict(findings, is_complete && strays == faults_.end());
  if (strays == faults_.end()) return verdict;
  verdict.trials = requests_ - strays->second.count;
  verdict.notes.push_back(fmt::format("{} of {} requests do not follow the replay: not judged here",
                                      strays->second.count, requests_));
  return verdict;
}

Verdict CardEvidence::decisions(bool is_complete) const {
  const auto found = faults_.find(ReplayFault::kDecision);
  Verdict verdict = this->verdict(found == faults_.end() ? Findings{} : found->second, is_complete);
  verdict.property = "decisions_equal_the_replay";
  verdict.claim = Claim::kCoupled;
  verdict.evidence = fmt::format(
      "{} of {} requests differ; {} decisions ({} acceptances), {} inside the rounding band, {} of "
      "these not the exact answer",
      found == faults_.end() ? 0 : found->second.count, requests_, total_.decisions, total_.accepts,
      total_.near, total_.near_moved);
  verdict.smallest_visible_effect = fmt::format(
      "one decision outside its band: 2^-24 of coin x draft on one side of an acceptance, {:.1e} "
      "of "
      "the total for a pick",
      static_cast<double>(threshold_depth_max_ + cumulative_depth_max_) * 0x1p-24);
  verdict.assumption =
      fmt::format("the card's rounding depths, at most {} and {}, and its order of draws",
                  threshold_depth_max_, cumulative_depth_max_);
  verdict.notes.push_back(fmt::format("a band left at most {} tokens open", total_.candidates_max));
  verdict.notes.push_back(fmt::format("{} decisions at the coin 1, {} at coins below 2^-24",
                                      total_.largest_coins, total_.smallest_coins));
  for (const auto& [name, cases] : cells_) verdict.cells.push_back({name, cases});
  std::string constraints;
  for (const gpu::CardExpression& each : card_->constraints)
    constraints += (constraints.empty() ? "" : ", ") + each.text();
  if (!constraints.empty())
    verdict.notes.push_back("cases keep the card's constraints: " + constraints);
  return verdict;
}

Verdict CardEvidence::certain_tokens(bool is_complete) const {
  const auto found = faults_.find(ReplayFault::kCertainRejected);
  const Findings findings = found == faults_.end() ? Findings{} : found->second;
  Verdict verdict = followed(findings, is_complete);
  verdict.property = "target_at_least_draft_is_accepted";
  verdict.claim = Claim::kMarginalLossless;
  verdict.evidence = fmt::format(
      "{} drafted tokens with target >= draft rejected, {} of them by "
      "the coin 1; {} decisions met the coin 1",
      findings.count, rejected_at_one_, total_.largest_coins);
  verdict.smallest_visible_effect =
      "one rejection; the coin 1 (128 of 2^32 words, 2^-25 a draw) is searched for in the stream";
  if (rejected_at_one_ > 0)
    verdict.notes.push_back(
        "coins lie in (0, 1]: at the coin 1 a strict comparison rejects a drafted token whose two "
        "probabilities are equal, with probability 2^-25 at every such position");
  if (findings.count > rejected_at_one_)
    verdict.notes.push_back(
        fmt::format("{} rejections at other coins: probabilities below 2^-126 that the kernel "
                    "counts as 0, or a product that rounds onto the target",
                    findings.count - rejected_at_one_));
  return verdict;
}

Verdict CardEvidence::safety(bool races, bool is_complete, bool device_observes) const {
  Verdict verdict;
  verdict.subject = card_->name;
  verdict.trials = runs_;
  verdict.property = races ? "race_free" : "memory_safe";
  verdict.claim = races ? Claim::kRaceFree : Claim::kMemorySafe;
  std::uint64_t unsafe = 0;
  std::uint64_t allowed = 0;
  for (const auto& [key, each] : observations_) {
    if (is_race(each.check) != races) continue;
    // One value stored by several threads is harmless or not as the kernel's author says; the
    // device can only note it.
    const bool is_note = each.check == "same-value-race"
                             ? card_->allows_same_value_races
                             : each.severity == reference::Severity::kNote;
    (is_note ? allowed : unsafe) += 1;
    if (is_note || verdict.observations.size() >= kObservationsShown) continue;
    verdict.observations.push_back(each);
    if (verdict.witness) continue;
    oracle::Witness witness;
    witness.let = each.message;
    witness.expected = races ? "no race" : "no unsafe access";
    witness.observed = fmt::format("{} in {} at PTX line {} (source line {})", each.check,
                                   each.place.kernel, each.place.ptx_line, each.place.source_line);
    witness.because = "schedule " + each.schedule;
    witness.replay = replay_;
    verdict.witness = std::move(witness);
  }
  verdict.kind = unsafe > 0                         ? VerdictKind::kViolated
                 : !device_observes || !is_complete ? VerdictKind::kInconclusive
                                                    : VerdictKind::kUpheld;
  verdict.evidence = fmt::format("{} findings in {} runs, {} thread instructions", unsafe, runs_,
                                 thread_instructions_);
  if (races && allowed > 0)
    verdict.evidence += fmt::format(
        "; {} places store one value from several threads, which the "
        "card allows",
        allowed);
  if (!device_observes) verdict.notes.push_back("this device observes nothing; use the emulator");
  verdict.smallest_visible_effect =
      races ? "one pair of accesses without an order between them, in the runs made"
            : "one byte out of bounds or read before it is written, in the runs made";
  return verdict;
}

std::vector<Verdict> CardEvidence::verdicts(bool is_complete, bool device_observes,
                                            double seconds) const {
  static constexpr std::array<FaultVerdict, 3> kFaults = {
      FaultVerdict{ReplayFault::kOutsideSupport, "no_token_outside_the_support",
                   Claim::kSupportSafe, "{} tokens of target probability 0", "one such token"},
      FaultVerdict{ReplayFault::kNoToken, "every_request_emits_a_token", Claim::kWellFormed,
                   "{} requests without a token where one is due", "one such request"},
      FaultVerdict{ReplayFault::kCounter, "counters_are_truthful", Claim::kAccountingTruthful,
                   "{} counters that do not say what happened", "a difference of one"},
  };
  std::vector<Verdict> result = {safety(false, is_complete, device_observes),
                                 safety(true, is_complete, device_observes)};
  Verdict inputs = verdict(inputs_, is_complete);
  inputs.property = "inputs_unchanged";
  inputs.claim = Claim::kInputsUnchanged;
  inputs.trials = runs_;
  inputs.evidence = fmt::format("{} buffers changed in {} runs", inputs_.count, runs_);
  inputs.smallest_visible_effect = "one bit";
  result.push_back(std::move(inputs));
  // A device that observes nothing takes no schedule either: its runs were all alike.
  Verdict schedules = verdict(schedules_, is_complete && device_observes);
  schedules.property = "schedule_does_not_matter";
  schedules.claim = Claim::kScheduleIndependent;
  schedules.trials = comparisons_;
  schedules.evidence = fmt::format("{} requests differ in {} runs under another schedule",
                                   schedules_.count, comparisons_);
  schedules.smallest_visible_effect = "one bit of an output, under the schedules run";
  result.push_back(std::move(schedules));
  for (const FaultVerdict& each : kFaults) {
    const auto found = faults_.find(each.fault);
    const Findings findings = found == faults_.end() ? Findings{} : found->second;
    // Support is looked at in every answer, whatever course it follows.
    Verdict one = each.fault == ReplayFault::kOutsideSupport ? verdict(findings, is_complete)
                                                             : followed(findings, is_complete);
    one.property = each.property;
    one.claim = each.claim;
    one.evidence = fmt::format(fmt::runtime(each.evidence), findings.count) +
                   fmt::format(" in {} requests", one.trials);
    one.smallest_visible_effect = each.visible;
    if (each.fault == ReplayFault::kNoToken && findings.count > 0)
      one.notes.push_back(
          "where the rows are equal a rejection, possible only at the coin 1, leaves no mass to "
          "draw from");
    result.push_back(std::move(one));
  }
  result.push_back(certain_tokens(is_complete));
  result.push_back(decisions(is_complete));
  for (Verdict& each : result) each.seconds = seconds / static_cast<double>(result.size());
  return result;
}

}  // namespace draftproof::tools
