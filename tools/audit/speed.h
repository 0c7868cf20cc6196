// Speed on the side: what the traffic of an audit says about times, by cohort and arm. Both arms
// got the same prompts in the same order; warm-up and cold answers are left out, the latter shown
// apart. Numbers are of this client, on this machine, under this load: a verdict about truth never
// rests on them, and a rate of acceptance never stands for a speed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oracle/speed/jackknife.h"
#include "oracle/speed/trace.h"
#include "properties/audits/evidence.h"
#include "properties/audits/known_target.h"
#include "properties/audits/matrix.h"
#include "tools/audit/traffic.h"
#include "tools/report/report.h"

namespace draftproof::tools::audit {

/// Seconds. Absent: not reported (no times, not streamed, no counters).
struct ArmSpeed {
  std::size_t answers = 0;
  std::uint64_t tokens = 0;
  std::optional<double> ttft;          ///< due to first piece, median
  std::optional<double> itl;           ///< between tokens behind the first piece, mean
  std::optional<double> latency;       ///< due to end, median
  std::optional<double> latency_tail;  ///< the 99th of 100
  std::optional<double> token_time;    ///< due to end over tokens, all answers together
  std::optional<double> decode_share;  ///< of latency, behind the first piece
  std::optional<double> cold_latency;  ///< of the first answer of an arm that was just started
  std::optional<double> throughput;    ///< tokens a second while requests of it were in flight
  /// Tokens of answers within the service level, a second of that time; requests that failed are
  /// none. Absent: no level is stated, or one of the answers does not tell whether it keeps it.
  std::optional<double> goodput;
  std::optional<double> good_share;                        ///< answers within it
  std::optional<std::int64_t> drafted, accepted, emitted;  ///< the engine's own counts
  /// emitted / target calls, calls = emitted - accepted: each adds one token beyond what it kept.
  std::optional<double> committed_per_call() const;
  std::optional<double> draft_acceptance() const;
};

struct CohortSpeed {
  std::string name;
  ArmSpeed baseline, speculative;
  /// Time per token of the baseline over that with speculation, over trials that both answered:
  /// above 1 speculation is quicker. The interval is a jackknife over trials.
  std::optional<oracle::speed::JackknifeInterval> ratio;
  bool is_streamed = false;  ///< the ratio is of times between tokens, else of whole answers
};

/// Cohorts in the order of their names, behind "all" of them; cases without one are in "all" alone.
std::vector<CohortSpeed> speeds_of(const properties::audits::Matrix& matrix,
                                   const properties::audits::Evidence& evidence, double confidence,
                                   const ServiceLevel& level = {});

/// What engines tell step by step, for `oracle/speed`: one iteration a verification, one request an
/// answer with times. It arrives by the busy clock of its cohort and arm (busy_clock.h), so that
/// rates of an arm do not count the turns of the other.
oracle::speed::Trace trace_of(const properties::audits::Matrix& matrix,
                              const properties::audits::Evidence& evidence,
                              const ServiceLevel& level = {});

/// Nothing when no answer has a time. Laws may be null: they tell how far drafts are.
std::optional<report::Section> speed_section(
    const properties::audits::Matrix& matrix, const properties::audits::Evidence& evidence,
    const Traffic& traffic, const properties::audits::KnownTarget* target = nullptr,
    const properties::audits::KnownTarget* draft = nullptr);

}  // namespace draftproof::tools::audit
