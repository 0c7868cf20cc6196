// Pick band: which tokens an inverse-CDF draw in fp32 may return. The exact answer is the first
// token whose cumulative mass exceeds coin x total; masses are max(target - draft, 0) (Leviathan et
// al. 2023, section 2.3). A kernel compares rounded sums, so near a breakpoint it may go either
// way. The band is a bound, not a tolerance: outside it every correct order of summation gives one
// token.
#pragma once

#include <cstdint>
#include <span>

#include "reference/token.h"

namespace draftproof::oracle {

enum class PickRule : std::uint8_t { kGreater, kGreaterOrEqual };

/// How fp32 arithmetic may move what is compared. Depths count roundings on the longest path from
/// a mass to the number; at most 2^14.
struct PickRounding {
  std::int64_t threshold_depth = 0;   ///< of coin * total
  std::int64_t cumulative_depth = 0;  ///< of a cumulative mass
  bool flushes_subnormals = false;
};

struct PickBand {
  bool has_mass = false;       ///< some token has positive mass, exactly
  bool may_vanish = false;     ///< in fp32 there may be no mass at all
  reference::Token exact = 0;  ///< valid when has_mass
  reference::Token first = 0;  ///< the least and the greatest token that fp32 may pick
  reference::Token last = 0;
  int candidates = 0;  ///< tokens of positive mass in [first, last]
};

/// Rows are finite and not negative; `draft` may be empty (the bonus draw). 0 < coin <= 1.
PickBand pick_band(std::span<const float> target, std::span<const float> draft, float coin,
                   PickRule rule, const PickRounding& rounding);

/// True when `token` is one of the band's candidates.
bool is_candidate(const PickBand& band, std::span<const float> target, std::span<const float> draft,
                  reference::Token token);

}  // namespace draftproof::oracle
