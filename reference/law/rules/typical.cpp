// Typical acceptance without a logarithm: exp(-H) is the product of p_v^p_v, so with N the common
// denominator of the row, p > delta exp(-H) iff (p / delta)^N > product of p_v^(N p_v), in which
// every exponent is an integer.
#include "reference/law/rules/typical.h"

#include "reference/error.h"

namespace draftproof::reference::law::rules {
namespace {

constexpr unsigned kDenominatorMax = 100'000;

BigInteger common_denominator(const LawRow& row) {
  BigInteger common = 1;
  for (const Exact& probability : row) common = lcm(common, denominator(probability));
  return common;
}

Exact power(const Exact& base, unsigned exponent) {
  return Exact(pow(numerator(base), exponent), pow(denominator(base), exponent));
}

}  // namespace

bool is_typical(const LawRow& target, Token token, const Exact& epsilon, const Exact& delta) {
  const Exact& probability = target.at(token);
  if (probability > epsilon) return true;
  if (delta == 0) return probability > 0;
  const BigInteger common = common_denominator(target);
  if (common > kDenominatorMax)
    throw Error(ErrorKind::kInput, "the row's common denominator is " + common.str() +
                                       "; typical acceptance is decided up to " +
                                       std::to_string(kDenominatorMax));
  const auto exponent = static_cast<unsigned>(common);
  Exact spread = 1;
  for (const Exact& share : target)
    if (share > 0) spread *= power(share, static_cast<unsigned>(numerator(Exact(share * common))));
  return power(Exact(probability / delta), exponent) > spread;
}

}  // namespace draftproof::reference::law::rules
