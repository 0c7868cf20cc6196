// Cells: what one slot of a toy cache holds. A real slot holds a key and a value, numbers that
// depend on the token, on its position and on everything it attended to; here those are written
// down instead, so that a wrong byte is a wrong history and says which one.
#pragma once

#include <cstdint>
#include <span>

#include "reference/token.h"

namespace draftproof::reference::kv {

/// `token` of a slot that nobody has written since it was handed out or given back.
inline constexpr Token kPoison = -2;

struct Cell {
  Token token = kPoison;
  std::int32_t position = -1;  ///< as the token was told it, >= 0
  std::uint64_t history = 0;   ///< history_behind() of everything it attended to, itself included

  bool is_written() const { return token != kPoison; }
  friend bool operator==(const Cell&, const Cell&) = default;
};

/// The history behind nothing.
inline constexpr std::uint64_t kEmptyHistory = 0x243f6a8885a308d3;  // first digits of pi

/// The history behind `token` at `position`, when everything before it has `history`. Two unequal
/// sequences of (token, position) have equal histories with probability about 2^-64 a pair
/// (splitmix64's finaliser, Steele, Lea, Flood, OOPSLA 2014, over a chain); tests of faults compare
/// a few thousand of them, so that a fault stays unseen with probability below 2^-40.
constexpr std::uint64_t history_behind(std::uint64_t history, Token token, std::int32_t position) {
  std::uint64_t z = history ^ (static_cast<std::uint64_t>(static_cast<std::uint32_t>(token)) << 32 |
                               static_cast<std::uint32_t>(position));
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// The cells of `tokens` at positions 0, 1, ... of a serial decoder with everything visible: what a
/// cache without a window must hold.
inline std::uint64_t history_of(std::span<const Token> tokens) {
  std::uint64_t history = kEmptyHistory;
  std::int32_t position = 0;
  for (const Token token : tokens) history = history_behind(history, token, position++);
  return history;
}

}  // namespace draftproof::reference::kv
