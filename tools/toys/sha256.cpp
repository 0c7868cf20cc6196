#include "tools/toys/sha256.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace draftproof::tools::toys {
namespace {

using Words = std::array<std::uint32_t, 8>;

/// The first 32 bits of the fraction of a root: where the constants of section 4.2.2 come from. A
/// long double has 64 bits, and no root of these lies near enough to a boundary.
std::uint32_t fraction_bits_of(long double root) {
  return static_cast<std::uint32_t>((root - std::floor(root)) * 4294967296.0L);
}

struct Constants {
  std::array<std::uint32_t, 64> round;
  Words start;
};

const Constants& constants() {
  static const Constants made = [] {
    Constants constants{};
    std::size_t found = 0;
    for (int number = 2; found < 64; ++number) {
      bool is_prime = true;
      for (int factor = 2; factor * factor <= number; ++factor)
        is_prime = is_prime && number % factor != 0;
      if (!is_prime) continue;
      if (found < 8) constants.start[found] = fraction_bits_of(std::sqrt(1.0L * number));
      constants.round[found++] = fraction_bits_of(std::cbrt(1.0L * number));
    }
    return constants;
  }();
  return made;
}

void digest(const unsigned char* block, Words& state) {
  std::array<std::uint32_t, 64> word{};
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t byte = 0; byte < 4; ++byte) word[i] = word[i] << 8 | block[4 * i + byte];
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t far = word[i - 15], near = word[i - 2];
    word[i] = word[i - 16] + (std::rotr(far, 7) ^ std::rotr(far, 18) ^ far >> 3) + word[i - 7] +
              (std::rotr(near, 17) ^ std::rotr(near, 19) ^ near >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                ((e & f) ^ (~e & g)) + constants().round[i] + word[i];
    const std::uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const Words mixed = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += mixed[i];
}

}  // namespace

std::string sha256(std::string_view bytes) {
  Words state = constants().start;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const std::size_t whole = bytes.size() / 64 * 64;
  for (std::size_t at = 0; at < whole; at += 64) digest(data + at, state);
  std::array<unsigned char, 128> last{};
  const std::size_t rest = bytes.size() - whole;
  if (rest > 0) std::memcpy(last.data(), data + whole, rest);
  last[rest] = 0x80;
  const std::size_t size = rest < 56 ? 64 : 128;
  for (std::size_t i = 0; i < 8; ++i)
    last[size - 1 - i] = static_cast<unsigned char>(std::uint64_t{bytes.size()} * 8 >> 8 * i);
  for (std::size_t at = 0; at < size; at += 64) digest(last.data() + at, state);
  std::string text;
  for (const std::uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 15];
  return text;
}

}  // namespace draftproof::tools::toys
