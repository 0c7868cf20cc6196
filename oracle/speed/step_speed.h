// Step speed: committed tokens and the time of a step, against plain decoding.
//   speed = E[committed] T_decode / (T_draft + T_verify + T_accept + T_rollback)
// and its textbook case AL / (1 + rho D): flat verify, nothing but the draft to pay for. rho is a
// time ratio and must be measured; the layer ratio L_draft / L_target is an estimate of it that
// forgets embeddings, heads, launches and the sampler, so the two have different types.
#pragma once

#include <cstdint>

#include "oracle/speed/placement.h"

namespace draftproof::oracle::speed {

/// Time of drafting one token over the time of one verify, both measured.
struct MeasuredRho {
  double value = 0;
};
/// Layers of the draft over layers of the target: no time was measured.
struct LayerRho {
  double value = 0;
};

/// Preconditions: draft_length >= 1, verify_seconds > 0, draft_seconds >= 0.
MeasuredRho measured_rho(double draft_seconds, std::int64_t draft_length, double verify_seconds);
/// Preconditions: draft_layers >= 0, target_layers >= 1.
LayerRho layer_rho(std::int64_t draft_layers, std::int64_t target_layers);

/// How the drafter spends time: one pass a token, or one pass for the whole draft (Medusa heads,
/// DFlash), whose cost does not grow with the draft.
enum class DraftPasses { kOnePerToken, kOne };

/// Draft time of a step in verifies: rho D, or rho.
double draft_overhead(double rho, std::int64_t draft_length, DraftPasses passes);

/// AL / (1 + rho D); with one pass AL / (1 + rho). `accepted_length` includes the bonus or
/// recovered token. Preconditions: accepted_length > 0, rho >= 0, draft_length >= 0.
double flat_speed(double accepted_length, MeasuredRho rho, std::int64_t draft_length,
                  DraftPasses passes = DraftPasses::kOnePerToken);
/// The same formula fed with an estimate: what it gives is one too.
double flat_speed_estimate(double accepted_length, LayerRho rho, std::int64_t draft_length,
                           DraftPasses passes = DraftPasses::kOnePerToken);

/// E[committed] T_decode / T_step. Preconditions: every time >= 0, the step's time > 0.
double step_speed(double committed, double decode_time, const StepTerms& terms,
                  Placement placement);

}  // namespace draftproof::oracle::speed
