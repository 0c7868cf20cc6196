// Arithmetic below 2^192, by schoolbook carries.
#include "reference/verify/wide.h"

#include "reference/error.h"

namespace draftproof::reference::verify {

Wide Wide::product(std::uint64_t factor, WideMass x) {
  const Wide parts(x);  // high 2^64 + low, with high < 2^64
  const WideMass of_low = static_cast<WideMass>(factor) * parts.low_;
  Wide result;
  result.high_ = factor * parts.high_ + (of_low >> 64);  // < 2^128, as the product is < 2^192
  result.low_ = static_cast<std::uint64_t>(of_low);
  return result;
}

Wide& Wide::operator+=(const Wide& other) {
  const std::uint64_t low = low_ + other.low_;
  const WideMass carry = low < low_ ? 1 : 0;
  const WideMass high = high_ + other.high_ + carry;
  // Carried over the top: less than before, or as much in spite of a summand with a carry.
  DRAFTPROOF_CHECK(high > high_ || (high == high_ && other.high_ == 0 && carry == 0),
                   "a sum of 2^192 or more");
  low_ = low;
  high_ = high;
  return *this;
}

Wide operator-(const Wide& a, const Wide& b) {
  DRAFTPROOF_CHECK(b <= a, "a difference below zero");
  Wide result;
  result.low_ = a.low_ - b.low_;
  result.high_ = a.high_ - b.high_ - (a.low_ < b.low_ ? 1 : 0);
  return result;
}

int Wide::bits() const {
  int count = 0;
  for (WideMass rest = high_; rest > 0; rest >>= 1) ++count;
  if (count > 0) return count + 64;
  for (std::uint64_t rest = low_; rest > 0; rest >>= 1) ++count;
  return count;
}

std::uint64_t Wide::word_above(int shift) const {
  DRAFTPROOF_CHECK(shift >= 0 && shift < 192 && bits() - shift <= 64, "more than a word");
  if (shift >= 64) return static_cast<std::uint64_t>(high_ >> (shift - 64));
  if (shift == 0) return low_;
  return static_cast<std::uint64_t>(high_) << (64 - shift) | low_ >> shift;
}

Wide scaled(std::uint64_t coin, const Wide& x) {
  const WideMass of_low = (static_cast<WideMass>(coin) * x.low_) >> 64;
  return Wide::product(coin, x.high_) + Wide(of_low);
}

}  // namespace draftproof::reference::verify
