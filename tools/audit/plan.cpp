#include "tools/audit/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "oracle/claim.h"
#include "oracle/family.h"
#include "oracle/power.h"
#include "tools/audit/collector.h"
#include "tools/audit/doctor.h"
#include "tools/audit/toy_law.h"
#include "tools/report/table.h"

namespace draftproof::tools::audit {
namespace {

using properties::Capabilities;
using properties::LogprobKind;
using properties::audits::AuditCase;
using properties::audits::AuditInfo;
using properties::audits::JudgeSettings;
using properties::audits::Matrix;
using properties::audits::Seeding;
using properties::audits::Setting;

/// Cells of a token's place in its own law (oracle/conditional.h).
constexpr std::size_t kPlaceCells = 16;
/// Cells of the next token where neither vocabulary nor top_k says: what a text's law has of
/// tokens that are met at all.
constexpr std::size_t kTextCells = 1000;
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

/// Samples of one kind in a setting.
struct Samples {
  std::uint64_t tokens = 0;          ///< of independent cases
  std::uint64_t shared_answers = 0;  ///< of cases with one seed for both arms
  std::uint64_t answers = 0;         ///< all of an arm
  std::uint64_t case_trials = 0;     ///< of one independent case, at most
};

Samples samples_of(const Matrix& matrix, std::size_t setting) {
  Samples samples;
  for (const AuditCase& each : matrix.cases) {
    if (each.setting != setting) continue;
    samples.answers += each.trial_max;
    if (each.seeding == Seeding::kShared) {
      samples.shared_answers += each.trial_max;
      continue;
    }
    samples.tokens += each.trial_max * static_cast<std::uint64_t>(each.request.max_tokens);
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
      : config_(config), ground_(ground) {
    const auto& infos = properties::audits::audit_infos();
    checks_ = properties::audits::checks_of(config.matrix, settings);
    for (const auto& check : checks_)
      if (infos[check.audit].can_be_false) ++budget_shares_;
    if (budget_shares_ > 0) log_alarm_ = oracle::log_alarm(config.false_alarms, budget_shares_);
  }

  std::size_t budget_shares() const { return budget_shares_; }
  std::optional<double> log_alarm() const { return log_alarm_; }

  std::vector<PlannedCheck> take() const {
    std::vector<PlannedCheck> planned;
    for (const auto& check : checks_)
      planned.push_back(of(properties::audits::audit_infos()[check.audit], check.setting));
    return planned;
  }

  /// Audits that speak of nothing here, and why.
  std::vector<std::string> silent(bool knows_law) const {
    std::vector<std::string> lines;
    const auto& infos = properties::audits::audit_infos();
    for (std::size_t i = 0; i < infos.size(); ++i) {
      const bool speaks = std::any_of(checks_.begin(), checks_.end(),
                                      [&](const auto& check) { return check.audit == i; });
      const bool asked = config_.audits.empty() ||
                         std::find(config_.audits.begin(), config_.audits.end(), infos[i].id) !=
                             config_.audits.end();
      if (!speaks && asked) lines.push_back(infos[i].id + ": " + why_not(infos[i], knows_law));
    }
    return lines;
  }

 private:
  std::string why_not(const AuditInfo& info, bool knows_law) const {
    if (info.needs_known_law && !knows_law) return "nobody knows the law; name a toy (--toy)";
    if (info.is_for_one_server && !config_.is_one_server) return "there is a baseline arm";
    if (info.needs_baseline && config_.is_one_server) return "there is no baseline arm";
    if (info.needs_lossy_mode) return "no lossy mode is declared";
    if (info.needs_grammar) return "no setting has a grammar";
    if (info.needs_counters && !ground_.speculative.reports_counters)
      return "the engine reports no counters";
    if (info.needs_logprobs && ground_.speculative.logprobs == LogprobKind::kNone)
      return "the engine reports no logprobs";
    if (info.is_greedy && !info.is_sampled) return "no setting is greedy";
    return "no setting draws";
  }

  std::size_t cells_of(const Setting& setting) const {
    const auto top_k = setting.request.sampling.top_k;
    const auto vocab = static_cast<std::size_t>(std::max(ground_.speculative.vocab_size, 0));
    std::size_t cells = vocab > 0 ? vocab : kTextCells;
    if (top_k > 0) cells = std::min(cells, static_cast<std::size_t>(top_k));
    return std::max<std::size_t>(cells, 2);
  }

  PlannedCheck of(const AuditInfo& info, std::size_t index) const {
    const Setting& setting = config_.matrix.settings[index];
    const Samples samples = samples_of(config_.matrix, index);
    PlannedCheck check;
    check.audit = info.id;
    check.setting = setting.id;
    check.claim = oracle::to_string(info.claim);
    check.takes_budget = info.can_be_false;
    if (info.can_be_false) check.log_alarm = log_alarm_;
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
    const bool is_joint = info.id.find("joint") != std::string::npos;
    const std::size_t cells =
        is_joint
            ? cells_of(setting) * cells_of(setting)
            : (info.needs_known_law || info.is_for_one_server ? kPlaceCells : cells_of(setting));
    check.samples = is_joint ? samples.case_trials : samples.tokens;
    check.unit = is_joint ? "answers of a prompt" : "tokens";
    const bool is_known = info.needs_known_law || info.is_for_one_server;
    check.visible = is_known ? oracle::visible_distance(check.samples, *log_alarm_, cells)
                             : oracle::visible_distance_of_pairs(check.samples, *log_alarm_, cells);
    check.visible_text =
        check.visible < 1 ? fmt::format("TV {:.2g}", check.visible) : std::string("nothing");
    // A search, and the same one for most settings.
    const auto [found, is_first] = to_certify_.try_emplace(cells, 0);
    if (is_first) found->second = oracle::samples_to_certify(config_.effect_tv, miss(), cells);
    check.to_certify = found->second;
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
    return config_.false_alarms / static_cast<double>(std::max<std::size_t>(checks_.size(), 1));
  }

  const AuditConfig& config_;
  const PlanGround& ground_;
  std::vector<properties::audits::Check> checks_;
  std::size_t budget_shares_ = 0;
  std::optional<double> log_alarm_;
  mutable std::map<std::size_t, std::uint64_t> to_certify_;  ///< by cells
};

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

/// What an examination of these very addresses has kept; of others it says nothing.
void take_record(const AuditConfig& config, PlanGround& ground) {
  const auto file = std::filesystem::path(config.report_dir) / "doctor.json";
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
  if (slowest <= 0) return;
  ground.tokens_per_second = slowest;
  ground.rate_source = "measured by doctor, of the slower arm (" + file.string() + ")";
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
  const Checks checks(config, ground, settings);
  AuditPlan plan;
  plan.checks = checks.take();
  plan.budget_shares = checks.budget_shares();
  plan.log_alarm = checks.log_alarm();
  plan.false_alarms = config.false_alarms;
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
  for (std::string& line : checks.silent(settings.target != nullptr))
    plan.not_exercised.push_back(std::move(line));
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
