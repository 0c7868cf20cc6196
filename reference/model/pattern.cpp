// Patterns: Thompson's construction from the end to the front, then subsets.
#include "reference/model/pattern.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "reference/error.h"

namespace draftproof::reference::model {

struct Pattern::Node {
  enum class Kind { kByte, kSequence, kEither, kRepeated, kSeparated };
  Kind kind = Kind::kSequence;
  std::vector<Pattern> parts = {};
  ByteSet bytes = {};
  std::size_t least = 0;
  std::optional<std::size_t> most = {};
  std::size_t positions = 1;
  int depth = 0;
};

namespace {

using Node = Pattern::Node;
using Kind = Pattern::Node::Kind;

std::size_t capped(std::size_t count) { return std::min(count, Pattern::kPositionsMax + 1); }

std::size_t capped_product(std::size_t count, std::size_t each) {
  return count > Pattern::kPositionsMax / std::max<std::size_t>(each, 1) ? capped(SIZE_MAX)
                                                                         : count * each;
}

std::size_t positions_of_repeated(const Node& node) {
  const std::size_t each = node.parts[0].position_count();
  if (!node.most) return capped(capped_product(std::max<std::size_t>(node.least, 1), each) + 1);
  // Every copy that may be left out has a position of its own where that is decided.
  const std::size_t copies = capped_product(*node.most, each);
  return std::max<std::size_t>(capped(copies + capped(*node.most - node.least)), 1);
}

/// Positions of a pattern: each reads one byte of a set and goes on, or goes on along `edges` and
/// reads none. Position 0 is the end.
struct Positions {
  struct Position {
    ByteSet bytes = {};
    std::vector<int> edges = {};
  };
  std::vector<Position> all = {Position{}};

  int add(Position position) {
    all.push_back(std::move(position));
    return static_cast<int>(all.size()) - 1;
  }

  /// The position where `pattern` begins whose ends go on at `end`.
  int begin(const Pattern& pattern, int end) {
    const Node& node = pattern.node();
    switch (node.kind) {
      case Kind::kByte:
        return add({node.bytes, {end}});
      case Kind::kSequence: {
        int at = node.parts.empty() ? add({{}, {end}}) : end;
        for (auto part = node.parts.rbegin(); part != node.parts.rend(); ++part)
          at = begin(*part, at);
        return at;
      }
      case Kind::kEither: {
        std::vector<int> edges;
        for (const Pattern& part : node.parts) edges.push_back(begin(part, end));
        return add({{}, std::move(edges)});
      }
      case Kind::kRepeated:
        return begin_repeated(node, end);
      case Kind::kSeparated: {
        const int decision = add({});
        const int item = begin(node.parts[0], decision);
        const int separator = begin(node.parts[1], item);
        at(decision).edges = {separator, end};
        return item;
      }
    }
    DRAFTPROOF_CHECK(false, "a kind of pattern that is none");
    return end;
  }

  int begin_repeated(const Node& node, int end) {
    const Pattern& part = node.parts[0];
    int at_front = end;
    std::size_t copies = 0;
    if (!node.most) {
      const int decision = add({});
      const int copy = begin(part, decision);
      at(decision).edges = {copy, end};
      at_front = node.least == 0 ? decision : copy;
      copies = 1;
    } else if (*node.most == 0) {
      return add({{}, {end}});
    } else {
      for (; copies < *node.most - node.least; ++copies)
        at_front = add({{}, {begin(part, at_front), end}});
    }
    for (; copies < node.most.value_or(node.least); ++copies) at_front = begin(part, at_front);
    return at_front;
  }

  Position& at(int position) { return all[static_cast<std::size_t>(position)]; }
};

/// Bytes that no position tells apart: a class for each byte, and a byte for each class.
struct ByteClasses {
  std::array<int, 256> class_of{};
  std::vector<int> member;

  explicit ByteClasses(const Positions& positions) {
    std::vector<ByteSet> sets;
    const auto by_text = [](const ByteSet& one, const ByteSet& other) {
      for (std::size_t byte = 0; byte < 256; ++byte)
        if (one[byte] != other[byte]) return other[byte];
      return false;
    };
    for (const auto& position : positions.all) sets.push_back(position.bytes);
    std::sort(sets.begin(), sets.end(), by_text);
    sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
    for (const ByteSet& set : sets) {
      std::map<std::pair<int, bool>, int> split;
      for (std::size_t byte = 0; byte < 256; ++byte)
        class_of[byte] =
            split.try_emplace({class_of[byte], set[byte]}, static_cast<int>(split.size()))
                .first->second;
    }
    for (int byte = 0; byte < 256; ++byte)
      if (class_of[static_cast<std::size_t>(byte)] == static_cast<int>(member.size()))
        member.push_back(byte);
  }
};

class Subsets {
 public:
  /// Positions that closures look at: those that read no byte cost time and are in no subset.
  static constexpr std::size_t kLooksMax = std::size_t{1} << 26;

  Subsets(Positions positions, const std::string& place)
      : positions_(std::move(positions)), place_(place), seen_(positions_.all.size(), 0) {}

  ByteAutomaton automaton(int start) {
    const ByteClasses classes(positions_);
    number({start});
    for (std::size_t state = 0; state < states_.size(); ++state) {
      std::vector<ByteAutomaton::State> by_class;
      for (const int byte : classes.member) {
        std::vector<int> targets;
        for (const int position : *states_[state])
          if (positions_.at(position).bytes[static_cast<std::size_t>(byte)])
            targets.push_back(positions_.at(position).edges[0]);
        by_class.push_back(targets.empty() ? ByteAutomaton::kDead : number(std::move(targets)));
      }
      for (std::size_t byte = 0; byte < 256; ++byte)
        result_.next[state][byte] = by_class[static_cast<std::size_t>(classes.class_of[byte])];
    }
    return std::move(result_);
  }

 private:
  /// Those that read a byte, and the end, among what `positions` reach without reading.
  std::vector<int> closure(std::vector<int> open) {
    ++round_;
    std::vector<int> closed;
    while (!open.empty()) {
      const int position = open.back();
      open.pop_back();
      if (++looks_ > kLooksMax)
        throw Error(ErrorKind::kInput,
                    "its automaton takes more than the " + std::to_string(kLooksMax) +
                        " steps that are allowed; use smaller counts or fewer empty alternatives",
                    place_);
      if (std::exchange(seen_[static_cast<std::size_t>(position)], round_) == round_) continue;
      const auto& [bytes, edges] = positions_.at(position);
      if (position == 0 || bytes.any())
        closed.push_back(position);
      else
        open.insert(open.end(), edges.begin(), edges.end());
    }
    std::sort(closed.begin(), closed.end());
    return closed;
  }

  ByteAutomaton::State number(std::vector<int> positions) {
    const auto [entry, is_first] =
        number_of_.try_emplace(closure(std::move(positions)), static_cast<int>(states_.size()));
    if (!is_first) return entry->second;
    states_.push_back(&entry->first);
    subsets_size_ += entry->first.size();
    if (states_.size() > Pattern::kStatesMax)
      throw Error(ErrorKind::kInput,
                  "its automaton has more than the " + std::to_string(Pattern::kStatesMax) +
                      " states that are allowed; use smaller counts or fewer alternatives",
                  place_);
    if (subsets_size_ > Pattern::kSubsetsMax)
      throw Error(ErrorKind::kInput,
                  "the states of its automaton stand for more than the " +
                      std::to_string(Pattern::kSubsetsMax) +
                      " positions that are allowed; use smaller counts",
                  place_);
    result_.next.emplace_back();
    result_.accepting.push_back(!entry->first.empty() && entry->first[0] == 0);
    return entry->second;
  }

  Positions positions_;
  const std::string& place_;
  std::vector<int> seen_;
  int round_ = 0;
  std::size_t looks_ = 0;
  std::map<std::vector<int>, ByteAutomaton::State> number_of_;
  std::vector<const std::vector<int>*> states_;
  std::size_t subsets_size_ = 0;
  ByteAutomaton result_;
};

/// Ranges of the bytes of a character, by its length and its first byte: RFC 3629, section 4,
/// which leaves out overlong forms, surrogates and what lies above U+10FFFF.
using ByteRange = std::pair<unsigned char, unsigned char>;
const std::vector<std::vector<ByteRange>>& utf8_forms() {
  static constexpr ByteRange kTail = {0x80, 0xbf};
  static const std::vector<std::vector<ByteRange>> forms = {
      {{0x00, 0x7f}},
      {{0xc2, 0xdf}, kTail},
      {{0xe0, 0xe0}, {0xa0, 0xbf}, kTail},
      {{0xe1, 0xec}, kTail, kTail},
      {{0xed, 0xed}, {0x80, 0x9f}, kTail},
      {{0xee, 0xef}, kTail, kTail},
      {{0xf0, 0xf0}, {0x90, 0xbf}, kTail, kTail},
      {{0xf1, 0xf3}, kTail, kTail, kTail},
      {{0xf4, 0xf4}, {0x80, 0x8f}, kTail, kTail},
  };
  return forms;
}

}  // namespace

ByteSet byte_range(unsigned char first, unsigned char last) {
  ByteSet set;
  for (std::size_t byte = first; byte <= last; ++byte) set.set(byte);
  return set;
}

Pattern::Pattern(Node node) {
  for (const Pattern& part : node.parts) node.depth = std::max(node.depth, part.depth() + 1);
  DRAFTPROOF_CHECK(node.depth < kDepthMax, std::to_string(node.depth));
  node_ = std::make_shared<const Node>(std::move(node));
}

Pattern Pattern::byte_of(const ByteSet& set) {
  DRAFTPROOF_CHECK(set.any());
  return Pattern(Node{.kind = Kind::kByte, .bytes = set});
}

Pattern Pattern::text(std::string_view text) {
  std::vector<Pattern> parts;
  for (const char byte : text)
    parts.push_back(byte_of(ByteSet{}.set(static_cast<unsigned char>(byte))));
  return sequence(std::move(parts));
}

Pattern Pattern::sequence(std::vector<Pattern> parts) {
  std::size_t positions = parts.empty() ? 1 : 0;
  for (const Pattern& part : parts) positions = capped(positions + part.position_count());
  return Pattern(Node{.kind = Kind::kSequence, .parts = std::move(parts), .positions = positions});
}

Pattern Pattern::either(std::vector<Pattern> parts) {
  DRAFTPROOF_CHECK(!parts.empty());
  if (parts.size() == 1) return parts[0];
  std::size_t positions = 1;
  for (const Pattern& part : parts) positions = capped(positions + part.position_count());
  return Pattern(Node{.kind = Kind::kEither, .parts = std::move(parts), .positions = positions});
}

Pattern Pattern::repeated(Pattern part, std::size_t least, std::optional<std::size_t> most) {
  DRAFTPROOF_CHECK(!most || least <= *most);
  Node node{.kind = Kind::kRepeated, .parts = {std::move(part)}, .least = least, .most = most};
  node.positions = positions_of_repeated(node);
  return Pattern(std::move(node));
}

Pattern Pattern::separated(Pattern item, Pattern separator) {
  const std::size_t positions = capped(item.position_count() + separator.position_count() + 1);
  return Pattern(Node{.kind = Kind::kSeparated,
                      .parts = {std::move(item), std::move(separator)},
                      .positions = positions});
}

std::size_t Pattern::position_count() const { return node_->positions; }
int Pattern::depth() const { return node_->depth; }

Pattern utf8_beyond_ascii() {
  std::vector<Pattern> characters;
  for (const auto& form : utf8_forms()) {
    if (form.size() == 1) continue;
    std::vector<Pattern> bytes;
    for (const auto& [first, last] : form)
      bytes.push_back(Pattern::byte_of(byte_range(first, last)));
    characters.push_back(Pattern::sequence(std::move(bytes)));
  }
  return Pattern::either(std::move(characters));
}

std::size_t character_bytes(std::string_view text) {
  for (const auto& form : utf8_forms()) {
    bool fits = text.size() >= form.size();
    for (std::size_t i = 0; fits && i < form.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      fits = form[i].first <= byte && byte <= form[i].second;
    }
    if (fits) return form.size();
  }
  return 0;
}

ByteAutomaton automaton(const Pattern& pattern, const std::string& place) {
  if (pattern.position_count() > Pattern::kPositionsMax)
    throw Error(ErrorKind::kInput,
                "has more than the " + std::to_string(Pattern::kPositionsMax) +
                    " positions that are allowed, with every count written out; use smaller counts",
                place);
  Positions positions;
  const int start = positions.begin(pattern, 0);
  DRAFTPROOF_CHECK(positions.all.size() == pattern.position_count() + 1);
  return Subsets(std::move(positions), place).automaton(start);
}

}  // namespace draftproof::reference::model
