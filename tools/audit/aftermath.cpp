#include "tools/audit/aftermath.h"

#include <algorithm>
#include <memory>
#include <set>

#include "properties/audits/audit_list.h"
#include "reference/error.h"
#include "tools/audit/localise.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools::audit {
namespace {

using oracle::Verdict;
using oracle::VerdictKind;
using properties::Transcript;
using properties::audits::AuditInfo;
using report::CheckResult;

/// Switches that are told of one verdict.
constexpr std::size_t kSwitchesTold = 4;
/// Trials of a try for audits that count, as multiples of what the run needed.
constexpr std::uint64_t kTrialsFactor = 2;

const AuditInfo* audit_info(const std::string& property) {
  for (const AuditInfo& info : properties::audits::audit_infos())
    if (info.id == property) return &info;
  return nullptr;
}

bool is_reducible(const Verdict& verdict) {
  const AuditInfo* info = audit_info(verdict.property);
  return info != nullptr && verdict.label != oracle::Label::kLossyByDesign && !info->is_control &&
         !info->needs_lossy_mode && !info->is_for_one_server;
}

/// What one trial can break goes first: it is cheaper, and says more.
bool is_counting(const Verdict& verdict) {
  return verdict.claim == oracle::Claim::kMarginalLossless ||
         verdict.claim == oracle::Claim::kSequenceLossless;
}

void note_switches(const std::vector<FaultSwitch>& switches, Verdict& verdict) {
  std::size_t told = 0, all = 0;
  for (const FaultSwitch& each : switches) {
    const bool is_own = each.property == verdict.property || audit_info(each.property) == nullptr;
    if (each.violated_setting != verdict.setting || !is_own) continue;
    if (++all > kSwitchesTold) continue;
    ++told;
    verdict.notes.push_back(to_string(each));
  }
  if (all > told)
    verdict.notes.push_back(std::to_string(all - told) +
                            " more settings that differ in one "
                            "parameter are upheld");
}

std::uint64_t trials_of(const AftermathOrder& order, const Verdict& verdict) {
  std::uint64_t cases = 0;
  for (const auto& each : order.matrix.cases)
    cases += order.matrix.settings[each.setting].id == verdict.setting ? 1 : 0;
  const std::uint64_t needed = verdict.trials / std::max<std::uint64_t>(cases, 1);
  return std::clamp<std::uint64_t>(kTrialsFactor * needed, 64, 4096);
}

/// Where the transcripts lie, to be judged by anybody.
std::string keep(const AftermathOrder& order, const Verdict& verdict, const std::string& lines) {
  const auto path =
      order.folder / "cases" / (verdict.property + "-" + verdict.setting + ".reduced.jsonl");
  store::write_atomically(path, lines);
  return "draftproof judge " + path.string() +
         (order.judge_options.empty() ? "" : " " + order.judge_options);
}

void reduce_verdict(const AftermathOrder& order, double deadline, Verdict& verdict) {
  ProbeSettings probe;
  probe.judge = with_measured_bound(order.matrix, order.evidence, order.judge, verdict.setting);
  probe.property = verdict.property;
  probe.tries_max = order.tries_max;
  probe.trials_max = trials_of(order, verdict);
  probe.seed = order.matrix.seed;
  ReduceLimits limits;
  limits.tries_max = order.tries_max;
  limits.is_over = [&] { return order.is_interrupted() || order.now() >= deadline; };
  auto shown = std::make_shared<std::vector<Transcript>>();
  const Reduced reduced = reduce(first_requests(order.matrix, order.evidence, probe.judge, verdict),
                                 shows_by_judging(order.ask, probe, shown), limits);
  const ReducedCase made = case_of(
      reduced, *shown, [&](properties::Arm arm, const properties::SamplingRequest& request) {
        const bool is_there = arm == properties::Arm::kSpeculative || order.judge.has_baseline;
        return is_there && order.curl_of ? order.curl_of(arm, request) : std::string();
      });
  verdict.notes.insert(verdict.notes.end(), made.lines.begin(), made.lines.end());
  if (reduced.is_shown && !order.folder.empty())
    verdict.notes.push_back("what came, to be judged alone: " +
                            keep(order, verdict, made.transcripts));
}

void reduce_all(const AftermathOrder& order, std::vector<Verdict*> violated) {
  std::stable_sort(violated.begin(), violated.end(), [](const Verdict* one, const Verdict* other) {
    return is_counting(*one) < is_counting(*other);
  });
  std::set<std::string> done;
  std::vector<Verdict*> chosen;
  for (Verdict* verdict : violated)
    if (is_reducible(*verdict) && done.insert(verdict->property).second) chosen.push_back(verdict);
  const double end = order.now() + order.time_limit_s;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const double now = order.now();
    if (now >= end || order.is_interrupted()) return;
    // What is left, shared by those that are left.
    const double deadline = now + (end - now) / static_cast<double>(chosen.size() - i);
    try {
      reduce_verdict(order, deadline, *chosen[i]);
    } catch (const Error& error) {
      chosen[i]->notes.push_back(std::string("not reduced: ") + error.what());
    }
  }
}

}  // namespace

void add_aftermath(const AftermathOrder& order, std::vector<CheckResult>& checks) {
  std::vector<Verdict> verdicts;
  std::vector<Verdict*> violated;
  for (CheckResult& check : checks) {
    verdicts.push_back(check.verdict);
    if (check.verdict.kind == VerdictKind::kViolated) violated.push_back(&check.verdict);
  }
  const std::vector<FaultSwitch> switches = fault_switches(order.matrix, verdicts);
  std::set<std::string> laws_told;  // of a setting the first: all are read off the same tokens
  for (Verdict* verdict : violated) {
    note_switches(switches, *verdict);
    if (is_counting(*verdict) && !laws_told.insert(verdict->setting).second) continue;
    const Localisation found = localise(order.matrix, order.evidence, order.judge, *verdict);
    verdict->notes.insert(verdict->notes.end(), found.lines.begin(), found.lines.end());
  }
  if (!order.ask) return;
  DRAFTPROOF_CHECK(order.now != nullptr);
  reduce_all(order, std::move(violated));
}

}  // namespace draftproof::tools::audit
