#include "properties/number_text.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <system_error>

namespace draftproof::properties {
namespace {

Json word(double value) {
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

}  // namespace

Json json_of(double value) { return std::isfinite(value) ? Json(value) : word(value); }

Json json_of(float value) {
  if (!std::isfinite(value)) return word(value);
  // The float's own shortest decimal ("0.1") reads better than that of its double
  // ("0.10000000149011612"). Reading goes through double, which could round to a neighbour when the
  // decimal lies next to a midpoint of floats; then the double itself is written.
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text - 1, value).ptr;
  *end = '\0';
  const double shortest = std::strtod(text, nullptr);
  const bool returns = static_cast<float>(shortest) == value &&
                       std::signbit(static_cast<float>(shortest)) == std::signbit(value);
  return returns ? Json(shortest) : Json(static_cast<double>(value));
}

std::optional<double> double_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const std::string text = value.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::optional<float> float_of(const Json& value) {
  const std::optional<double> wide = double_of(value);
  if (!wide) return std::nullopt;
  const float narrow = static_cast<float>(*wide);
  if (std::isinf(narrow) && !std::isinf(*wide)) return std::nullopt;
  return narrow;
}

Json json_of_coin(std::uint64_t coin) {
  char text[17];
  const auto end = std::to_chars(text, text + sizeof text, coin, 16).ptr;
  return "0x" + std::string(text, end);
}

std::optional<std::uint64_t> coin_of(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (!value.is_string()) return std::nullopt;
  const std::string text = value.get<std::string>();
  const bool is_hexadecimal = text.rfind("0x", 0) == 0;
  const char* begin = text.data() + (is_hexadecimal ? 2 : 0);
  const char* end = text.data() + text.size();
  std::uint64_t coin = 0;
  const auto result = std::from_chars(begin, end, coin, is_hexadecimal ? 16 : 10);
  if (begin == end || result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return coin;
}

}  // namespace draftproof::properties
