#include "tools/audit/busy_clock.h"

#include <algorithm>

namespace draftproof::tools::audit {

BusyClock::BusyClock(std::vector<std::pair<double, double>> requests) {
  std::sort(requests.begin(), requests.end());
  for (const auto& [due, ended] : requests) {
    if (!(due < ended)) continue;
    if (stretches_.empty() || stretches_.back().end < due) {
      stretches_.push_back({due, ended, 0});
    } else {
      stretches_.back().end = std::max(stretches_.back().end, ended);
    }
  }
  for (Stretch& each : stretches_) {
    each.before = total_;
    total_ += each.end - each.begin;
  }
}

double BusyClock::at(double time) const {
  const auto behind =
      std::upper_bound(stretches_.begin(), stretches_.end(), time,
                       [](double t, const Stretch& each) { return t < each.begin; });
  if (behind == stretches_.begin()) return 0;
  const Stretch& last = *(behind - 1);
  return last.before + std::min(time, last.end) - last.begin;
}

}  // namespace draftproof::tools::audit
