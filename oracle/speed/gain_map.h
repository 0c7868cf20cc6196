// Gain map: predicted speed over draft length, batch and acceptance, from the costs of a whole
// trace. Costs are taken by rows, B (1 + D), the measure that weight products pay for: a baseline
// step of B is a point at B rows, a verify at B (1 + D). Attention and context are in it only as
// far as they were in the trace, so a map is made per context length.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "oracle/speed/cohort_model.h"
#include "oracle/speed/trace.h"

namespace draftproof::oracle::speed {

struct GainPoint {
  std::int64_t draft_length = 0;
  std::int64_t batch = 1;
  double conditional_acceptance = 0;  ///< constant over positions
  double committed = 1;
  double speed = 1;  ///< above 1 is a gain
  CostKind kind = CostKind::kMeasured;
};

struct GainMap {
  std::vector<GainPoint> points;  ///< by draft length, then batch, then acceptance
  std::string why_not;            ///< why there are none, with the remedy
};

struct GainAxes {
  std::int64_t length_limit = 16;
  std::vector<std::int64_t> batches;  ///< empty: those of the trace
  std::vector<double> acceptances;    ///< each in [0, 1]
};

/// 0, 0.05, ... 1.
std::vector<double> usual_acceptances();

GainMap gain_map(const Trace& trace, const GainAxes& axes);

}  // namespace draftproof::oracle::speed
