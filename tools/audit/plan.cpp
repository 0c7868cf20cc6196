#include "tools/audit/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "tools/audit/approximate_checks.h"
#include "tools/audit/collector.h"
#include "tools/audit/doctor.h"
#include "tools/audit/plan_checks.h"
#include "tools/audit/toy_law.h"
#include "tools/audit/toy_slack.h"

namespace draftproof::tools::audit {
namespace {

using properties::Capabilities;
using properties::LogprobKind;
using properties::audits::AuditCase;
using properties::audits::JudgeSettings;
using properties::audits::Setting;

/// Bytes of an English text to a token, for prompts that nobody has cut yet.
constexpr std::size_t kBytesOfToken = 4;
constexpr double kAssumedRate = 500;

std::uint64_t prompt_tokens_of(const AuditCase& each) {
  if (!each.request.prompt.empty()) return each.request.prompt.size();
  return each.request.prompt_text.size() / kBytesOfToken + 1;
}

/// Counts the requests of one setting as the collector asks them (collector.h).
class Counting {
 public:
  Counting(const AuditConfig& config, const PlanGround& ground)
      : config_(config), ground_(ground) {}

  PlanCost of(std::size_t setting, std::uint64_t trials) const {
    // The numbers of repeats and scores are the collector's own.
    const CollectPlan usual{config_.matrix, judge_, {}, {}, {}};
    const std::uint64_t arms = config_.is_one_server ? 1 : 2;
    PlanCost cost;
    for (const AuditCase& each : config_.matrix.cases) {
      if (each.setting != setting) continue;
      const std::uint64_t once = std::min(trials, each.trial_max);
      const std::uint64_t asked = arms * (once + std::min(once, usual.repeated_trials));
      const auto length = static_cast<std::uint64_t>(each.request.max_tokens);
      add(cost, asked, prompt_tokens_of(each), length);
      if (config_.is_one_server)
        add(cost, std::min(once, usual.scored_trials), prompt_tokens_of(each) + length, 0);
    }
    finish(cost);
    return cost;
  }

  static void add(PlanCost& cost, std::uint64_t requests, std::uint64_t prompt,
                  std::uint64_t output) {
    cost.requests += requests;
    cost.prompt_tokens += requests * prompt;
    cost.output_tokens += requests * output;
  }

  void finish(PlanCost& cost) const {
    cost.seconds = static_cast<double>(cost.output_tokens) / ground_.tokens_per_second;
    const auto millions = [](std::uint64_t tokens) { return static_cast<double>(tokens) * 1e-6; };
    if (config_.price_per_million_input || config_.price_per_million_output)
      cost.price = millions(cost.prompt_tokens) * config_.price_per_million_input.value_or(0) +
                   millions(cost.output_tokens) * config_.price_per_million_output.value_or(0);
  }

 private:
  const AuditConfig& config_;
  const PlanGround& ground_;
  const JudgeSettings judge_ = {};
};

PlanCost sum(const PlanCost& left, const PlanCost& right) {
  PlanCost cost;
  cost.requests = left.requests + right.requests;
  cost.prompt_tokens = left.prompt_tokens + right.prompt_tokens;
  cost.output_tokens = left.output_tokens + right.output_tokens;
  cost.seconds = left.seconds + right.seconds;
  if (left.price || right.price) cost.price = left.price.value_or(0) + right.price.value_or(0);
  return cost;
}

void add_assumptions(const AuditConfig& config, const PlanGround& ground, AuditPlan& plan) {
  auto& lines = plan.assumptions;
  lines.push_back(fmt::format("{:.0f} tokens a second of an arm, one arm after the other: {}",
                              ground.tokens_per_second, ground.rate_source));
  lines.push_back("what the engine takes and tells: " + ground.capabilities_source);
  const auto& cases = config.matrix.cases;
  if (std::any_of(cases.begin(), cases.end(),
                  [](const AuditCase& each) { return each.request.prompt.empty(); }))
    lines.push_back(fmt::format("texts have {} bytes a token", kBytesOfToken));
  if (!config.is_one_server && ground.speculative.vocab_size == 0 && config.toy.empty())
    lines.push_back(
        fmt::format("the next token has {} cells where top_k does not say less", kTextCells));
  lines.push_back(
      "visible effects are those of the last trial, spread in the way that is hardest to see; "
      "what is concentrated shows earlier");
}

/// What the run will grant the arithmetic of an engine that is not known yet.
double tolerance_of(const AuditConfig& config) {
  if (!config.toy.ends_with(".json")) return 0;
  RunRecord record;
  record.matrix = config.matrix;
  const std::string& engine = config.speculative.client.engine;
  grant_toy_slack(config.toy, engine == "auto" ? "" : engine, config.cache_dtype, record);
  return record.judge.tolerance;
}

/// Of the whole, what the limits of time and requests leave.
double reached_share(const AuditConfig& config, const PlanCost& most) {
  double share = 1;
  if (config.time_limit_s && most.seconds > 0)
    share = std::min(share, *config.time_limit_s / most.seconds);
  if (config.request_max && most.requests > 0)
    share = std::min(share,
                     static_cast<double>(*config.request_max) / static_cast<double>(most.requests));
  return share;
}

/// What an examination of these very addresses has kept; of others it says nothing. What was shown
/// of a pair goes before what one server alone showed.
void take_record(const AuditConfig& config, PlanGround& ground) {
  for (const bool is_pair : {true, false}) {
    const auto file = doctor_file(config.report_dir, is_pair);
    double slowest = 0;
    for (const ArmRecord& record : read_doctor_record(file)) {
      const bool is_baseline = record.arm == properties::Arm::kBaseline;
      const ArmConfig& given = is_baseline ? config.baseline : config.speculative;
      if (!given.is_given() || record.address != address_of(given)) continue;
      (is_baseline ? ground.baseline : ground.speculative) = record.capabilities;
      ground.capabilities_source = "kept by doctor in " + file.string();
      if (record.tokens_per_second && (slowest == 0 || *record.tokens_per_second < slowest))
        slowest = *record.tokens_per_second;
    }
    if (slowest <= 0) continue;
    ground.tokens_per_second = slowest;
    ground.rate_source = "measured by doctor, of the slower arm (" + file.string() + ")";
    return;
  }
}

}  // namespace

AuditPlan plan_of(const AuditConfig& config, const PlanGround& ground) {
  JudgeSettings settings;
  settings.false_alarms = config.false_alarms;
  settings.effect_tv = config.effect_tv;
  settings.baseline = ground.baseline;
  settings.speculative = ground.speculative;
  settings.has_baseline = !config.is_one_server;
  settings.promises_same_seed = config.promises_same_seed;
  settings.audits = config.audits;
  if (config.declared_lossy)
    settings.lossy =
        properties::audits::LossyMode{*config.declared_lossy, "the configuration",
                                      config.approximate ? config.approximate->tv : std::nullopt};
  ToyLaw law;
  if (!config.toy.empty()) {
    const std::string contract = config.contract.empty() ? "default" : config.contract;
    law = toy_law(config.toy, contract, config.vocab_size, "--toy");
    settings.target = law.target.get();
    settings.draft = law.draft.get();
  }
  // Half of the budget of false alarms is for scores, as in the run.
  const bool is_scored = config.approximate && has_score_budget(*config.approximate);
  if (is_scored) settings.false_alarms /= 2;
  settings.tolerance = tolerance_of(config);
  PlannedChecks checks = planned_checks(config, ground, settings);
  AuditPlan plan;
  plan.checks = std::move(checks.checks);
  plan.budget_shares = checks.budget_shares;
  plan.log_alarm = checks.log_alarm;
  if (is_scored)
    for (PlannedCheck& check : score_checks(config, settings.false_alarms))
      plan.checks.push_back(std::move(check));
  plan.false_alarms = settings.false_alarms;
  plan.effect_tv = config.effect_tv;
  const Counting counting(config, ground);
  for (std::size_t i = 0; i < config.matrix.settings.size(); ++i) {
    const Setting& setting = config.matrix.settings[i];
    const auto cases = static_cast<std::size_t>(
        std::count_if(config.matrix.cases.begin(), config.matrix.cases.end(),
                      [&](const AuditCase& each) { return each.setting == i; }));
    plan.settings.push_back({setting.id, cases, setting.concurrency,
                             counting.of(i, std::numeric_limits<std::uint64_t>::max())});
    plan.most = sum(plan.most, plan.settings.back().most);
    plan.first_look = sum(plan.first_look, counting.of(i, config.matrix.first_look));
  }
  plan.reached_share = reached_share(config, plan.most);
  plan.not_exercised = config.not_exercised;
  for (std::string& line : checks.silent) plan.not_exercised.push_back(std::move(line));
  add_assumptions(config, ground, plan);
  return plan;
}

PlanGround assumed_ground(const AuditConfig& config) {
  const std::string& engine = config.speculative.client.engine;
  PlanGround ground;
  Capabilities& each = ground.speculative;
  each.reports_counters = engine != "openai" && engine != "openai-chat" && engine != "tgi";
  each.logprobs = engine == "tgi" ? LogprobKind::kProcessed : LogprobKind::kRaw;
  ground.capabilities_source = engine == "auto"
                                   ? "not known before the first contact, everything is assumed; "
                                     "`draftproof doctor` asks"
                                   : "as " + engine + " documents it; `draftproof doctor` asks";
  ground.baseline = ground.speculative;
  ground.tokens_per_second = kAssumedRate;
  ground.rate_source = "assumed; measure it with `draftproof doctor`, or give --rate";
  take_record(config, ground);
  if (config.tokens_per_second) {
    ground.tokens_per_second = *config.tokens_per_second;
    ground.rate_source = "--rate";
  }
  if (config.vocab_size) ground.baseline.vocab_size = each.vocab_size = *config.vocab_size;
  return ground;
}

}  // namespace draftproof::tools::audit
