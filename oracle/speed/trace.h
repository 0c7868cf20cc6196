// Trace: what an engine measured about itself, as values. One iteration is one call of the target
// for one request; the baseline arm decodes plainly, the speculative arm drafts and verifies.
// Everything that an engine may not report is optional: absent is never taken for zero.
// Times are seconds, whatever unit the file used.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/speed/placement.h"
#include "oracle/speed/step_speed.h"
#include "oracle/speed/verify_slope.h"

namespace draftproof::oracle::speed {

enum class Arm { kBaseline, kSpeculative };
std::string_view to_string(Arm arm);

/// One call of the target for one request.
struct Iteration {
  std::string request;
  std::int64_t index = 0;  ///< 0, 1, ... within request and arm
  Arm arm = Arm::kSpeculative;
  std::string cohort;
  std::int64_t drafted = 0;   ///< tokens (tree nodes) proposed
  std::int64_t accepted = 0;  ///< of them kept
  std::int64_t emitted = 0;   ///< tokens added to the output
  std::int64_t cut = 0;       ///< tokens of accepted + 1 dropped behind EOS, a stop or a cap
  std::optional<std::int64_t> depth;            ///< longest path of a drafted tree; absent: a chain
  std::optional<std::int64_t> first_rejection;  ///< position 1.., as the engine reports it
  std::optional<std::int64_t> wasted;           ///< as the engine reports it
  std::optional<bool> bonus;                    ///< a bonus token was emitted
  std::optional<std::int64_t> batch;            ///< requests in this step
  std::optional<std::int64_t> context;          ///< tokens in the target's KV before it
  std::optional<std::int64_t> target_kv_bytes, draft_kv_bytes;  ///< temporary
  std::optional<double> draft, verify, accept, rollback, link;  ///< terms of the step, seconds
  std::optional<double> step;                                   ///< the whole step, wall time
  std::optional<double> divergence;  ///< KL(target || draft) in nats, mean over the draft
  std::string fallback;              ///< why nothing was drafted
  std::int64_t line = 0;             ///< where it was read, for messages

  std::int64_t draft_depth() const { return depth.value_or(drafted); }
};

/// One request of one arm, as its client saw it.
struct Request {
  std::string request;
  Arm arm = Arm::kSpeculative;
  std::string cohort;
  std::optional<double> arrival;  ///< seconds after any common origin
  std::optional<double> ttft;     ///< time to first token
  std::optional<double> itl;      ///< mean time between tokens behind the first
  std::optional<double> latency;  ///< arrival to last token
  std::optional<std::int64_t> output_tokens;
  std::optional<std::int64_t> prefill_tokens;  ///< of them, emitted by the prefill
  std::optional<std::int64_t> leaked_blocks;   ///< KV blocks not returned at its end
  std::optional<double> energy;                ///< joules, where a meter exists
  std::optional<double> draft_acceptance;      ///< the engine's own rate
  std::optional<double> accepted_length;       ///< the engine's own, bonus or recovered included
  std::int64_t line = 0;
};

/// What holds for the whole trace.
struct Setup {
  std::string engine, method, target, draft;
  Placement placement = Placement::kSerial;
  DraftPasses passes = DraftPasses::kOnePerToken;
  bool emits_bonus = true;  ///< a fully accepted draft is followed by a bonus token
  std::optional<std::int64_t> query_group, tile, draft_layers, target_layers;
  std::optional<TargetShape> shape;  ///< for the verify slope
  std::optional<DeviceRates> device;
  std::optional<double> slo_ttft, slo_itl;
};

/// A line that says nothing that could be counted, and why.
struct DamagedLine {
  std::int64_t line = 0;
  std::string reason;
};

struct Trace {
  Setup setup;
  std::vector<Iteration> iterations;
  std::vector<Request> requests;
  std::vector<DamagedLine> damaged;  ///< left out because the reader was told to
};

/// One cohort's part of a trace. Points into the trace, which must outlive it.
struct Cohort {
  std::string name;
  const Setup* setup = nullptr;
  std::vector<const Iteration*> speculative, baseline;
  std::vector<const Request*> speculative_requests, baseline_requests;
};

/// Cohorts in the order of their names.
std::vector<Cohort> cohorts_of(const Trace& trace);

/// The step's wall time: as measured, else the sum of its terms as they are placed; absent when not
/// even the verify (of the baseline: the step) was reported. An iteration without a draft may leave
/// the draft's terms out.
std::optional<double> time_of(const Iteration& iteration, Placement placement);

/// Every term of the step, with what the measured step leaves over as `other`; absent when a draft
/// was verified and its draft or verify time is not reported.
std::optional<StepTerms> terms_of(const Iteration& iteration, Placement placement);

}  // namespace draftproof::oracle::speed
