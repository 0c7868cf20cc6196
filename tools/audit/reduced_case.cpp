// Where a reduction begins, and what it leaves for a reader.
#include <algorithm>
#include <optional>

#include "properties/audits/audit_list.h"
#include "properties/audits/findings.h"
#include "properties/audits/partings.h"
#include "properties/audits/words.h"
#include "properties/transcript.h"
#include "reference/error.h"
#include "tools/audit/reduce.h"

namespace draftproof::tools::audit {
namespace {

using properties::Arm;
using properties::SamplingRequest;
using properties::Transcript;
using properties::audits::AuditCase;
using properties::audits::CheckContext;
using properties::audits::Evidence;
using properties::audits::JudgeSettings;
using properties::audits::Matrix;

/// Companions of a request, at most.
constexpr std::size_t kCompanionsMax = 31;
/// Requests that are written as curl lines each; of more the first alone.
constexpr std::size_t kCurlMax = 4;
/// Trials that are judged alone, evenly spread when there are more.
constexpr std::size_t kAloneMax = 20000;

std::size_t setting_index(const Matrix& matrix, const std::string& id) {
  const auto found = std::find_if(matrix.settings.begin(), matrix.settings.end(),
                                  [&](const auto& setting) { return setting.id == id; });
  DRAFTPROOF_CHECK(found != matrix.settings.end(), id);
  return static_cast<std::size_t>(found - matrix.settings.begin());
}

CheckContext context_of(const Matrix& matrix, const Evidence& evidence,
                        const JudgeSettings& settings, std::size_t setting,
                        const properties::audits::AuditInfo& info) {
  CheckContext context{matrix, evidence, settings, matrix.settings[setting], info, {}, 0, 0.05};
  for (const AuditCase& each : matrix.cases)
    if (each.setting == setting) context.cases.push_back(&each);
  return context;
}

/// A trial with everything that was asked of it.
Evidence trial_alone(const Evidence& evidence, const Transcript& transcript) {
  Evidence alone;
  for (const Arm arm : {Arm::kBaseline, Arm::kSpeculative}) {
    for (std::uint32_t repeat = 0;; ++repeat) {
      const auto& trials = evidence.of(transcript.key.case_id, arm, repeat);
      const auto found = trials.find(transcript.key.trial);
      if (found != trials.end()) alone.add(found->second);
      if (trials.empty() && repeat > 0) break;
    }
  }
  return alone;
}

const Transcript* first_broken(const CheckContext& context, std::size_t setting) {
  std::vector<const Transcript*> trials;
  for_each_transcript(context, Arm::kSpeculative, [&](const AuditCase&, const Transcript& each) {
    if (each.key.repeat == 0) trials.push_back(&each);
  });
  JudgeSettings settings = context.settings;
  settings.audits = {context.info.id};
  const std::size_t step = trials.size() / kAloneMax + 1;
  for (std::size_t i = 0; i < trials.size(); i += step) {
    const Evidence alone = trial_alone(context.evidence, *trials[i]);
    if (oracle::merged(judge_setting(context.matrix, alone, settings, setting)) ==
        oracle::VerdictKind::kViolated)
      return trials[i];
  }
  return nullptr;
}

/// Those that were on the engine together with `broken`, by the client's clock.
std::vector<SamplingRequest> companions(const CheckContext& context, const Transcript& broken) {
  std::vector<SamplingRequest> list;
  const auto& timing = broken.completion.timing;
  if (!timing) return list;
  for_each_transcript(context, Arm::kSpeculative, [&](const AuditCase&, const Transcript& each) {
    const auto& other = each.completion.timing;
    const bool is_together =
        other && &each != &broken && other->sent < timing->ended && other->ended > timing->sent;
    if (is_together && list.size() < kCompanionsMax) list.push_back(each.request);
  });
  return list;
}

}  // namespace

std::vector<SamplingRequest> first_requests(const Matrix& matrix, const Evidence& evidence,
                                            const JudgeSettings& judge,
                                            const oracle::Verdict& verdict) {
  const std::size_t setting = setting_index(matrix, verdict.setting);
  for (const auto& info : properties::audits::audit_infos()) {
    if (info.id != verdict.property) continue;
    const bool is_counted = info.can_be_false && (info.claim == oracle::Claim::kMarginalLossless ||
                                                  info.claim == oracle::Claim::kSequenceLossless);
    if (is_counted) break;
    const CheckContext context = context_of(matrix, evidence, judge, setting, info);
    const Transcript* broken = first_broken(context, setting);
    if (broken == nullptr) break;
    std::vector<SamplingRequest> requests = {broken->request};
    for (SamplingRequest& each : companions(context, *broken)) requests.push_back(std::move(each));
    return requests;
  }
  std::vector<SamplingRequest> requests;
  for (const AuditCase& each : matrix.cases)
    if (each.setting == setting) requests.push_back(each.request);
  return requests;
}

JudgeSettings with_measured_bound(const Matrix& matrix, const Evidence& evidence,
                                  JudgeSettings judge, const std::string& setting) {
  if (judge.near_tie_bound > 0 || judge.target != nullptr) return judge;
  const properties::audits::AuditInfo none;
  const CheckContext context =
      context_of(matrix, evidence, judge, setting_index(matrix, setting), none);
  const double fault = margin_bound(context, self_control(context)).fault;
  judge.near_tie_bound = fault;
  return judge;
}

ReducedCase case_of(const Reduced& reduced, const std::vector<Transcript>& shown,
                    const std::function<std::string(Arm, const SamplingRequest&)>& curl_of) {
  ReducedCase made;
  std::string steps;
  for (const std::string& step : reduced.steps) steps += (steps.empty() ? "" : "; ") + step;
  made.lines.push_back(
      !reduced.is_shown && !reduced.steps.empty() ? "not reduced: " + steps
      : !reduced.is_shown
          ? "asked again it did not show: it comes and goes, or needs what came before it"
          : "reduced in " + std::to_string(reduced.tries) + " tries" +
                (reduced.is_least ? "" : " (not to the least: tries or time were used up)") +
                (steps.empty() ? ": nothing could be left out" : ": " + steps));
  const std::size_t count = reduced.requests.size();
  for (std::size_t i = 0; i < count; ++i)
    made.lines.push_back((count == 1 ? "request"
                                     : "request " + std::to_string(i + 1) + " of " +
                                           std::to_string(count) + ", together") +
                         ": " + properties::audits::words_of(reduced.requests[i]));
  for (const Arm arm : {Arm::kBaseline, Arm::kSpeculative}) {
    for (const SamplingRequest& request : reduced.requests) {
      if (count > kCurlMax && &request != &reduced.requests.front()) break;  // the file has all
      const std::string line = curl_of ? curl_of(arm, request) : "";
      if (!line.empty()) made.lines.push_back(line + "   # " + to_string(arm));
    }
  }
  for (const Transcript& transcript : shown) made.transcripts += line_of(transcript) + "\n";
  return made;
}

}  // namespace draftproof::tools::audit
