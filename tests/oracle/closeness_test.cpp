// Closeness where it must say no: NaN, infinities, one step too far, a zero of the other sign.
#include "oracle/closeness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace draftproof::oracle {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kTiny = std::numeric_limits<float>::denorm_min();
constexpr float kHuge = std::numeric_limits<float>::max();

TEST(UlpDistance, CountsRepresentableSteps) {
  EXPECT_EQ(ulp_distance(1.0f, 1.0f), 0u);
  EXPECT_EQ(ulp_distance(1.0f, std::nextafter(1.0f, 2.0f)), 1u);
  EXPECT_EQ(ulp_distance(-kTiny, kTiny), 2u);
  EXPECT_EQ(ulp_distance(0.0f, -0.0f), 0u);
  EXPECT_EQ(ulp_distance(1.0, std::nextafter(1.0, 0.0)), 1u);
  EXPECT_EQ(ulp_distance(-kHuge, kHuge), 2u * 0x7f7fffffu);
}

TEST(UlpDistance, ANanOrALoneInfinityIsNeverClose) {
  EXPECT_EQ(ulp_distance(kNan, kNan), kNeverClose);
  EXPECT_EQ(ulp_distance(kNan, 1.0f), kNeverClose);
  EXPECT_EQ(ulp_distance(kInfinity, kHuge), kNeverClose);
  EXPECT_EQ(ulp_distance(kInfinity, -kInfinity), kNeverClose);
  EXPECT_EQ(ulp_distance(kInfinity, kInfinity), 0u);
}

TEST(WithinUlp, SaysNoBeyondTheLimitAndToNanAtAnyLimit) {
  const float next = std::nextafter(1.0f, 2.0f);
  EXPECT_TRUE(within_ulp(1.0f, next, 1));
  EXPECT_FALSE(within_ulp(1.0f, next, 0));
  EXPECT_FALSE(within_ulp(kNan, kNan, kNeverClose));
  EXPECT_FALSE(within_ulp(double{kNan}, 1.0, kNeverClose));
  EXPECT_FALSE(within_ulp(kInfinity, kHuge, kNeverClose));
}

TEST(WithinAbsolute, SaysNoBeyondTheToleranceAndToNanAnywhere) {
  EXPECT_TRUE(within_absolute(1.0, 1.25, 0.25));
  EXPECT_FALSE(within_absolute(1.0, 1.25, 0.125));
  EXPECT_FALSE(within_absolute(kNan, kNan, kInfinity));
  EXPECT_FALSE(within_absolute(1.0, 1.0, kNan));
  EXPECT_FALSE(within_absolute(1.0, 1.0, -1.0));
  EXPECT_TRUE(within_absolute(kInfinity, kInfinity, 0.0));
  EXPECT_FALSE(within_absolute(kInfinity, kHuge, 1.0));
}

TEST(SameBits, TellsZerosApartAndLetsNoNanPass) {
  EXPECT_TRUE(same_bits(0.5f, 0.5f));
  EXPECT_FALSE(same_bits(0.0f, -0.0f));
  EXPECT_FALSE(same_bits(kNan, kNan));
  EXPECT_FALSE(same_bits(double{kNan}, double{kNan}));
  EXPECT_FALSE(same_bits(1.0, std::nextafter(1.0, 2.0)));
}

}  // namespace
}  // namespace draftproof::oracle
