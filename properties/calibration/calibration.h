// Calibration: whether the judge's own error rates are what it states. Every check holds the
// shipped oracle to a sentence about chance, exactly where that can be computed and by simulation
// with a stated error where not, and holds something wrong on purpose to the same sentence, which
// must fall: a check that its control passes says nothing. Pure functions of a seed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "oracle/verdict.h"
#include "properties/property.h"

namespace draftproof::properties::calibration {

/// Every comparison with simulated frequencies errs with at most this probability, exactly.
inline constexpr double kMiss = 1e-6;

struct Settings {
  Battery battery = Battery::kStandard;
  std::uint64_t seed = 1;
  /// True when time is up: what a check could not finish is inconclusive.
  std::function<bool()> stopped = [] { return false; };

  /// By battery.
  std::uint64_t sized(std::uint64_t smoke, std::uint64_t standard, std::uint64_t deep) const {
    return battery == Battery::kSmoke ? smoke : battery == Battery::kStandard ? standard : deep;
  }
};

struct Finding {
  std::uint64_t runs = 0;  ///< simulated runs, or cases enumerated
  std::string seen;        ///< of the shipped oracle, one line
  std::string control;     ///< of the one that is wrong on purpose
  bool holds = false, control_falls = false, is_complete = true;
};

/// Violated: the sentence is false. Inconclusive: stopped, or the control did not fall.
oracle::VerdictKind verdict_of(const Finding& finding);

struct Calibration {
  std::string id;
  std::string statement;  ///< one sentence with its numbers
  std::string method;     ///< "exact" or "simulated"
  std::function<Finding(const Settings&)> run;
};

/// In the order in which a reader understands them.
const std::vector<Calibration>& calibrations();

}  // namespace draftproof::properties::calibration
