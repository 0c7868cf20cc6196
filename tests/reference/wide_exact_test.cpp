// Numbers below 2^192 against integers of unbounded size.
#include <gtest/gtest.h>

#include <random>

#include "reference/error.h"
#include "reference/verify/wide.h"
#include "tests/reference/big_integers.h"

namespace draftproof::reference::verify {
namespace {

std::uint64_t word(std::mt19937_64& random) {
  switch (random() % 4) {
    case 0:
      return 0;
    case 1:
      return ~std::uint64_t{0};
    default:
      return random() >> (random() % 64);
  }
}

WideMass wide_mass(std::mt19937_64& random) {
  return static_cast<WideMass>(word(random)) << 64 | word(random);
}

TEST(Wide, ComputesAsUnboundedIntegersDo) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t factor = word(random) >> 1;
    const WideMass first = wide_mass(random), second = wide_mass(random);
    const Wide a = Wide::product(factor, first), b = Wide::product(word(random) >> 1, second);
    const std::uint64_t coin = word(random);
    ASSERT_EQ(big(a), big(first) * factor);
    ASSERT_EQ(big(Wide(first)), big(first));
    ASSERT_EQ(big(a + b), big(a) + big(b));
    Wide twice = a;
    ASSERT_EQ(big(twice += twice), 2 * big(a));
    ASSERT_EQ(a < b, big(a) < big(b));
    ASSERT_EQ(a == b, big(a) == big(b));
    ASSERT_EQ(big(b <= a ? a - b : b - a), abs(big(a) - big(b)));
    ASSERT_EQ(big(scaled(coin, a)), big(a) * coin >> 64);
    const int bits = a == Wide() ? 0 : static_cast<int>(msb(big(a))) + 1;
    ASSERT_EQ(a.bits(), bits);
    const int shift = std::min(191, std::max(0, bits - 64) + static_cast<int>(random() % 64));
    ASSERT_EQ(BigInteger(a.word_above(shift)), big(a) >> shift);
  }
}

TEST(Wide, RefusesWhatDoesNotFit) {
  const Wide largest = Wide::product(~std::uint64_t{0}, ~WideMass{0});
  EXPECT_THROW(largest + largest, BrokenInvariant);
  EXPECT_THROW(Wide(1) - Wide(2), BrokenInvariant);
  EXPECT_THROW(Wide(WideMass{1} << 64).word_above(0), BrokenInvariant);
  // largest = 2^192 - 2^128 - 2^64 + 1: what is missing to 2^192 - 1 still fits, one more does not.
  const Wide missing = Wide(~WideMass{0}) + Wide((WideMass{1} << 64) - 1);
  EXPECT_EQ(big(largest + missing), (BigInteger(1) << 192) - 1);
  EXPECT_THROW(largest + missing + Wide(1), BrokenInvariant);
}

}  // namespace
}  // namespace draftproof::reference::verify
