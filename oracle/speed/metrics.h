// Metrics: what a trace says about a cohort, each with its unit, its definition and the field it
// comes from, or "not reported". The headline is committed tokens per target call and the ratio of
// inter-token latencies; a rate never stands for a speed.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "oracle/speed/trace.h"

namespace draftproof::oracle::speed {

struct Metric {
  std::string id;
  std::string unit;
  std::string definition;
  std::string field;  ///< of the trace, or what must be given for it
  /// Label and value: one entry with an empty label for a single number; none: not reported.
  std::vector<std::pair<std::string, double>> values;

  bool is_reported() const { return !values.empty(); }
};

/// The two numbers to quote.
struct Headline {
  std::optional<double> committed_per_call;  ///< all iterations of the speculative arm
  /// Time per token of the baseline over time per token with speculation: above 1 is quicker.
  std::optional<double> itl_ratio;
};
Headline headline_of(const Cohort& cohort);

/// Every metric, reported or not, in a fixed order: the same ids for every trace.
std::vector<Metric> metrics_of(const Cohort& cohort);

}  // namespace draftproof::oracle::speed
