// Types: PTX type names for the C++ types that hold their values, and the lanes they live in.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

namespace draftproof::gpu::emulator::isa {

/// The register of a value: 16-bit values live in 32-bit lanes, whose upper bits mean nothing.
template <class T>
using Lane = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
template <class T>
using Unsigned = std::make_unsigned_t<T>;

/// The signature letter of an integer's register.
template <class T>
constexpr char letter_of() {
  return sizeof(T) == 8 ? 'q' : sizeof(T) == 4 ? 'w' : 'h';
}

/// "s32" and its like.
template <class T>
std::string type_name() {
  return (std::is_signed_v<T> ? "s" : "u") + std::to_string(8 * sizeof(T));
}
template <class T>
std::string bits_name() {
  return "b" + std::to_string(8 * sizeof(T));
}

/// A signature of the same letter throughout: one result and `sources` sources.
inline std::string same_signature(char letter, int sources) {
  return std::string(1, letter) + ":" + std::string(static_cast<std::size_t>(sources), letter);
}

/// The list of types a family is written for.
template <class... T, class F>
void for_types(F&& visit) {
  (visit(T{}), ...);
}

}  // namespace draftproof::gpu::emulator::isa
