// Byte automata: deterministic automata over the bytes of a text. Patterns become one
// (`pattern.h`), and the token grammar of a vocabulary is one read in whole tokens
// (`token_grammar.h`).
#pragma once

#include <array>
#include <string_view>
#include <vector>

namespace draftproof::reference::model {

/// State 0 is the start. Rows and `accepting` have one entry a state; there is at least one.
struct ByteAutomaton {
  using State = int;
  /// In a row: no text with this byte here is accepted, whatever follows.
  static constexpr State kDead = -1;

  std::vector<std::array<State, 256>> next;
  std::vector<bool> accepting;

  std::size_t state_count() const { return next.size(); }
  bool accepts(State state) const {
    return state != kDead && accepting[static_cast<std::size_t>(state)];
  }
  /// The state behind `text` from `state`, kDead where a byte of it leads nowhere.
  State behind(State state, std::string_view text) const {
    for (const char byte : text) {
      if (state == kDead) break;
      state = next[static_cast<std::size_t>(state)][static_cast<unsigned char>(byte)];
    }
    return state;
  }
  /// The whole of `text` is accepted.
  bool matches(std::string_view text) const { return accepts(behind(0, text)); }
};

}  // namespace draftproof::reference::model
