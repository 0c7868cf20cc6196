// Hidden share: how large an anomaly may be that random coins have not met. A certificate probes
// the edges of every decision; what lies between them is only sampled, so its assumption has a
// size. The size is the upper Clopper-Pearson bound at no hits (Clopper, Pearson 1934).
#pragma once

#include <cstdint>
#include <string>

namespace draftproof::oracle {

/// The least share s such that, had wrong decisions covered a share of at least s of the probed
/// intervals, averaged over the probes, independent random coins would have met one with
/// probability at least 1 - miss_probability. 1 for no probes: nothing is supported. Shares that
/// differ between intervals are covered by their mean: the product of (1 - s_i) is at most
/// (1 - mean)^probes. Precondition: 0 < miss_probability < 1.
double hidden_share(std::uint64_t probes, double miss_probability);

/// "one threshold per decision, supported by N random coins inside the intervals: ..." with the
/// share, rounded up.
std::string threshold_assumption(std::uint64_t interior_probes, double miss_probability);

}  // namespace draftproof::oracle
