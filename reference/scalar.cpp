// Scalars: exact numbers from text and from doubles. Decimals are read as the rationals they spell,
// never through a binary fraction, so that laws given by hand sum to exactly one.
#include "reference/scalar.h"

#include <cmath>

#include "reference/error.h"

namespace draftproof::reference {
namespace {

/// A cursor over one number; every complaint quotes the whole text.
class NumberReader {
 public:
  explicit NumberReader(const std::string& text) : text_(text) {}

  Exact read() {
    Exact value = decimal();
    if (take('/')) {
      const Exact divisor = decimal();
      if (divisor == 0) refuse("divides by zero");
      value /= divisor;
    }
    if (next_ != text_.size()) refuse("is not a number");
    return value;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::kInput, "'" + text_ + "' " + what + "; write .3, 3/10 or 1e-3");
  }

  bool take(char wanted) {
    if (next_ == text_.size() || text_[next_] != wanted) return false;
    ++next_;
    return true;
  }

  bool take_sign() {
    if (take('-')) return true;
    take('+');
    return false;
  }

  /// Appends decimal digits to `value` and says how many there were.
  int digits(BigInteger& value) {
    int count = 0;
    for (; next_ < text_.size() && text_[next_] >= '0' && text_[next_] <= '9'; ++next_, ++count)
      value = value * 10 + (text_[next_] - '0');
    return count;
  }

  Exact decimal() {
    const bool is_negative = take_sign();
    BigInteger significand = 0;
    int digit_count = digits(significand);
    int places = 0;
    if (take('.')) places = digits(significand);
    digit_count += places;
    if (digit_count == 0) refuse("is not a number");
    const int exponent = (take('e') || take('E') ? this->exponent() : 0) - places;
    const BigInteger power = boost::multiprecision::pow(BigInteger(10), std::abs(exponent));
    const Exact value = exponent < 0 ? Exact(significand, power) : Exact(significand * power);
    return is_negative ? Exact(-value) : value;
  }

  int exponent() {
    const bool is_negative = take_sign();
    BigInteger value = 0;
    if (digits(value) == 0) refuse("has an exponent without digits");
    // Beyond this a number is a typing error, and its digits would fill the memory.
    if (value > 1000) refuse("has an exponent beyond 1000");
    return is_negative ? -static_cast<int>(value) : static_cast<int>(value);
  }

  const std::string& text_;
  std::size_t next_ = 0;
};

}  // namespace

std::string to_string(const Exact& value) {
  const std::string whole = boost::multiprecision::numerator(value).str();
  const BigInteger divisor = boost::multiprecision::denominator(value);
  return divisor == 1 ? whole : whole + "/" + divisor.str();
}

Exact exact_from_text(const std::string& text) { return NumberReader(text).read(); }

Exact exact_from_double(double value) {
  DRAFTPROOF_CHECK(std::isfinite(value), std::to_string(value));
  int exponent = 0;
  // 53 bits of significand are a whole number, and the rest is a power of two.
  const auto significand = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
  const int shift = exponent - 53;
  const BigInteger power = BigInteger(1) << std::abs(shift);
  return shift < 0 ? Exact(BigInteger(significand), power) : Exact(significand * power);
}

}  // namespace draftproof::reference
