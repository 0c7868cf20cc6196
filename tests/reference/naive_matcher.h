// A regular expression matched by walking its text and keeping every end that its front may have:
// no syntax tree, no automaton, no code of reference/model. Well-formed expressions only, and texts
// of well-formed UTF-8.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace draftproof::tests {

class NaiveMatcher {
 public:
  static bool matches(std::string_view expression, std::string_view text) {
    return NaiveMatcher(text).ends(expression, 0).contains(text.size());
  }

 private:
  using Ends = std::set<std::size_t>;
  static constexpr std::size_t kAny = SIZE_MAX;

  explicit NaiveMatcher(std::string_view text) : text_(text) {}

  /// Where a match of `expression` that begins at `from` may end.
  Ends ends(std::string_view expression, std::size_t from) const {
    Ends found;
    std::size_t begin = 0;
    for (std::size_t at = 0; at <= expression.size();) {
      if (at < expression.size() && expression[at] != '|') {
        at = atom_end(expression, at);
        continue;
      }
      found.merge(ends_of_sequence(expression.substr(begin, at - begin), from));
      begin = ++at;
    }
    return found;
  }

  Ends ends_of_sequence(std::string_view sequence, std::size_t from) const {
    Ends now = {from};
    for (std::size_t at = 0; at < sequence.size();) {
      const std::size_t end = atom_end(sequence, at);
      const auto [least, most, behind] = count(sequence, end);
      now = ends_of_count(sequence.substr(at, end - at), least, most, now);
      at = behind;
    }
    return now;
  }

  Ends ends_of_count(std::string_view atom, std::size_t least, std::size_t most, Ends now) const {
    Ends found;
    if (least == 0) found = now;
    // Every repetition above the least that counts takes a character.
    const std::size_t last = most == kAny ? least + text_.size() + 1 : most;
    for (std::size_t i = 1; i <= last; ++i) {
      Ends further;
      for (const std::size_t from : now) further.merge(ends_of_atom(atom, from));
      now = further;
      if (i >= least) found.insert(now.begin(), now.end());
    }
    return found;
  }

  Ends ends_of_atom(std::string_view atom, std::size_t from) const {
    if (atom[0] == '(') {
      const std::size_t skipped = atom.substr(0, 3) == "(?:" ? 3 : 1;
      return ends(atom.substr(skipped, atom.size() - skipped - 1), from);
    }
    if (from == text_.size()) return {};
    const std::string_view character = text_.substr(from, character_size(text_, from));
    return takes(atom, character) ? Ends{from + character.size()} : Ends{};
  }

  static std::size_t character_size(std::string_view text, std::size_t at) {
    std::size_t size = 1;
    while (at + size < text.size() && (text[at + size] & 0xc0) == 0x80) ++size;
    return size;
  }

  static bool takes(std::string_view atom, std::string_view character) {
    if (atom == ".") return character != "\n";
    if (atom[0] == '\\') return takes_escape(atom, character);
    if (atom[0] != '[') return atom == character;
    const bool is_negated = atom[1] == '^';
    bool is_listed = false;
    for (std::size_t at = is_negated ? 2 : 1; at + 1 < atom.size();) {
      const std::size_t end = atom_end_in_class(atom, at);
      const std::string_view item = atom.substr(at, end - at);
      if (atom[end] == '-' && end + 2 < atom.size()) {
        is_listed |=
            character.size() == 1 && item[0] <= character[0] && character[0] <= atom[end + 1];
        at = end + 2;
      } else {
        is_listed |= item[0] == '\\' ? takes_escape(item, character) : item == character;
        at = end;
      }
    }
    return is_listed != is_negated;
  }

  static bool takes_escape(std::string_view escape, std::string_view character) {
    const char letter = escape[1];
    const char byte = character.size() == 1 ? character[0] : '\x7f';
    const bool is_digit = byte >= '0' && byte <= '9';
    const bool is_word =
        is_digit || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
    const bool is_space = std::string_view("\t\n\v\f\r ").find(byte) != std::string_view::npos;
    switch (letter) {
      case 'd':
        return is_digit;
      case 'D':
        return !is_digit;
      case 'w':
        return is_word;
      case 'W':
        return !is_word;
      case 's':
        return is_space;
      case 'S':
        return !is_space;
      case 'n':
        return character == "\n";
      case 't':
        return character == "\t";
      case 'x':
        return byte == std::stoi(std::string(escape.substr(2)), nullptr, 16);
      default:
        return character == escape.substr(1);
    }
  }

  static std::size_t atom_end_in_class(std::string_view text, std::size_t at) {
    if (text[at] != '\\') return at + 1;
    return at + (text[at + 1] == 'x' ? 4 : 2);
  }

  /// Behind the atom that begins at `at`; a count is an atom of its own here.
  static std::size_t atom_end(std::string_view text, std::size_t at) {
    if (text[at] == '\\') return atom_end_in_class(text, at);
    if (text[at] == '[') {
      for (++at; text[at] != ']';) at = atom_end_in_class(text, at);
      return at + 1;
    }
    if (text[at] == '(') {
      for (++at; text[at] != ')';) at = atom_end(text, at);
      return at + 1;
    }
    return at + character_size(text, at);
  }

  /// Least, most, and where the count ends that begins at `at`.
  static std::tuple<std::size_t, std::size_t, std::size_t> count(std::string_view text,
                                                                 std::size_t at) {
    if (at == text.size()) return {1, 1, at};
    if (text[at] == '*') return {0, kAny, at + 1};
    if (text[at] == '+') return {1, kAny, at + 1};
    if (text[at] == '?') return {0, 1, at + 1};
    if (text[at] != '{') return {1, 1, at};
    const std::size_t end = text.find('}', at);
    const std::string inside(text.substr(at + 1, end - at - 1));
    const std::size_t comma = inside.find(',');
    const std::size_t least = std::stoul(inside);
    if (comma == std::string::npos) return {least, least, end + 1};
    const bool is_open = comma + 1 == inside.size();
    return {least, is_open ? kAny : std::stoul(inside.substr(comma + 1)), end + 1};
  }

  std::string_view text_;
};

}  // namespace draftproof::tests
