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
  const WideMass before = high_;
  low_ += other.low_;
  const WideMass carry = low_ < other.low_ ? 1 : 0;
  high_ += other.high_;
  bool is_lost = high_ < before;
  high_ += carry;
  is_lost = is_lost || high_ < carry;
  DRAFTPROOF_CHECK(!is_lost, "a sum of 2^192 or more");
  return *this;
}

Wide operator-(const Wide& a, const Wide& b) {
  DRAFTPROOF_CHECK(b <= a, "a difference below zero");
  Wide result;
  result.low_ = a.low_ - b.low_;
  result.high_ = a.high_ - b.high_ - (a.low_ < b.low_ ? 1 : 0);
  return result;
}

Wide scaled(std::uint64_t coin, const Wide& x) {
  const WideMass of_low = (static_cast<WideMass>(coin) * x.low_) >> 64;
  return Wide::product(coin, x.high_) + Wide(of_low);
}

}  // namespace draftproof::reference::verify
