// Numbers here are integers of 512 bits in units of 2^-149, fp32's least step, so sums of fp32
// numbers are exact.
//
// Bound. Let u = 2^-24 and g(n) = n u / (1 - n u), the growth of n roundings (Higham 2002, lemma
// 3.1). Sums of non-negative numbers are relatively accurate: with every mass on a path of at most
// n roundings, subtraction included, the computed sum lies in [s (1 - g(n)), s (1 + g(n))],
// whatever the order. n u <= 2^-10 here, so g(n) <= n u (1 + 2^-9); it is rounded up to units of
// 2^-40.
//   Flushing adds an absolute part: a subnormal operand or result counts as 0, each less than
// 2^-126. A mass has two operands and a result, and V masses are added by at most 2 V additions, so
// the part is below 5 V 2^-126; the product with the coin adds one. Without flushing only that
// product can be subnormal and inexact, by less than one unit.
//   The kernel picks t only if the sum up to t may exceed the threshold (or t is the last token
// with mass, which satisfies that anyhow)
// and the sum up to the token with mass before t may fail to.
#include "oracle/pick_band.h"

#include <bit>
#include <string>

#include "reference/error.h"
#include "reference/scalar.h"

namespace draftproof::oracle {
namespace {

namespace mp = boost::multiprecision;
using Wide = mp::number<mp::cpp_int_backend<512, 512, mp::unsigned_magnitude, mp::unchecked, void>,
                        mp::et_off>;

constexpr int kMantissaBits = 23;
constexpr int kCoinBits = 56;  // a coin is a multiple of 2^-56: at least 2^-33, 24 bits long
constexpr int kGrowthBits = 40;
constexpr std::int64_t kDepthMax = std::int64_t{1} << 14;

/// value / 2^-149, value finite and >= 0.
Wide units(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t exponent = (bits >> kMantissaBits) & 0xff;
  const std::uint32_t fraction = bits & 0x7fffff;
  DRAFTPROOF_CHECK(exponent != 0xff && ((bits >> 31) == 0 || (bits << 1) == 0),
                   std::to_string(value));
  if (exponent == 0) return Wide(fraction);
  return Wide(fraction | (1u << kMantissaBits)) << (exponent - 1);
}

Wide mass_units(float target, float draft) { return units(target) - units(draft); }

/// g(depth) in units of 2^-40, rounded up.
std::uint64_t growth(std::int64_t depth) {
  DRAFTPROOF_CHECK(depth >= 0 && depth <= kDepthMax, std::to_string(depth));
  const std::uint64_t scaled = static_cast<std::uint64_t>(depth) << (kGrowthBits - 24);
  return scaled + (scaled >> 9) + 1;
}

float draft_at(std::span<const float> draft, std::size_t token) {
  return draft.empty() ? 0.0f : draft[token];
}

bool has_mass(std::span<const float> target, std::span<const float> draft, std::size_t token) {
  return target[token] > draft_at(draft, token);
}

/// What cumulative masses are compared with: exactly, and at both ends of the band.
struct Thresholds {
  Wide exact;  ///< the least cumulative mass that is picked
  Wide low;    ///< a sum below it cannot exceed the kernel's threshold
  Wide high;   ///< a sum above it cannot fail to
};

Thresholds thresholds(const Wide& total, float coin, PickRule rule, const PickRounding& rounding,
                      const Wide& slack) {
  const Wide coin_units = units(coin) >> (149 - kCoinBits);
  const Wide one = Wide(1) << kGrowthBits;
  const Wide threshold = coin_units * total;  // in units of 2^-149 2^-56
  const Wide above = one + growth(rounding.threshold_depth);
  const Wide below = one - growth(rounding.threshold_depth);
  const Wide margin = slack << (kCoinBits + kGrowthBits);
  Thresholds result;
  const Wide unit = Wide(1) << kCoinBits;
  result.exact = rule == PickRule::kGreater ? threshold / unit + 1 : (threshold + unit - 1) / unit;
  const Wide lower = threshold * below;
  const Wide sum_above = (one + growth(rounding.cumulative_depth)) << kCoinBits;
  const Wide sum_below = (one - growth(rounding.cumulative_depth)) << kCoinBits;
  result.low = lower > margin ? Wide((lower - margin) / sum_above) : Wide(0);
  result.high = (threshold * above + margin) / sum_below + 1;
  return result;
}

}  // namespace

PickBand pick_band(std::span<const float> target, std::span<const float> draft, float coin,
                   PickRule rule, const PickRounding& rounding) {
  DRAFTPROOF_CHECK(draft.empty() || draft.size() == target.size());
  DRAFTPROOF_CHECK(coin >= 0x1p-33f && coin <= 1.0f, std::to_string(coin));
  PickBand band;
  Wide total = 0;
  for (std::size_t token = 0; token < target.size(); ++token)
    if (has_mass(target, draft, token)) total += mass_units(target[token], draft_at(draft, token));
  band.has_mass = total > 0;
  // Twice: the sum and the threshold may both be off by the absolute part.
  const Wide flushed = Wide(5 * target.size() + 2) << kMantissaBits;
  band.may_vanish = rounding.flushes_subnormals ? total <= flushed : total == 0;
  if (!band.has_mass) return band;
  const Wide slack = rounding.flushes_subnormals ? Wide(2 * flushed) : Wide(2);
  const Thresholds limits = thresholds(total, coin, rule, rounding, slack);
  Wide sum = 0;
  bool is_exact_known = false;
  for (std::size_t token = 0; token < target.size() && sum <= limits.high; ++token) {
    if (!has_mass(target, draft, token)) continue;
    sum += mass_units(target[token], draft_at(draft, token));
    const auto id = static_cast<reference::Token>(token);
    if (!is_exact_known && sum >= limits.exact) {
      band.exact = id;
      is_exact_known = true;
    }
    if (sum < limits.low) continue;
    if (band.candidates++ == 0) band.first = id;
    band.last = id;
    // At coin 1 with "greater" no sum exceeds the total: the last token with mass is the draw.
    if (!is_exact_known) band.exact = id;
  }
  DRAFTPROOF_CHECK(band.candidates > 0);
  return band;
}

bool is_candidate(const PickBand& band, std::span<const float> target, std::span<const float> draft,
                  reference::Token token) {
  return band.has_mass && token >= band.first && token <= band.last &&
         has_mass(target, draft, static_cast<std::size_t>(token));
}

}  // namespace draftproof::oracle
