#include "oracle/speed/step_speed.h"

#include "reference/error.h"

namespace draftproof::oracle::speed {

MeasuredRho measured_rho(double draft_seconds, std::int64_t draft_length, double verify_seconds) {
  DRAFTPROOF_CHECK(draft_length >= 1 && draft_seconds >= 0 && verify_seconds > 0);
  return {draft_seconds / static_cast<double>(draft_length) / verify_seconds};
}

LayerRho layer_rho(std::int64_t draft_layers, std::int64_t target_layers) {
  DRAFTPROOF_CHECK(draft_layers >= 0 && target_layers >= 1);
  return {static_cast<double>(draft_layers) / static_cast<double>(target_layers)};
}

double draft_overhead(double rho, std::int64_t draft_length, DraftPasses passes) {
  DRAFTPROOF_CHECK(rho >= 0 && draft_length >= 0);
  if (draft_length == 0) return 0;
  return passes == DraftPasses::kOne ? rho : rho * static_cast<double>(draft_length);
}

double flat_speed(double accepted_length, MeasuredRho rho, std::int64_t draft_length,
                  DraftPasses passes) {
  DRAFTPROOF_CHECK(accepted_length > 0, std::to_string(accepted_length));
  return accepted_length / (1 + draft_overhead(rho.value, draft_length, passes));
}

double flat_speed_estimate(double accepted_length, LayerRho rho, std::int64_t draft_length,
                           DraftPasses passes) {
  return flat_speed(accepted_length, MeasuredRho{rho.value}, draft_length, passes);
}

double step_speed(double committed, double decode_time, const StepTerms& terms,
                  Placement placement) {
  const double time = step_time(terms, placement);
  DRAFTPROOF_CHECK(committed >= 0 && decode_time >= 0 && time > 0);
  return committed * decode_time / time;
}

}  // namespace draftproof::oracle::speed
