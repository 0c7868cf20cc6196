#include "tools/audit/approximate_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "oracle/paired_scores.h"
#include "properties/audits/findings.h"
#include "reference/error.h"
#include "reference/model/regular_expression.h"
#include "tools/audit/task_scores.h"

namespace draftproof::tools::audit {
namespace {

using oracle::VerdictKind;
using properties::Arm;
using properties::Completion;
using properties::CompletionEnd;
using properties::audits::LossyMode;
using reference::model::ByteAutomaton;
using report::CheckResult;

CheckResult begun(const LossyMode& mode, const std::string& property, const std::string& of) {
  CheckResult result;
  result.id = property + "/" + of;
  result.verdict.property = property;
  result.verdict.setting = of;
  result.verdict.claim = oracle::Claim::kMarginalLossless;
  result.verdict.label = oracle::Label::kLossyByDesign;
  result.verdict.notes.push_back(mode.name + ", says " + mode.source);
  return result;
}

/// `worst` and `best` are what the sample leaves possible, as costs.
VerdictKind kind_of(double best, double worst, double budget) {
  if (worst <= budget) return VerdictKind::kUpheld;
  return best > budget ? VerdictKind::kViolated : VerdictKind::kInconclusive;
}

void conclude(CheckResult& check, VerdictKind kind, const std::string& let,
              const std::string& budget, const std::string& visible) {
  oracle::Verdict& verdict = check.verdict;
  verdict.kind = kind;
  if (kind == VerdictKind::kUpheld) verdict.smallest_visible_effect = visible;
  if (kind == VerdictKind::kInconclusive)
    verdict.notes.push_back("the budget lies within the bounds: more samples tell");
  if (kind != VerdictKind::kViolated) return;
  verdict.witness = oracle::Witness{let,
                                    budget,
                                    verdict.evidence,
                                    "what the mode costs is above its own budget, whatever the "
                                    "sample",
                                    "",
                                    ""};
}

CheckResult drop_check(const ScoreSeries& series, const ApproximateOrder& order, double miss) {
  CheckResult check = begun(*order.judge.lossy, "task_score_drop", series.name);
  check.statement =
      "A mode that is declared lossy lowers the score of a task by no more than said.";
  check.citation = series.is_bounded ? "Waudby-Smith, Ramdas 2024" : "Student 1908";
  oracle::Verdict& verdict = check.verdict;
  verdict.trials = series.scores.size();
  if (series.scores.empty()) {
    verdict.evidence = "no sample was answered by both arms";
    return check;
  }
  const oracle::ScoreDrop drop = oracle::score_drop(series.scores, series.is_bounded, miss);
  const double budget = *order.gate.task_score_drop;
  verdict.evidence = fmt::format(
      "{} {:.4g} without, {:.4g} with drafts: a drop of {:.4g} in [{:.4g}, {:.4g}]{}, "
      "declared {:g}",
      series.name, drop.baseline_mean, drop.speculative_mean, drop.drop, drop.bounds.low,
      drop.bounds.high, drop.holds_exactly ? "" : " (asymptotic)", budget);
  verdict.assumption =
      drop.holds_exactly
          ? "scores lie in [0, 1]: " + series.range_said + "; samples are independent"
          : "asymptotic: scores have no known range, so Student's interval is right for many "
            "samples only; samples are independent";
  conclude(check, kind_of(drop.bounds.low, drop.bounds.high, budget),
           fmt::format("{} samples scored in both arms by {}", series.scores.size(), series.name),
           fmt::format("a mean that drops by at most {:g}", budget),
           fmt::format("a drop above {:.4g} of the mean of {}", drop.bounds.high, series.name));
  verdict = properties::audits::unless_too_many_lost(
      series.lost, series.scores.size(), "pairs have a request that failed", std::move(verdict));
  return check;
}

std::optional<ByteAutomaton> automaton_of(const std::string& grammar) {
  if (grammar.empty()) return std::nullopt;
  return reference::model::regular_expression(grammar);
}

struct Validity {
  std::uint64_t judged = 0, valid = 0, cut = 0, without_text = 0, failed = 0;
  const properties::Transcript* broken = nullptr;
};

enum class Fit { kValid, kBroken, kCut };

/// A text that was cut by its length is no whole one: broken where nothing could mend it.
Fit fit_of(const std::optional<ByteAutomaton>& automaton, const Completion& completion) {
  const bool is_whole = completion.end == CompletionEnd::kStop;
  if (!automaton) {
    if (nlohmann::json::accept(completion.text)) return Fit::kValid;
    return is_whole ? Fit::kBroken : Fit::kCut;
  }
  const auto state = automaton->behind(0, completion.text);
  if (automaton->accepts(state)) return Fit::kValid;
  return is_whole || state == ByteAutomaton::kDead ? Fit::kBroken : Fit::kCut;
}

Validity validity_of(const ApproximateOrder& order, Arm arm) {
  const auto& settings = order.matrix.settings;
  const bool has_grammar = std::any_of(settings.begin(), settings.end(), [](const auto& each) {
    return !each.request.grammar.empty();
  });
  std::vector<std::optional<ByteAutomaton>> automata;
  for (const auto& each : settings) automata.push_back(automaton_of(each.request.grammar));
  Validity result;
  for (const auto& each : order.matrix.cases) {
    if (has_grammar && !automata[each.setting]) continue;
    for (const auto& [trial, transcript] : order.evidence.of(each.id, arm)) {
      const Completion& completion = transcript.completion;
      if (completion.end == CompletionEnd::kFailed) {
        ++result.failed;
        continue;
      }
      if (completion.text.empty() && !completion.token_ids.empty()) {
        ++result.without_text;
        continue;
      }
      const Fit fit = fit_of(automata[each.setting], completion);
      if (fit == Fit::kCut) {
        ++result.cut;
        continue;
      }
      ++result.judged;
      if (fit == Fit::kValid) ++result.valid;
      if (fit == Fit::kBroken && result.broken == nullptr) result.broken = &transcript;
    }
  }
  return result;
}

CheckResult schema_check(const ApproximateOrder& order, double miss) {
  CheckResult check = begun(*order.judge.lossy, "schema_valid", "all");
  check.statement =
      "Of a mode that is declared lossy, the share of answers that are valid is as said.";
  check.citation = "Clopper, Pearson 1934";
  oracle::Verdict& verdict = check.verdict;
  const Validity on = validity_of(order, Arm::kSpeculative);
  const Validity off = validity_of(order, Arm::kBaseline);
  verdict.trials = on.judged;
  if (on.cut > 0)
    verdict.notes.push_back(fmt::format(
        "{} answers were cut by their length before they were whole, and are not counted; give "
        "them more tokens",
        on.cut));
  if (on.without_text > 0)
    verdict.notes.push_back(fmt::format("{} answers came without their text", on.without_text));
  if (on.judged == 0) {
    verdict.evidence = "no answer with a text that is whole";
    return check;
  }
  const oracle::Interval share = oracle::share_bounds(on.valid, on.judged, miss);
  const double least = *order.gate.schema_valid;
  verdict.evidence = fmt::format(
      "{} of {} answers are valid, a share in [{:.4g}, {:.4g}], declared {:g}{}", on.valid,
      on.judged, share.low, share.high, least,
      off.judged > 0 ? fmt::format("; {} of {} without drafts", off.valid, off.judged) : "");
  conclude(check, kind_of(1 - share.high, 1 - share.low, 1 - least),
           on.broken != nullptr
               ? fmt::format("{} answers, among them \"{}\"", on.judged, on.broken->completion.text)
               : fmt::format("{} answers", on.judged),
           fmt::format("a share of at least {:g}", least),
           fmt::format("a share of valid answers below {:.4g}", share.low));
  verdict = properties::audits::unless_too_many_lost(on.failed, on.judged, "requests failed",
                                                     std::move(verdict));
  return check;
}

CheckResult not_scored(const ApproximateOrder& order, const std::string& name,
                       const std::string& why, bool is_of_the_world) {
  CheckResult check = begun(*order.judge.lossy, "task_score_drop", name);
  check.statement =
      "A mode that is declared lossy lowers the score of a task by no more than said.";
  check.verdict.evidence = "not scored: " + why;
  if (is_of_the_world) check.world_error = why;
  return check;
}

/// Series that came, and a check for each that did not.
std::vector<ScoreSeries> scored(const ApproximateOrder& order, std::vector<CheckResult>& checks) {
  std::vector<ScoreSeries> list;
  if (!order.gate.score_logs.empty()) {
    try {
      list = read_score_logs(order.gate.score_logs.at(0), order.gate.score_logs.at(1));
    } catch (const Error& error) {
      checks.push_back(not_scored(order, "score_logs", error.what(), true));
    }
  }
  if (order.gate.score_command.empty()) return list;
  if (!order.why_not_started.empty()) {
    checks.push_back(not_scored(order, "score_command", order.why_not_started, false));
    return list;
  }
  try {
    list.push_back(run_score_command({order.gate.score_command, order.folder, order.time_limit_s},
                                     order.matrix, order.evidence));
  } catch (const Error& error) {
    checks.push_back(not_scored(order, "score_command", error.what(), true));
  }
  return list;
}

}  // namespace

bool has_score_budget(const ApproximateGate& gate) {
  return gate.task_score_drop.has_value() || gate.schema_valid.has_value();
}

void need_lossy_mode(const ApproximateGate& gate, const properties::audits::JudgeSettings& judge) {
  if (!judge.lossy)
    throw Error(ErrorKind::kInput,
                "says what a lossy mode may cost, and none is declared, nor told by the server: "
                "what is lossless has no budget. Declare it (speculation.declared_lossy = "
                "\"synthetic acceptance\"), or take the section away",
                "gate.approximate");
  if (!gate.score_logs.empty()) read_score_logs(gate.score_logs.at(0), gate.score_logs.at(1));
}

std::vector<CheckResult> approximate_checks(const ApproximateOrder& order) {
  std::vector<CheckResult> checks;
  if (!order.judge.lossy || !has_score_budget(order.gate)) return checks;
  std::vector<ScoreSeries> series;
  if (order.gate.task_score_drop) series = scored(order, checks);
  const std::size_t count = series.size() + (order.gate.schema_valid ? 1 : 0);
  const double miss = order.false_alarms / static_cast<double>(std::max<std::size_t>(count, 1));
  for (const ScoreSeries& each : series) checks.push_back(drop_check(each, order, miss));
  if (order.gate.schema_valid) checks.push_back(schema_check(order, miss));
  return checks;
}

void settle_by_scores(const ApproximateGate& gate, const std::vector<CheckResult>& scores,
                      std::vector<CheckResult>& checks) {
  if (gate.tv || scores.empty()) return;
  std::vector<oracle::Verdict> verdicts;
  for (const CheckResult& each : scores) verdicts.push_back(each.verdict);
  const bool is_kept = oracle::merged(verdicts) == VerdictKind::kUpheld;
  for (CheckResult& check : checks) {
    oracle::Verdict& verdict = check.verdict;
    if (verdict.label != oracle::Label::kLossyByDesign) continue;
    if (verdict.kind != VerdictKind::kViolated) continue;
    verdict.kind = is_kept ? VerdictKind::kUpheld : VerdictKind::kInconclusive;
    verdict.witness.reset();
    verdict.smallest_visible_effect =
        is_kept ? "as far as the scores that were declared allow" : "";
    verdict.notes.push_back(
        "no distance is declared ([gate.approximate] tv): measured here, judged by task_score_drop "
        "and schema_valid");
  }
}

}  // namespace draftproof::tools::audit
