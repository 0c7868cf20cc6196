// Comparisons with entropies.
#include "reference/law/perplexity.h"

#include "reference/error.h"

namespace draftproof::reference::law {
namespace {

using boost::multiprecision::denominator;
using boost::multiprecision::numerator;
using boost::multiprecision::pow;

constexpr int kDenominatorMax = 4096;

/// n: the least number that makes n x row integers.
unsigned common_denominator(const LawRow& row) {
  BigInteger common = 1;
  for (const Exact& probability : row) {
    common = lcm(common, denominator(probability));
    if (common > kDenominatorMax)
      throw Error(ErrorKind::kInput,
                  "entropies are compared exactly for rows with a common denominator up to " +
                      std::to_string(kDenominatorMax) + "; take simpler fractions");
  }
  return common.convert_to<unsigned>();
}

/// (e^{-H})^n = product of p_k^{n_k}.
Exact power_of_inverse_perplexity(const LawRow& row, unsigned n) {
  BigInteger product = 1;
  for (const Exact& probability : row) {
    const auto count = Exact(probability * n).convert_to<BigInteger>();
    if (count > 0) product *= pow(count, count.convert_to<unsigned>());
  }
  return Exact(product, pow(BigInteger(n), n));
}

Exact power(const Exact& base, unsigned exponent) {
  return Exact(pow(numerator(base), exponent), pow(denominator(base), exponent));
}

}  // namespace

bool entropy_is_at_least(const LawRow& row, const Exact& nats) {
  if (nats == 0) return true;
  const unsigned n = common_denominator(row);
  const Exact perplexity_power = 1 / power_of_inverse_perplexity(row, n);
  // e^x lies between its Taylor sum S_m and S_m + t / (1 - x / (m + 2)), t the next term.
  Exact sum = 1;
  Exact term = 1;
  for (int m = 1;; ++m) {
    term *= nats / m;
    sum += term;
    const Exact rest_ratio = nats / (m + 2);
    if (rest_ratio >= 1) continue;
    if (perplexity_power <= power(sum, n)) return false;
    const Exact next = term * nats / (m + 1);
    if (perplexity_power >= power(Exact(sum + next / (1 - rest_ratio)), n)) return true;
  }
}

}  // namespace draftproof::reference::law
