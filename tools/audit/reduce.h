// Reduce: from a violation to the least requests that still show it: fewest requests, plainest
// setting, shortest prompts, fewest tokens (delta debugging: Zeller, Hildebrandt 2002). The engine
// is asked again at every try and judged with a small budget of its own, so that what is reported
// was seen at its own size. Which requests show it is told by whoever asks; shows_by_judging() is
// the way of audits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "properties/audits/judge.h"

namespace draftproof::tools::audit {

using StillShows = std::function<bool(const std::vector<properties::SamplingRequest>&)>;

struct ReduceLimits {
  std::uint64_t tries_max = 200;
  /// Asked before every try; true ends the reduction with what it has.
  std::function<bool()> is_over = [] { return false; };
};

struct Reduced {
  std::vector<properties::SamplingRequest> requests;  ///< asked together
  std::uint64_t tries = 0;
  bool is_shown = false;  ///< the requests as handed in showed it again; false: nothing was reduced
  bool is_least = false;  ///< nothing simpler shows it; false when tries or time were used up
  std::vector<std::string> steps;  ///< "12 -> 1 requests", "top_p 0.9 -> off", ...
};

/// Settings are made plainer in all requests at once. Precondition: at least one request, each with
/// a prompt (of ids, or a text).
Reduced reduce(std::vector<properties::SamplingRequest> requests, const StillShows& still_shows,
               const ReduceLimits& limits = {});

/// How a try asks and judges.
struct ProbeSettings {
  properties::audits::JudgeSettings judge;  ///< of the run; its false_alarms are for all tries
  std::string property;                     ///< the audit that has to convict again
  std::uint64_t tries_max = 200;            ///< what the budget is split over
  std::uint64_t trials_max = 1024;          ///< of each request, for audits that need counts
  /// Trials of audits that one trial can convict; more than one for faults that come and go.
  std::uint64_t plain_trials = 4;
  std::uint64_t seed = 1;  ///< of the tries; no two tries share trials
};

/// Completions of all requests in their order, asked together: as CollectHooks::ask.
using AskTogether = std::function<std::vector<properties::Completion>(
    properties::Arm, const std::vector<properties::SamplingRequest>&, int concurrency)>;

/// Asks both arms (the baseline where there is one) until the audit convicts or trials are used up.
/// What the engine refuses does not show it. Keeps the transcripts of the last try that showed it
/// in `shown` when that is not null.
StillShows shows_by_judging(AskTogether ask, ProbeSettings settings,
                            std::shared_ptr<std::vector<properties::Transcript>> shown = {});

/// The requests to begin with. Of an audit that one trial can break: the first trial that does, and
/// those that were in flight beside it; of counts, or when no trial does alone, one of each case of
/// the setting. Precondition: the verdict's setting is one of the matrix.
std::vector<properties::SamplingRequest> first_requests(
    const properties::audits::Matrix& matrix, const properties::audits::Evidence& evidence,
    const properties::audits::JudgeSettings& judge, const oracle::Verdict& verdict);

/// `judge` with the bound on two logits that the run's baseline measured in this setting, where it
/// has none of its own: single requests measure nothing.
properties::audits::JudgeSettings with_measured_bound(const properties::audits::Matrix& matrix,
                                                      const properties::audits::Evidence& evidence,
                                                      properties::audits::JudgeSettings judge,
                                                      const std::string& setting);

/// What a reader needs to do it again.
struct ReducedCase {
  std::vector<std::string> lines;  ///< requests in words, how they were reduced, then curl lines
  std::string transcripts;         ///< lines of JSON that `draftproof judge` takes
};
/// `curl_of` may be empty, or return an empty text: no curl lines.
ReducedCase case_of(
    const Reduced& reduced, const std::vector<properties::Transcript>& shown,
    const std::function<std::string(properties::Arm, const properties::SamplingRequest&)>& curl_of);

}  // namespace draftproof::tools::audit
