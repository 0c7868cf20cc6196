// Masses: single values that can be checked by hand, wide integers, monotonicity.
#include "reference/mass.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "reference/scalar.h"
#include "reference/shaping.h"

namespace draftproof::reference {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Mass, UsesAsManyFractionBitsAsTheVocabularyLeaves) {
  EXPECT_EQ(fraction_bits(1), 44);
  EXPECT_EQ(fraction_bits(128256), 44);
  EXPECT_EQ(fraction_bits(1 << 18), 44);
  EXPECT_EQ(fraction_bits((1 << 18) + 1), 43);
  EXPECT_EQ(fraction_bits(1 << 19), 43);
  EXPECT_EQ(fraction_bits(1 << 20), 42);
}

TEST(Mass, OfWholeExponentsIsAPowerOfTwo) {
  EXPECT_EQ(mass_of(0, 0, 1, 44), Mass{1} << 44);
  EXPECT_EQ(mass_of(-3, 0, 1, 44), Mass{1} << 41);
  EXPECT_EQ(mass_of(-44, 0, 1, 44), 1U);
  EXPECT_EQ(mass_of(-45, 0, 1, 44), 0U);
  EXPECT_EQ(mass_of(7, 7, 1, 44), Mass{1} << 44);
  EXPECT_EQ(mass_of(5, 7, 1, 42), Mass{1} << 40);
}

TEST(Mass, ScalesWithTheFractionOfTheMaximumToo) {
  // max = 0.5: floor(0.5) = 0, so that the maximum itself weighs h(1/2) 2^44 with h(1/2) ~ sqrt 2.
  const double weight = static_cast<double>(mass_of(0.5F, 0.5F, 1, 44));
  EXPECT_NEAR(weight / std::ldexp(1.0, 44), std::sqrt(2.0), 3e-7);
  EXPECT_EQ(mass_of(0, 0.5F, 1, 44), Mass{1} << 44);
}

// Computed by a separate program in exact fractions, which rounds to 24 bits after each fused step.
TEST(Mass, MatchesALiteralTableBitForBit) {
  struct Entry {
    float logit, max_logit, scale;
    int bits;
    Mass mass;
  };
  const Entry table[] = {
      {0x1.d7f148p+2F, 0x1.d7f148p+2F, 0x1.715476p+0F, 44, 0x18e8a2a00000},
      {0x1.f4f74ap+2F, 0x1.d03b24p+3F, 0x1.07ce9ep+1F, 43, 0x46296e80},
      {0x1.a1a634p+4F, 0x1.a8c094p+4F, 0x1.cda994p+4F, 42, 0x48489600},
      {0x1.84b99ap+4F, 0x1.956e98p+4F, 0x1.ec709ep-2F, 44, 0xcd953200000},
      {-0x1.708a7cp+1F, -0x1.08049cp+1F, 0x1.000000p+0F, 43, 0x8b2d3c00000},
      {-0x1.df513ap+0F, 0x1.1e07f8p+3F, 0x1.715476p+0F, 42, 0x9d74700},
      {-0x1.735280p+4F, -0x1.735280p+4F, 0x1.07ce9ep+1F, 44, 0x11fdbae00000},
      {-0x1.007c8cp+1F, -0x1.db1974p+0F, 0x1.cda994p+4F, 43, 0x9143730000},
      {0x1.97b1d8p+0F, 0x1.50155ap+1F, 0x1.ec709ep-2F, 42, 0x36698580000},
      {-0x1.07b8d4p+5F, -0x1.d3690ep+4F, 0x1.000000p+0F, 44, 0x20c7ba00000},
      {-0x1.83a2a0p+4F, -0x1.a764d4p+3F, 0x1.715476p+0F, 43, 0x10893460},
      {0x1.d34a90p+3F, 0x1.fe3160p+3F, 0x1.07ce9ep+1F, 42, 0x111af7a0000},
      {0x1.1d42d8p+4F, 0x1.1d42d8p+4F, 0x1.cda994p+4F, 44, 0x159209600000},
      {-0x1.5f37ccp+5F, -0x1.5ac884p+4F, 0x1.ec709ep-2F, 43, 0x1d9960e00},
      {-0x1.66dc42p+4F, -0x1.665e66p+4F, 0x1.000000p+0F, 42, 0x5f171d80000},
      {0x1.3c553ap+4F, 0x1.648c6ep+4F, 0x1.715476p+0F, 44, 0x16feb540000},
      {-0x1.17bd6ep+4F, -0x1.11235ap+4F, 0x1.07ce9ep+1F, 43, 0x7d077080000},
      {0x1.62bbeep+4F, 0x1.6582eep+4F, 0x1.cda994p+4F, 42, 0x349430c000},
      {0x1.bb04d4p+4F, 0x1.bb04d4p+4F, 0x1.ec709ep-2F, 44, 0x13e906a00000},
      {-0x1.2c34a0p+3F, 0x1.2d3c7ap+1F, 0x1.000000p+0F, 43, 0xc486a500},
      {-0x1.2471ecp+4F, -0x1.1b6962p+4F, 0x1.715476p+0F, 42, 0x318bb800000},
      {0x1.a8e154p+1F, 0x1.6e0854p+3F, 0x1.07ce9ep+1F, 44, 0xe551a40},
      {0x1.771fa6p+4F, 0x1.79fdf4p+4F, 0x1.cda994p+4F, 43, 0x59a6a60000},
      {-0x1.c9b25ap+3F, -0x1.0a83ecp+3F, 0x1.ec709ep-2F, 42, 0x11688420000},
      // One for each step that could be rounded twice, with a last bit that would then change.
      {-0x1.de83e4p+1F, -0x1.c58066p+1F, 0x1.715476p+0F, 44, 0x185cf7a00000},
      {-0x1.231354p+2F, -0x1.e7a758p+1F, 0x1.715476p+0F, 44, 0xad786000000},
      {-0x1.156a40p+2F, -0x1.f033bap+0F, 0x1.1c1996p+0F, 44, 0x48fd1680000},
      {-0x1.cff4c8p+1F, -0x1.63bd3ap+0F, 0x1.1c1996p+0F, 44, 0x3f023d80000},
      {0x1.5d6422p+1F, 0x1.ed12c0p+1F, 0x1.715476p+0F, 44, 0x7a9dc500000},
      {0x1.bdf6a8p+1F, 0x1.03c8d2p+2F, 0x1.1c1996p+0F, 44, 0xe960ad00000},
  };
  for (const Entry& entry : table)
    EXPECT_EQ(mass_of(entry.logit, entry.max_logit, entry.scale, entry.bits), entry.mass)
        << entry.logit << " below " << entry.max_logit;
}

TEST(Mass, OfMinusInfinityAndOfFiniteMasksIsZero) {
  for (float scale : {0.0F, 1e-30F, 1.0F, 1e6F}) EXPECT_EQ(mass_of(-kInfinity, 0, scale, 44), 0U);
  for (float mask : {-1e30F, -std::numeric_limits<float>::max()})
    EXPECT_EQ(mass_of(mask, 3, scale_of(1.0), 44), 0U);
  // A mask is an ordinary logit, and at an absurd temperature it shows.
  EXPECT_GT(mass_of(-1e30F, 0, scale_of(1e30), 44), 0U);
}

TEST(Mass, AtScaleZeroIsTheSameForEveryFiniteLogit) {
  for (float logit : {-1e30F, -1.0F, 0.0F, 5.0F})
    EXPECT_EQ(mass_of(logit, 5, 0, 44), Mass{1} << 44);
}

TEST(Mass, OfBothZerosIsEqualAndDenormalsAreNotFlushed) {
  const float scale = scale_of(1.0);
  EXPECT_EQ(mass_of(-0.0F, 0.0F, scale, 44), mass_of(0.0F, 0.0F, scale, 44));
  EXPECT_EQ(mass_of(0.0F, -0.0F, scale, 44), mass_of(0.0F, 0.0F, scale, 44));
  // floor(-1e-40 a) = -1 with fraction 1 after rounding: h(1) 2^43, just below or at 2^44.
  const Mass below = mass_of(-1e-40F, 0, scale, 44);
  EXPECT_LE(below, Mass{1} << 44);
  EXPECT_GT(below, (Mass{1} << 44) - (Mass{1} << 24));
  // As the maximum, the same number counts from its own floor: [2^44, 2^45].
  EXPECT_EQ(mass_of(-1e-40F, -1e-40F, scale, 44), 2 * below);
  EXPECT_EQ(mass_of(1e-40F, 1e-40F, scale, 44), Mass{1} << 44);
}

TEST(Mass, VanishesWhereTheContractSaysSo) {
  for (double temperature : {0.2, 1.0, 7.0}) {
    const float scale = scale_of(temperature);
    std::mt19937 random(11);
    std::uniform_real_distribution<float> maximum(-50, 50);
    for (int i = 0; i < 2000; ++i) {
      const float max_logit = maximum(random);
      EXPECT_GE(mass_of(max_logit - 30.49F * static_cast<float>(temperature), max_logit, scale, 44),
                1U);
      EXPECT_EQ(mass_of(max_logit - 31.21F * static_cast<float>(temperature), max_logit, scale, 44),
                0U);
    }
  }
}

TEST(Mass, RangeIsTwoToThe21) {
  EXPECT_TRUE(in_range(2097152.0F, 1));
  EXPECT_TRUE(in_range(-2097152.0F, 1));
  EXPECT_FALSE(in_range(std::nextafter(2097152.0F, kInfinity), 1));
  EXPECT_FALSE(in_range(0, kInfinity));
  EXPECT_FALSE(in_range(1, kInfinity));
  EXPECT_TRUE(in_range(20, scale_of(1.4e-5)));
  EXPECT_FALSE(in_range(20, scale_of(1.3e-5)));
}

TEST(WideIntegers, ScaledIsTheFloorOfTheProduct) {
  std::mt19937_64 random(3);
  const auto wide = [](WideMass x) {
    return (BigInteger(static_cast<std::uint64_t>(x >> 64)) << 64) + static_cast<std::uint64_t>(x);
  };
  for (int i = 0; i < 20000; ++i) {
    const WideMass x = (static_cast<WideMass>(random()) << 64 | random()) >> (1 + random() % 127);
    const std::uint64_t coin = i % 5 == 0 ? ~std::uint64_t{0} : random() >> random() % 64;
    EXPECT_EQ(wide(scaled(coin, x)), (wide(x) * coin) >> 64);
  }
}

TEST(WideIntegers, CeilProductIsExact) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 20000; ++i) {
    const double factor = std::ldexp(static_cast<double>((random() >> 11) + 1), -53 - i % 90);
    const Mass x = random() >> (1 + random() % 63);
    const Exact product = exact_from_double(factor) * BigInteger(x);
    const BigInteger whole = numerator(product) / denominator(product);
    EXPECT_EQ(BigInteger(ceil_product(factor, x)), whole + (Exact(whole) < product ? 1 : 0));
  }
  EXPECT_EQ(ceil_product(1.0, 12345), 12345U);
  EXPECT_EQ(ceil_product(0.5, 5), 3U);
  EXPECT_EQ(ceil_product(1e-300, (Mass{1} << 63) - 1), 1U);
  EXPECT_EQ(ceil_product(std::numeric_limits<double>::denorm_min(), 1), 1U);
  EXPECT_EQ(ceil_product(1e-300, 0), 0U);
}

using MassFunction = std::function<Mass(float logit, float max_logit, float scale)>;

/// How often a mass falls while its logit rises: over the numbers around every carry of the
/// exponent (where the fraction falls from 1 to 0), and over random stretches.
int count_dips(const MassFunction& mass) {
  int dips = 0;
  const auto sweep = [&](float from, int count, float max_logit, float scale) {
    Mass before = 0;
    for (float z = from; count-- > 0 && z <= max_logit; z = std::nextafter(z, kInfinity)) {
      const Mass now = mass(z, max_logit, scale);
      if (now < before) ++dips;
      before = now;
    }
  };
  std::mt19937 random(5);
  for (double temperature : {0.05, 0.7, 1.0, 1.3, 3.0}) {
    const float scale = scale_of(temperature);
    for (float max_logit : {-2.25F, 0.0F, 17.3F}) {
      for (int whole = -45; whole <= 0; ++whole) {
        const float carry = (std::floor(max_logit * scale) + static_cast<float>(whole)) / scale;
        float from = carry;
        for (int step = 0; step < 300; ++step) from = std::nextafter(from, -kInfinity);
        sweep(from, 600, max_logit, scale);
      }
      std::uniform_real_distribution<float> start(max_logit - 30 / scale, max_logit);
      for (int i = 0; i < 30; ++i) sweep(start(random), 1000, max_logit, scale);
    }
  }
  return dips;
}

TEST(Mass, NeverFallsWhileTheLogitRises) {
  EXPECT_EQ(count_dips([](float z, float m, float a) { return mass_of(z, m, a, 44); }), 0);
}

TEST(Mass, SweepSeesAFunctionWhoseCarryDips) {
  // The same split with 2^f too large by one part in 10^6 at f = 1: every carry then dips.
  const auto dipping = [](float z, float m, float a) {
    const double exponent = static_cast<double>(z) * a;
    const double fraction = exponent - std::floor(exponent);
    const double weight = std::exp2(fraction) * (1 + 1e-6 * fraction);
    return static_cast<Mass>(std::ldexp(
        weight,
        44 + static_cast<int>(std::floor(exponent) - std::floor(static_cast<double>(m) * a))));
  };
  EXPECT_GT(count_dips(dipping), 100);
}

}  // namespace
}  // namespace draftproof::reference
