// Masses against 2^x in multiprecision: 50 decimal digits, independent of every fp32 operation.
#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <random>

#include "reference/mass.h"
#include "reference/shaping.h"

namespace draftproof::reference {
namespace {

using Precise = boost::multiprecision::cpp_bin_float_50;

/// Relative error of one mass, beyond what its own unit allows: the floor may take up to one unit.
double excess_error(Mass mass, float logit, float max_logit, float scale, int bits) {
  const Precise exponent = Precise(logit) * Precise(scale);  // 48 bits: exact
  const Precise whole = floor(Precise(max_logit) * Precise(scale));
  const Precise true_weight = exp2(Precise(exponent - whole + bits));
  const Precise error = abs(Precise(mass) - true_weight);
  return static_cast<double>((error > 1 ? error - 1 : Precise(0)) / true_weight);
}

double largest_error(int count, double factor) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> maximum(-40, 40);
  std::uniform_real_distribution<float> fall(0, 34);
  double largest = 0;
  for (int i = 0; i < count; ++i) {
    const float scale = scale_of(std::vector<double>{0.01, 0.3, 0.7, 1.0, 1.7, 100.0}[i % 6]);
    const int bits = 44 - i % 3;
    const float max_logit = maximum(random);
    const float logit = i % 8 == 0 ? max_logit : max_logit - fall(random) / (1.4427F * scale);
    const Mass mass = mass_of(logit, max_logit, scale, bits);
    const auto changed = static_cast<Mass>(static_cast<double>(mass) * factor);
    largest = std::max(largest,
                       excess_error(factor == 1 ? mass : changed, logit, max_logit, scale, bits));
  }
  return largest;
}

// 1.56e-7: measured over all fractions f of the contract's polynomial (numerics contract,
// section 1). One unit of the last of its 24 bits is 1.2e-7, and half of it is rounding.
constexpr double kBound = 1.56e-7;

TEST(MassAgainstMultiprecision, StaysWithinTheStatedRelativeError) {
  const double error = largest_error(20000, 1.0);
  EXPECT_LE(error, kBound);
  EXPECT_GT(error, kBound / 4) << "the sample does not reach where the error is";
}

TEST(MassAgainstMultiprecision, SeesAnErrorOfOnePartInFiveMillion) {
  EXPECT_GT(largest_error(20000, 1 + 2e-7), kBound);
}

// A grid of 2^18 fractions between 0 and 1, in 80-bit
// arithmetic (2^-63), many orders of magnitude below the bound.
TEST(MassAgainstMultiprecision, HoldsAllAlongTheFraction) {
  long double largest = 0;
  for (int i = 1; i <= 1 << 18; ++i) {
    const float logit = -static_cast<float>(i) / (1 << 18);
    const long double truth = std::exp2l(static_cast<long double>(logit) + 44);
    const long double error = std::fabs(static_cast<long double>(mass_of(logit, 0, 1, 44)) - truth);
    largest = std::max(largest, (error - 1) / truth);
  }
  EXPECT_LE(largest, kBound);
  EXPECT_GT(largest, kBound / 2);
}

}  // namespace
}  // namespace draftproof::reference
