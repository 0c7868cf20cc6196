// Plan: what an audit would do, before any traffic: which checks, on how many samples, what each of
// them could see at the least, requests, tokens, time and price, and how the budget of false alarms
// is split. Everything follows from the matrix and the power formulas (oracle/power.h); what had to
// be assumed of the engine is said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "properties/audits/judge.h"
#include "tools/audit/config.h"

namespace draftproof::tools::audit {

/// What is not known before the first contact, and who says it.
struct PlanGround {
  properties::Capabilities baseline, speculative;
  std::string capabilities_source;
  double tokens_per_second = 0;  ///< generated, of an arm, at the matrix's concurrency
  std::string rate_source;
};

struct PlannedCheck {
  std::string audit;
  std::string setting;
  std::string claim;
  std::uint64_t samples = 0;  ///< at most
  std::string unit;  ///< of samples: "tokens", "answers", "answers of a prompt", "pairs of answers"
  bool takes_budget = false;
  double false_alarms = 0;          ///< the share of the run's budget that it takes
  std::optional<double> log_alarm;  ///< natural; of checks that take a share of the budget
  /// A total variation for checks of laws, otherwise a share of `unit`.
  double visible = 1;
  std::string visible_text;  ///< "TV 0.012", "1 of 4 200 tokens"
  /// Of laws: samples until a right engine is certified within effect_tv.
  std::optional<std::uint64_t> to_certify;
};

struct PlanCost {
  std::uint64_t requests = 0;
  std::uint64_t prompt_tokens = 0, output_tokens = 0;  ///< output at most: no end token
  double seconds = 0;
  std::optional<double> price;
};

struct PlannedSetting {
  std::string id;
  std::size_t cases = 0;
  int concurrency = 1;
  PlanCost most;
};

struct AuditPlan {
  std::vector<PlannedCheck> checks;
  std::vector<PlannedSetting> settings;
  PlanCost first_look;  ///< every setting's first look: what a violation that leaps out costs
  PlanCost most;        ///< nothing settles before its last trial
  /// The share of `most` that the time and request limits leave; 1: all of it.
  double reached_share = 1;
  double false_alarms = 0;          ///< of audits; where scores have budgets, half of the run's
  std::size_t budget_shares = 0;    ///< audits' checks that can raise a false alarm
  std::optional<double> log_alarm;  ///< natural, of each of them
  double effect_tv = 0;
  std::vector<std::string> not_exercised;  ///< of requests, and audits with the reason
  std::vector<std::string> assumptions;
};

AuditPlan plan_of(const AuditConfig& config, const PlanGround& ground);

/// What an engine of this dialect takes and tells by its documentation, where nobody was asked.
PlanGround assumed_ground(const AuditConfig& config);

enum class PlanForm { kText, kMarkdown, kJson };
/// JSON conforms to tools/schema/plan.schema.json.
std::string page_of(const AuditPlan& plan, PlanForm form);

}  // namespace draftproof::tools::audit
