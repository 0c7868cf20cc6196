#include "properties/audits/judge.h"

#include <algorithm>
#include <chrono>

#include "oracle/family.h"
#include "properties/audits/audit_list.h"
#include "properties/audits/conditional_law.h"
#include "properties/audits/law_sample.h"
#include "properties/audits/words.h"
#include "reference/error.h"

namespace draftproof::properties::audits {
namespace {

using oracle::Claim;
using oracle::Verdict;
using oracle::VerdictKind;

std::vector<const AuditCase*> cases_of(const Matrix& matrix, std::size_t setting) {
  std::vector<const AuditCase*> cases;
  for (const AuditCase& each : matrix.cases)
    if (each.setting == setting) cases.push_back(&each);
  return cases;
}

bool speaks_of(const AuditInfo& info, const Setting& setting) {
  return setting.is_greedy() ? info.is_greedy : info.is_sampled;
}

bool has_shared_seed(const Matrix& matrix, std::size_t setting) {
  return std::any_of(matrix.cases.begin(), matrix.cases.end(), [&](const AuditCase& each) {
    return each.setting == setting && each.seeding == Seeding::kShared;
  });
}

/// Bans show in the tokens alone, filters where candidates are reported.
bool asks_for_nothing_to_judge_filters_by(const SamplingRequest& request) {
  const auto& adjustments = request.adjustments;
  return request.logprob_count < 0 && !adjustments.allowed_ids && adjustments.bad_words.empty() &&
         adjustments.logit_bias.empty() && adjustments.min_tokens == 0;
}

/// What this audit needs and has not got in this setting; empty: nothing.
std::string missing(const AuditInfo& info, const Matrix& matrix, std::size_t setting,
                    const JudgeSettings& settings) {
  const Capabilities& baseline = settings.baseline;
  const Capabilities& speculative = settings.speculative;
  const auto has_logprobs = [](const Capabilities& arm) {
    return arm.logprobs != LogprobKind::kNone;
  };
  if (info.needs_known_law && settings.target == nullptr)
    return "the target's law is not known: it is for toys (--toy)";
  if (info.needs_counters && !speculative.reports_counters) return "the engine reports no counters";
  if (info.needs_logprobs && !has_logprobs(baseline) && !has_logprobs(speculative))
    return "the engine reports no logprobs";
  if (info.needs_logprobs && !info.is_for_one_server &&
      matrix.settings[setting].request.logprob_count < 0)
    return "the setting asks for no logprobs (sampling.logprobs)";
  if (info.id == "support_of_filters" && settings.target == nullptr &&
      asks_for_nothing_to_judge_filters_by(matrix.settings[setting].request))
    return "the target's law is not known, and the setting asks for no candidates (logprobs)";
  if (info.needs_baseline && !settings.has_baseline) return "there is no baseline arm";
  if (info.needs_shared_seed && !has_shared_seed(matrix, setting))
    return "no case of this setting gives both arms one seed";
  if (info.needs_shared_seed && !(baseline.takes_seed && speculative.takes_seed))
    return "the engine takes no seed";
  if (info.needs_grammar && matrix.settings[setting].request.grammar.empty())
    return "the setting has no grammar";
  if (info.needs_lossy_mode && !settings.lossy) return "no lossy mode was declared or recognised";
  if (info.is_for_one_server && settings.has_baseline)
    return "there is a baseline arm, which is better ground";
  return "";
}

void check_names(const JudgeSettings& settings) {
  std::string known;
  for (const Audit& audit : audits()) known += (known.empty() ? "" : ", ") + audit.info.id;
  for (const std::string& name : settings.audits)
    if (std::none_of(audits().begin(), audits().end(),
                     [&](const Audit& audit) { return audit.info.id == name; }))
      throw Error(ErrorKind::kInput, "there is no audit '" + name + "'; known: " + known, "audits");
}

bool is_alarm(const Verdict& verdict) {
  return verdict.log_e_value && verdict.log_alarm && *verdict.log_e_value >= *verdict.log_alarm;
}

const AuditInfo* info_of(const Verdict& verdict) {
  for (const Audit& audit : audits())
    if (audit.info.id == verdict.property) return &audit.info;
  return nullptr;
}

/// Whether a law that is not the engine's could be what this audit found.
bool reads_known_law(const AuditInfo& info) {
  return info.needs_known_law || info.id == "support_of_filters" || info.id == "draft_efficiency" ||
         info.id == "declared_distance";
}

/// Below it the places of the baseline's own tokens say that the known law is not this engine's.
constexpr double kLeastPlausible = 0.01;

/// What goes no farther from the known law than the baseline does is no fault of drafts, though the
/// baseline is short of its alarm. How often that still convicts a right engine under a law that is
/// off: tests/properties/wrong_law_statistical_test.cpp.
void hold_against_baseline(const CheckContext& context, std::vector<Verdict>& verdicts) {
  const auto rests_on_law = [](const Verdict& verdict) {
    const AuditInfo* info = info_of(verdict);
    return info != nullptr && !info->is_control && reads_known_law(*info) &&
           verdict.kind == VerdictKind::kViolated && is_alarm(verdict);
  };
  if (context.settings.target == nullptr || !context.settings.has_baseline) return;
  if (std::none_of(verdicts.begin(), verdicts.end(), rests_on_law)) return;
  const LawSample sample = law_sample(context, Arm::kBaseline);
  if (!sample.obstacle.empty() || sample.token_count() == 0) return;
  const ConditionalFinding finding = conditional_finding(context, sample);
  const double p_value = place_p_value(context, finding);
  const bool is_implausible = p_value < kLeastPlausible;
  const std::string ground = is_implausible
                                 ? "chi-squared test of its places: p " + rounded(p_value)
                                 : "e-value " + e_value_words(finding.log_e_value);
  for (Verdict& verdict : verdicts)
    if (rests_on_law(verdict) &&
        (is_implausible ||
         !is_beyond_baseline(*verdict.log_e_value, finding.log_e_value, *verdict.log_alarm)))
      blame_the_law(ground, verdict);
}

/// What rests on a control of the baseline that has failed cannot be told from the baseline's
/// fault.
void take_ground(std::vector<Verdict>& verdicts) {
  for (const Verdict& control : verdicts) {
    const AuditInfo* control_info = info_of(control);
    if (control_info == nullptr || !control_info->is_control || !is_alarm(control)) continue;
    for (Verdict& verdict : verdicts) {
      const AuditInfo* info = info_of(verdict);
      if (info == nullptr) continue;
      const bool rests_on_it = control_info->needs_known_law
                                   ? reads_known_law(*info)
                                   : info->needs_baseline && info->can_be_false;
      if (!rests_on_it || info->is_control) continue;
      verdict.kind = VerdictKind::kInconclusive;
      verdict.label = oracle::Label::kNone;
      verdict.witness.reset();
      verdict.evidence =
          "not judged, since " + control.property + " fails without any draft: " + control.evidence;
      verdict.smallest_visible_effect.clear();
    }
  }
}

bool is_of_the_law(const Verdict& verdict) {
  return verdict.claim == Claim::kSupportSafe || verdict.claim == Claim::kGreedyExact ||
         verdict.claim == Claim::kMarginalLossless || verdict.claim == Claim::kSequenceLossless;
}

/// A law that is given up on purpose is no fault of the engine; whether it may be is for the budget
/// that was declared, and the verdict never reads as lossless.
void label_lossy_mode(std::vector<Verdict>& verdicts, const JudgeSettings& settings) {
  if (!settings.lossy) return;
  const auto distance = std::find_if(verdicts.begin(), verdicts.end(), [](const Verdict& each) {
    const AuditInfo* info = info_of(each);
    return info != nullptr && info->needs_lossy_mode;
  });
  for (Verdict& verdict : verdicts) {
    const AuditInfo* info = info_of(verdict);
    if (verdict.kind != VerdictKind::kViolated || !is_of_the_law(verdict)) continue;
    if (info != nullptr && info->needs_lossy_mode) continue;
    verdict.label = oracle::Label::kLossyByDesign;
    verdict.notes.push_back(settings.lossy->name + ", says " + settings.lossy->source +
                            ": the target's law is given up on purpose");
    if (!settings.lossy->budget_tv) continue;
    const Verdict& judged = distance == verdicts.end() ? verdict : *distance;
    const auto& effect = judged.effect ? judged.effect : verdict.effect;
    verdict.kind = distance != verdicts.end() ? distance->kind
                   // Effects of other audits merge contexts: no upper bounds of the law's distance.
                   : effect && effect->total_variation_bounds.low > *settings.lossy->budget_tv
                       ? VerdictKind::kViolated
                       : VerdictKind::kInconclusive;
    if (verdict.kind == VerdictKind::kUpheld) {
      verdict.witness.reset();
      verdict.smallest_visible_effect = "as far as the budget that was declared allows";
    }
  }
}

/// Verdicts of the checks of one setting, in their order.
std::vector<Verdict> judged(const Matrix& matrix, const Evidence& evidence,
                            const JudgeSettings& settings, std::size_t setting,
                            const std::vector<Check>& checks) {
  const auto can_be_false =
      static_cast<std::size_t>(std::count_if(checks.begin(), checks.end(), [](const Check& check) {
        return audits()[check.audit].info.can_be_false;
      }));
  const double log_alarm =
      oracle::log_alarm(settings.false_alarms, std::max<std::size_t>(can_be_false, 1));
  const double miss =
      settings.false_alarms / static_cast<double>(std::max<std::size_t>(can_be_false, 1));
  std::vector<Verdict> verdicts;
  for (const Check& check : checks) {
    if (check.setting != setting) continue;
    const Audit& audit = audits()[check.audit];
    const CheckContext context{matrix,     evidence,
                               settings,   matrix.settings[setting],
                               audit.info, cases_of(matrix, setting),
                               log_alarm,  miss};
    const auto begin = std::chrono::steady_clock::now();
    const std::string lack = missing(audit.info, matrix, setting, settings);
    Verdict verdict = lack.empty() ? audit.verdict(context) : begun(context);
    if (!lack.empty()) verdict.evidence = lack;
    verdict.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    verdicts.push_back(std::move(verdict));
  }
  hold_against_baseline({matrix, evidence, settings, matrix.settings[setting],
                         audits().front().info, cases_of(matrix, setting), log_alarm, miss},
                        verdicts);
  take_ground(verdicts);
  label_lossy_mode(verdicts, settings);
  return verdicts;
}

}  // namespace

std::vector<Check> checks_of(const Matrix& matrix, const JudgeSettings& settings) {
  check_names(settings);
  std::vector<Check> checks;
  for (std::size_t setting = 0; setting < matrix.settings.size(); ++setting) {
    for (std::size_t audit = 0; audit < audits().size(); ++audit) {
      const AuditInfo& info = audits()[audit].info;
      if (!speaks_of(info, matrix.settings[setting])) continue;
      const bool is_asked = settings.audits.empty()
                                ? missing(info, matrix, setting, settings).empty()
                                : std::find(settings.audits.begin(), settings.audits.end(),
                                            info.id) != settings.audits.end();
      if (is_asked) checks.push_back({audit, setting});
    }
  }
  return checks;
}

std::string absence_of(const AuditInfo& info, const Matrix& matrix, const JudgeSettings& settings) {
  const auto& names = settings.audits;
  const bool is_named = std::find(names.begin(), names.end(), info.id) != names.end();
  if (!names.empty() && !is_named) return kLeftOut;
  std::string lack =
      info.is_sampled ? "no setting has a temperature above 0" : "no setting has temperature 0";
  for (std::size_t setting = 0; setting < matrix.settings.size(); ++setting) {
    if (!speaks_of(info, matrix.settings[setting])) continue;
    lack = is_named ? "" : missing(info, matrix, setting, settings);
    if (lack.empty()) break;
  }
  return lack;
}

std::vector<Verdict> judge(const Matrix& matrix, const Evidence& evidence,
                           const JudgeSettings& settings) {
  const std::vector<Check> checks = checks_of(matrix, settings);
  std::vector<Verdict> verdicts;
  for (std::size_t setting = 0; setting < matrix.settings.size(); ++setting)
    for (Verdict& verdict : judged(matrix, evidence, settings, setting, checks))
      verdicts.push_back(std::move(verdict));
  return verdicts;
}

std::vector<Verdict> judge_setting(const Matrix& matrix, const Evidence& evidence,
                                   const JudgeSettings& settings, std::size_t setting) {
  DRAFTPROOF_CHECK(setting < matrix.settings.size(), std::to_string(setting));
  return judged(matrix, evidence, settings, setting, checks_of(matrix, settings));
}

bool is_settled(const std::vector<Verdict>& verdicts, const JudgeSettings& settings) {
  bool has_law = false;
  for (const Verdict& verdict : verdicts) {
    const AuditInfo* info = info_of(verdict);
    if (info == nullptr || !info->can_be_false) continue;
    if (verdict.claim != Claim::kMarginalLossless && verdict.claim != Claim::kSequenceLossless)
      continue;
    has_law = true;
    // An alarm that was taken back leaves the question open.
    if (is_alarm(verdict) && (info->is_control || verdict.kind == VerdictKind::kViolated)) continue;
    if (!verdict.effect || verdict.effect->total_variation_bounds.high > settings.effect_tv)
      return false;
  }
  return has_law;
}

}  // namespace draftproof::properties::audits
