// The band against an exact draw in rationals, and against fp32 sums in several orders: all of them
// fall inside, and the band stays narrow.
#include "oracle/pick_band.h"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <random>
#include <vector>

namespace draftproof::oracle {
namespace {

using Rational = boost::multiprecision::cpp_rational;

/// The exact draw in rationals, by its formula; -1 without mass.
int rational_pick(const std::vector<float>& target, const std::vector<float>& draft, float coin,
                  PickRule rule) {
  Rational total = 0;
  int last = -1;
  std::vector<Rational> sums;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const Rational mass = Rational(target[i]) - Rational(draft.empty() ? 0.0f : draft[i]);
    if (mass > 0) {
      total += mass;
      last = static_cast<int>(i);
    }
    sums.push_back(total);
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Rational threshold = Rational(coin) * total;
    const Rational before = i == 0 ? Rational(0) : sums[i - 1];
    if (sums[i] > before &&
        (rule == PickRule::kGreater ? sums[i] > threshold : sums[i] >= threshold))
      return static_cast<int>(i);
  }
  return last;
}

TEST(PickBand, ExactTokenEqualsTheFormulaInRationals) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t vocab_size = 1 + random() % 9;
    std::vector<float> target(vocab_size), draft(vocab_size);
    for (float& value : target) value = std::ldexp(float(random() % 64), -int(random() % 140));
    for (float& value : draft) value = std::ldexp(float(random() % 64), -int(random() % 140));
    if (trial % 3 == 0) draft.clear();
    const float coin = trial % 7 == 0 ? 1.0f : std::ldexp(float(1 + random() % 0xffff), -16);
    const PickRule rule = trial % 2 == 0 ? PickRule::kGreater : PickRule::kGreaterOrEqual;
    const PickBand band = pick_band(target, draft, coin, rule, {});
    const int expected = rational_pick(target, draft, coin, rule);
    EXPECT_EQ(band.has_mass, expected >= 0);
    if (expected >= 0) {
      EXPECT_EQ(band.exact, expected) << "trial " << trial;
      EXPECT_TRUE(is_candidate(band, target, draft, expected));
    }
  }
}

TEST(PickBand, HoldsEveryOrderOfSummation) {
  std::mt19937_64 random(2);
  int moved = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t vocab_size = 200;
    std::vector<float> target(vocab_size);
    for (float& value : target) value = static_cast<float>(random() % 1000 + 1) * 0x1p-18f;
    const float coin = std::ldexp(static_cast<float>(1 + random() % 0xffffff), -24);
    // From the left; and the total from the right, as no kernel would: the bound must hold.
    float total = 0;
    for (std::size_t i = vocab_size; i-- > 0;) total += target[i];
    const float threshold = coin * total;
    float sum = 0;
    int picked = -1;
    for (std::size_t i = 0; i < vocab_size && picked < 0; ++i)
      if ((sum += target[i]) > threshold) picked = static_cast<int>(i);
    if (picked < 0) picked = static_cast<int>(vocab_size) - 1;
    const PickBand band = pick_band(target, {}, coin, PickRule::kGreater, {202, 201, false});
    EXPECT_TRUE(is_candidate(band, target, {}, picked)) << "trial " << trial;
    EXPECT_LE(band.candidates, 3);
    moved += picked != band.exact ? 1 : 0;
    // A pick two breakpoints off is never allowed, so the band is no free pass.
    EXPECT_FALSE(is_candidate(band, target, {}, band.first - 1));
  }
  EXPECT_LT(moved, 10);
}

TEST(PickBand, ABreakpointLeavesBothNeighboursAndNoOther) {
  const std::vector<float> target = {0.25f, 0.0f, 0.25f, 0.5f};
  const PickBand at = pick_band(target, {}, 0.5f, PickRule::kGreater, {4, 4, false});
  EXPECT_EQ(at.exact, 3);
  EXPECT_EQ(at.candidates, 2);
  EXPECT_TRUE(is_candidate(at, target, {}, 2));
  EXPECT_FALSE(is_candidate(at, target, {}, 1)) << "a token without mass is never a candidate";
  EXPECT_FALSE(is_candidate(at, target, {}, 0));
  const float beside = std::nextafter(0.5f, 1.0f);
  EXPECT_EQ(pick_band(target, {}, beside, PickRule::kGreater, {4, 4, false}).candidates, 2);
  EXPECT_EQ(pick_band(target, {}, beside, PickRule::kGreater, {0, 0, false}).candidates, 1)
      << "without rounding the breakpoint is sharp";
  const PickBand off = pick_band(target, {}, 0.500001f, PickRule::kGreater, {4, 4, false});
  EXPECT_EQ(off.candidates, 1);
}

TEST(PickBand, KnowsWhenNothingIsLeft) {
  const std::vector<float> row = {0.5f, 0.5f};
  EXPECT_FALSE(pick_band(row, row, 1.0f, PickRule::kGreater, {}).has_mass);
  const std::vector<float> tiny = {1e-40f, 0.0f};
  EXPECT_FALSE(pick_band(tiny, {}, 0.5f, PickRule::kGreater, {2, 2, false}).may_vanish);
  EXPECT_TRUE(pick_band(tiny, {}, 0.5f, PickRule::kGreater, {2, 2, true}).may_vanish);
}

}  // namespace
}  // namespace draftproof::oracle
