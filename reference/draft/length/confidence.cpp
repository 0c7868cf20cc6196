// Confidence.
#include "reference/draft/length/confidence.h"

#include <algorithm>
#include <cmath>

namespace draftproof::reference::draft {

LengthPolicy stop_before_unsure(const Exact& threshold) {
  LengthPolicy policy;
  policy.stops_before = [threshold](const LawRow& row) {
    return *std::max_element(row.begin(), row.end()) < threshold;
  };
  return policy;
}

LengthPolicy stop_before_close_call(const Exact& threshold) {
  LengthPolicy policy;
  policy.stops_before = [threshold](const LawRow& row) {
    LawRow sorted = row;
    std::sort(sorted.rbegin(), sorted.rend());
    const Exact second = sorted.size() > 1 ? sorted[1] : Exact(0);
    return sorted.front() - second < threshold;
  };
  return policy;
}

// Any function of the row will do, so the logarithm may be rounded.
LengthPolicy stop_before_entropy(double threshold) {
  LengthPolicy policy;
  policy.stops_before = [threshold](const LawRow& row) {
    double entropy = 0;
    for (const Exact& probability : row) {
      const auto part = static_cast<double>(probability);
      if (part > 0) entropy -= part * std::log(part);
    }
    return std::sqrt(entropy) > threshold;
  };
  return policy;
}

LengthPolicy stop_behind_unsure(const Exact& threshold) {
  LengthPolicy policy;
  policy.stops_behind = [threshold](const LawRow& row, Token token) {
    return row[static_cast<std::size_t>(token)] < threshold;
  };
  return policy;
}

}  // namespace draftproof::reference::draft
