#include "tools/draftproof/settings.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "reference/error.h"

namespace draftproof::tools {

double seconds_from(const std::string& text, const std::string& option) {
  const auto fail = [&]() -> double {
    throw Error(ErrorKind::kInput,
                fmt::format("\"{}\" is no duration; write 90s, 2m or 1h30m", text), option);
  };
  double seconds = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  if (text.empty()) return fail();
  while (at != end) {
    double number = 0;
    const auto [next, error] = std::from_chars(at, end, number, std::chars_format::fixed);
    if (error != std::errc() || next == end || number < 0) return fail();
    const double unit = *next == 's' ? 1 : *next == 'm' ? 60 : *next == 'h' ? 3600 : 0;
    if (unit == 0) return fail();
    seconds += number * unit;
    at = next + 1;
  }
  if (!(seconds > 0) || !std::isfinite(seconds)) return fail();
  return seconds;
}

std::uint64_t seed_from(const std::string& text, const std::string& option) {
  const bool is_hexadecimal = text.starts_with("0x");
  const char* const begin = text.data() + (is_hexadecimal ? 2 : 0);
  const char* const end = text.data() + text.size();
  std::uint64_t seed = 0;
  const auto [next, error] = std::from_chars(begin, end, seed, is_hexadecimal ? 16 : 10);
  if (error != std::errc() || next != end) {
    throw Error(ErrorKind::kInput,
                fmt::format("\"{}\" is no seed; write a number from 0 to 2^64 - 1", text), option);
  }
  return seed;
}

properties::Battery battery_from(const std::string& name) {
  if (name == "smoke") return properties::Battery::kSmoke;
  if (name == "standard") return properties::Battery::kStandard;
  if (name == "deep") return properties::Battery::kDeep;
  throw Error(ErrorKind::kInput,
              fmt::format("unknown battery \"{}\"; known: smoke, standard, deep", name),
              "--battery");
}

std::string to_string(properties::Battery battery) {
  switch (battery) {
    case properties::Battery::kSmoke:
      return "smoke";
    case properties::Battery::kStandard:
      return "standard";
    case properties::Battery::kDeep:
      return "deep";
  }
  return "unknown";
}

}  // namespace draftproof::tools
