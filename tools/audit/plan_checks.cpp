// What a plan's checks see. Units are those that the audits count in (properties/audits): tokens
// where a law is known, pairs of answers where two samples are compared, answers elsewhere.
#include "tools/audit/plan_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "oracle/claim.h"
#include "oracle/conditional.h"
#include "oracle/family.h"
#include "oracle/power.h"
#include "tools/audit/approximate_checks.h"
#include "tools/audit/collector.h"
#include "tools/audit/task_scores.h"
#include "tools/report/table.h"

namespace draftproof::tools::audit {
namespace {

using properties::LogprobKind;
using properties::audits::AuditCase;
using properties::audits::AuditInfo;
using properties::audits::JudgeSettings;
using properties::audits::Matrix;
using properties::audits::Seeding;
using properties::audits::Setting;

/// Samples of one kind in a setting.
struct Samples {
  std::uint64_t cases = 0;           ///< independent ones
  std::uint64_t tokens = 0;          ///< of independent cases
  std::uint64_t scored_tokens = 0;   ///< of these, as far as their answers are read again
  std::uint64_t pairs = 0;           ///< of answers, one of each arm, of independent cases
  std::uint64_t shared_answers = 0;  ///< of cases with one seed for both arms
  std::uint64_t answers = 0;         ///< all of an arm
  std::uint64_t case_trials = 0;     ///< of one independent case, at most
};

Samples samples_of(const Matrix& matrix, std::size_t setting, std::uint64_t scored_trials) {
  Samples samples;
  for (const AuditCase& each : matrix.cases) {
    if (each.setting != setting) continue;
    samples.answers += each.trial_max;
    if (each.seeding == Seeding::kShared) {
      samples.shared_answers += each.trial_max;
      continue;
    }
    const auto length = static_cast<std::uint64_t>(each.request.max_tokens);
    ++samples.cases;
    samples.pairs += each.trial_max;
    samples.tokens += each.trial_max * length;
    samples.scored_tokens += std::min(each.trial_max, scored_trials) * length;
    samples.case_trials = std::max(samples.case_trials, each.trial_max);
  }
  return samples;
}

std::string share_text(double share, std::uint64_t count, const std::string& unit) {
  // Few samples bound no share, but each of them is looked at.
  if (!(share < 0.5)) return count == 0 ? "nothing" : fmt::format("any one of {} {}", count, unit);
  const double one_of = std::floor(1 / share);
  return fmt::format("1 of {} {}", report::grouped(static_cast<std::uint64_t>(one_of)), unit);
}

class Checks {
 public:
  Checks(const AuditConfig& config, const PlanGround& ground, const JudgeSettings& settings)
      : config_(config), ground_(ground), judge_(settings) {
    const auto& infos = properties::audits::audit_infos();
    checks_ = properties::audits::checks_of(config.matrix, settings);
    for (const auto& check : checks_)
      if (infos[check.audit].can_be_false) ++budget_shares_;
    if (budget_shares_ > 0) log_alarm_ = oracle::log_alarm(settings.false_alarms, budget_shares_);
  }

  std::size_t budget_shares() const { return budget_shares_; }
  std::optional<double> log_alarm() const { return log_alarm_; }

  std::vector<PlannedCheck> take() const {
    std::vector<PlannedCheck> planned;
    for (const auto& check : checks_)
      planned.push_back(of(properties::audits::audit_infos()[check.audit], check.setting));
    return planned;
  }

 private:
  std::size_t cells_of(const Setting& setting) const {
    const auto top_k = setting.request.sampling.top_k;
    const auto vocab = static_cast<std::size_t>(std::max(ground_.speculative.vocab_size, 0));
    std::size_t cells = vocab > 0 ? vocab : kTextCells;
    if (top_k > 0) cells = std::min(cells, static_cast<std::size_t>(top_k));
    return std::max<std::size_t>(cells, 2);
  }

  PlannedCheck of(const AuditInfo& info, std::size_t index) const {
    const Setting& setting = config_.matrix.settings[index];
    const CollectPlan usual{config_.matrix, judge_, {}, {}, {}};
    const Samples samples = samples_of(config_.matrix, index, usual.scored_trials);
    PlannedCheck check;
    check.audit = info.id;
    check.setting = setting.id;
    check.claim = oracle::to_string(info.claim);
    check.takes_budget = info.can_be_false;
    if (info.can_be_false) {
      check.log_alarm = log_alarm_;
      check.false_alarms = judge_.false_alarms / static_cast<double>(budget_shares_);
    }
    const bool is_law = info.can_be_false && (info.claim == oracle::Claim::kMarginalLossless ||
                                              info.claim == oracle::Claim::kSequenceLossless);
    if (is_law) {
      see_law(info, setting, samples, check);
    } else {
      see_share(info, samples, check);
    }
    return check;
  }

  void see_law(const AuditInfo& info, const Setting& setting, const Samples& samples,
               PlannedCheck& check) const {
    const bool is_known = info.needs_known_law || info.is_for_one_server ||
                          (info.needs_lossy_mode && judge_.target != nullptr);
    std::size_t cells = 0;
    if (!is_known) {
      cells = see_pairs(info, setting, samples, check);
    } else if (info.id.find("joint") != std::string::npos) {
      // Words of two tokens, and the first one that no draft reaches.
      cells = cells_of(setting) * cells_of(setting);
      check.samples = samples.case_trials;
      check.unit = "answers of a prompt";
      check.visible =
          oracle::visible_distance(check.samples, *log_alarm_, cells, 3 * judge_.tolerance);
    } else {
      cells = oracle::kPlaceCells;
      check.samples = info.is_for_one_server ? samples.scored_tokens : samples.tokens;
      check.unit = "tokens";
      check.visible = oracle::visible_distance(check.samples, *log_alarm_, cells, judge_.tolerance);
    }
    check.visible_text =
        check.visible < 1 ? fmt::format("TV {:.2g}", check.visible) : std::string("nothing");
    // A search, and the same one for most settings.
    const auto [found, is_first] = to_certify_.try_emplace({is_known, cells}, 0);
    if (is_first)
      found->second = is_known ? oracle::samples_to_certify(config_.effect_tv, miss(), cells)
                               : oracle::pairs_to_certify(config_.effect_tv, miss(), cells);
    check.to_certify = found->second;
  }

  /// Answers of both arms, or of the baseline's even and odd trials; returns the cells of one
  /// token, which are learned behind each prompt apart.
  std::size_t see_pairs(const AuditInfo& info, const Setting& setting, const Samples& samples,
                        PlannedCheck& check) const {
    const std::size_t cells =
        cells_of(setting) * static_cast<std::size_t>(std::max<std::uint64_t>(samples.cases, 1));
    check.samples = info.is_control ? samples.answers / 2 : samples.pairs;
    check.unit = "pairs of answers";
    const double slack = info.is_control ? 0 : judge_.tolerance * setting.request.max_tokens;
    check.visible = oracle::visible_distance_of_pairs(check.samples, *log_alarm_, cells, slack);
    return cells;
  }

  void see_share(const AuditInfo& info, const Samples& samples, PlannedCheck& check) const {
    check.samples = info.needs_shared_seed ? samples.shared_answers : samples.answers;
    check.unit = "answers";
    if (info.claim == oracle::Claim::kSupportSafe) {
      check.samples = samples.tokens;
      check.unit = "tokens";
    }
    if (info.is_greedy && !info.is_sampled) {
      // Every token is compared; no sample stands for others.
      check.unit = "tokens";
      check.samples = samples.tokens;
      check.visible = check.samples == 0 ? 1 : 1 / static_cast<double>(check.samples);
      check.visible_text =
          check.samples == 0 ? "nothing"
                             : fmt::format("any one of {} tokens", report::grouped(check.samples));
      return;
    }
    check.visible = check.samples == 0 ? 1 : oracle::visible_share(check.samples, miss());
    check.visible_text = share_text(check.visible, check.samples, check.unit);
  }

  /// What a bound of one check may miss.
  double miss() const {
    return judge_.false_alarms / static_cast<double>(std::max<std::size_t>(checks_.size(), 1));
  }

  const AuditConfig& config_;
  const PlanGround& ground_;
  const JudgeSettings& judge_;
  std::vector<properties::audits::Check> checks_;
  std::size_t budget_shares_ = 0;
  std::optional<double> log_alarm_;
  mutable std::map<std::pair<bool, std::size_t>, std::uint64_t> to_certify_;  ///< by law and cells
};

}  // namespace

std::vector<PlannedCheck> score_checks(const AuditConfig& config, double false_alarms) {
  const ApproximateGate& gate = *config.approximate;
  PlannedCheck each;
  each.claim = oracle::to_string(oracle::Claim::kMarginalLossless);
  each.unit = "answers";
  for (const AuditCase& of : config.matrix.cases) each.samples += of.trial_max;
  each.takes_budget = true;
  std::vector<PlannedCheck> checks;
  const auto add_drop = [&](const std::string& from, std::uint64_t samples) {
    checks.push_back(each);
    checks.back().audit = "task_score_drop";
    checks.back().setting = from;
    checks.back().samples = samples;
    checks.back().unit = "pairs of scores";
    checks.back().visible_text = "as far as its scores scatter";
  };
  if (gate.task_score_drop && !gate.score_logs.empty())
    for (const ScoreSeries& series : read_score_logs(gate.score_logs.at(0), gate.score_logs.at(1)))
      add_drop("score_logs", series.scores.size());
  if (gate.task_score_drop && !gate.score_command.empty()) add_drop("score_command", each.samples);
  const std::size_t count = checks.size() + (gate.schema_valid ? 1 : 0);
  const double miss = false_alarms / static_cast<double>(std::max<std::size_t>(count, 1));
  if (gate.schema_valid) {
    checks.push_back(each);
    checks.back().audit = "schema_valid";
    checks.back().setting = "all";
    checks.back().visible = oracle::visible_share(each.samples, miss);
    checks.back().visible_text = share_text(checks.back().visible, each.samples, "answers");
  }
  for (PlannedCheck& check : checks) check.false_alarms = miss;
  return checks;
}

PlannedChecks planned_checks(const AuditConfig& config, const PlanGround& ground,
                             const JudgeSettings& judge) {
  const Checks checks(config, ground, judge);
  std::vector<std::string> silent;
  for (const AuditInfo& info : properties::audits::audit_infos()) {
    const std::string why = properties::audits::absence_of(info, config.matrix, judge);
    if (!why.empty() && why != properties::audits::kLeftOut) silent.push_back(info.id + ": " + why);
  }
  return {checks.take(), std::move(silent), checks.budget_shares(), checks.log_alarm()};
}

}  // namespace draftproof::tools::audit
