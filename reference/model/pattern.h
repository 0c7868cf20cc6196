// Patterns: regular languages over bytes as a syntax tree, and the automaton of one by Thompson's
// construction and subsets of its positions (Rabin and Scott, 1959). Regular expressions are parsed
// into patterns and JSON schemas are put together of them, so that nothing is ever quoted. Our own
// and small: libraries match texts, and structured output needs the states, since a token is a
// piece of text that ends anywhere.
//
// Hostile patterns are refused by what they would cost, before it is spent: positions are counted
// while a pattern is put together; states, their subsets and steps to them while they are made.
#pragma once

#include <bitset>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/model/byte_automaton.h"

namespace draftproof::reference::model {

using ByteSet = std::bitset<256>;

/// All bytes from `first` to `last`, both taken.
ByteSet byte_range(unsigned char first, unsigned char last);

/// A value; parts are shared and never change.
class Pattern {
 public:
  /// More positions than this, with every count written out, are refused by automaton().
  static constexpr std::size_t kPositionsMax = std::size_t{1} << 15;
  static constexpr std::size_t kStatesMax = std::size_t{1} << 14;
  /// The sum over all states of the positions that each stands for.
  static constexpr std::size_t kSubsetsMax = std::size_t{1} << 20;
  /// Parts within parts are fewer; callers refuse deeper ones where they can say the place.
  static constexpr int kDepthMax = 1000;

  /// One byte of `set`, which is not empty.
  static Pattern byte_of(const ByteSet& set);
  /// Exactly `text`; empty allowed.
  static Pattern text(std::string_view text);
  /// One after the other; of nothing: the empty text.
  static Pattern sequence(std::vector<Pattern> parts);
  /// One of at least one.
  static Pattern either(std::vector<Pattern> parts);
  /// `part` from `least` times to `most` times (absent: without end), least <= most.
  static Pattern repeated(Pattern part, std::size_t least, std::optional<std::size_t> most);
  static Pattern optional(Pattern part) { return repeated(std::move(part), 0, 1); }
  /// item (separator item)*, with the positions of one item.
  static Pattern separated(Pattern item, Pattern separator);

  /// Positions with every count written out; kPositionsMax + 1 stands for any number above.
  std::size_t position_count() const;

  /// How many parts lie within each other, 0 for one without parts.
  int depth() const;

  struct Node;
  const Node& node() const { return *node_; }

 private:
  explicit Pattern(Node node);
  std::shared_ptr<const Node> node_;
};

/// One character of well-formed UTF-8 of two to four bytes (RFC 3629, section 4).
Pattern utf8_beyond_ascii();
/// Bytes of the well-formed UTF-8 character at the front of `text`, 1 to 4; 0 when there is none.
std::size_t character_bytes(std::string_view text);

/// The automaton of the texts that `pattern` matches as a whole. From every state of it an
/// accepting one can be reached. Throws Error(kInput) at `place` that names the limit exceeded.
ByteAutomaton automaton(const Pattern& pattern, const std::string& place);

}  // namespace draftproof::reference::model
