// Busy clock: runs while at least one request is in flight. The arms of an audit take turns, so
// that a rate over the wall clock would charge each with the time of the other.
#pragma once

#include <utility>
#include <vector>

namespace draftproof::tools::audit {

class BusyClock {
 public:
  /// Of requests from `first` (due) to `second` (ended), seconds of one clock, in any order; those
  /// that end before they begin are left out.
  explicit BusyClock(std::vector<std::pair<double, double>> requests);
  double total() const { return total_; }
  /// Busy seconds before `time`.
  double at(double time) const;

 private:
  struct Stretch {
    double begin, end, before;  ///< busy seconds before it
  };
  std::vector<Stretch> stretches_;  ///< apart, in order
  double total_ = 0;
};

}  // namespace draftproof::tools::audit
