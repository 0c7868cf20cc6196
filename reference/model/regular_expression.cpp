// Regular expressions: a parser by descent, one function a level of binding.
#include "reference/model/regular_expression.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "reference/error.h"

namespace draftproof::reference::model {
namespace {

constexpr std::string_view kSpecial = "\\.[](){}*+?|^$";

/// One character: of ASCII, or any beyond it.
struct CharacterSet {
  ByteSet ascii;
  bool has_beyond = false;

  void add(const CharacterSet& other) {
    ascii |= other.ascii;
    has_beyond = has_beyond || other.has_beyond;
  }
  CharacterSet negated() const { return {byte_range(0, 0x7f) & ~ascii, !has_beyond}; }
  bool is_empty() const { return ascii.none() && !has_beyond; }
  bool is_one_byte() const { return ascii.count() == 1 && !has_beyond; }
  unsigned char byte() const { return static_cast<unsigned char>(ascii._Find_first()); }

  Pattern pattern() const {
    if (!has_beyond) return Pattern::byte_of(ascii);
    if (ascii.none()) return utf8_beyond_ascii();
    return Pattern::either({Pattern::byte_of(ascii), utf8_beyond_ascii()});
  }
};

CharacterSet digit_set() { return {byte_range('0', '9')}; }
CharacterSet word_characters() {
  return {byte_range('a', 'z') | byte_range('A', 'Z') | byte_range('0', '9') |
          byte_range('_', '_')};
}
CharacterSet spaces() { return {byte_range('\t', '\r') | byte_range(' ', ' ')}; }
CharacterSet one(char byte) { return {ByteSet{}.set(static_cast<unsigned char>(byte))}; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Pattern whole() {
    Pattern pattern = alternatives(0);
    if (!at_end()) refuse(at_, {"')' closes no group; write \\) for the character"});
    return pattern;
  }

 private:
  [[noreturn]] static void refuse(std::size_t at, std::initializer_list<std::string_view> message) {
    std::string joined;
    for (const std::string_view part : message) joined += part;
    throw Error(ErrorKind::kInput, joined, "pattern, byte " + std::to_string(at));
  }

  bool at_end() const { return at_ == text_.size(); }
  bool is_at(char byte) const { return !at_end() && text_[at_] == byte; }
  bool skip(char byte) {
    if (!is_at(byte)) return false;
    ++at_;
    return true;
  }
  /// `at`: where the part began that made it too large.
  Pattern checked(Pattern pattern, std::size_t at) const {
    if (pattern.position_count() > Pattern::kPositionsMax)
      refuse(at, {"up to here, with every count written out, more than the ",
                  std::to_string(Pattern::kPositionsMax),
                  " positions that are allowed; use smaller counts"});
    return pattern;
  }

  Pattern alternatives(int depth) {
    std::vector<Pattern> parts = {sequence(depth)};
    while (is_at('|') && parts.size() <= Pattern::kPositionsMax) {
      ++at_;
      parts.push_back(sequence(depth));
    }
    return checked(Pattern::either(std::move(parts)), at_);
  }

  Pattern sequence(int depth) {
    std::vector<Pattern> parts;
    std::size_t positions = 0;
    while (!at_end() && !is_at('|') && !is_at(')')) {
      const std::size_t begin = at_;
      parts.push_back(repeated(atom(depth)));
      positions += parts.back().position_count();
      if (positions > Pattern::kPositionsMax) checked(Pattern::sequence(std::move(parts)), begin);
    }
    return Pattern::sequence(std::move(parts));
  }

  Pattern repeated(Pattern part) {
    const std::size_t begin = at_;
    std::size_t least = 0;
    std::optional<std::size_t> most;
    if (skip('+')) {
      least = 1;
    } else if (skip('?')) {
      most = 1;
    } else if (is_at('{')) {
      std::tie(least, most) = count();
    } else if (!skip('*')) {
      return part;
    }
    if (is_at('*') || is_at('+') || is_at('?') || is_at('{'))
      refuse(at_, {"'", text_.substr(at_, 1),
                   "' behind a count; lazy and possessive counts match the same whole texts, so "
                   "leave it out, or put what is repeated twice into a group"});
    return checked(Pattern::repeated(std::move(part), least, most), begin);
  }

  std::pair<std::size_t, std::optional<std::size_t>> count() {
    const std::size_t begin = at_++;
    const auto number = [&]() -> std::optional<std::size_t> {
      std::optional<std::size_t> value;
      for (; !at_end() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
        value = std::min<std::size_t>(
            value.value_or(0) * 10 + static_cast<std::size_t>(text_[at_] - '0'),
            Pattern::kPositionsMax + 1);
      return value;
    };
    const std::optional<std::size_t> least = number();
    std::optional<std::size_t> most = least;
    if (skip(',')) most = number();
    if (!least || !skip('}'))
      refuse(begin, {"'{' begins no count; write {2}, {2,} or {2,4}, or \\{ for the character"});
    if (most && *most < *least)
      refuse(begin, {"the count ends below where it begins; write the smaller number first"});
    return {*least, most};
  }

  Pattern atom(int depth) {
    const std::size_t begin = at_;
    const char byte = text_[at_];
    if (byte == '(') return group(depth);
    if (byte == '[') return character_class().pattern();
    if (byte == '\\') return escape().pattern();
    if (skip('.')) return one('\n').negated().pattern();
    if (byte == '^' || byte == '$')
      refuse(begin, {"'", text_.substr(begin, 1),
                     "' is no anchor here: the whole text is matched; "
                     "leave it out, or write \\",
                     text_.substr(begin, 1), " for the character"});
    if (byte == '*' || byte == '+' || byte == '?' || byte == '{')
      refuse(begin, {"'", text_.substr(begin, 1), "' has nothing to repeat; write \\",
                     text_.substr(begin, 1), " for the character"});
    if (kSpecial.find(byte) != std::string_view::npos)
      refuse(begin, {"'", text_.substr(begin, 1), "' closes nothing; write \\",
                     text_.substr(begin, 1), " for the character"});
    const std::size_t size = character_bytes(text_.substr(at_));
    if (size == 0) refuse(begin, {"no character of UTF-8 begins here; write the pattern in UTF-8"});
    at_ += size;
    return Pattern::text(text_.substr(begin, size));
  }

  Pattern group(int depth) {
    const std::size_t begin = at_++;
    if (depth + 1 > kGroupDepthMax)
      refuse(begin, {"more than ", std::to_string(kGroupDepthMax),
                     " groups within each other; write fewer"});
    if (is_at('?') && !(skip('?') && skip(':')))
      refuse(begin, {"(? begins what is not regular or not known here; only (?: is"});
    Pattern pattern = alternatives(depth + 1);
    if (!skip(')'))
      refuse(begin, {"the group is not closed; add ')', or write \\( for the character"});
    return pattern;
  }

  CharacterSet escape() {
    const std::size_t begin = at_++;
    if (at_end()) refuse(begin, {"nothing behind the backslash; write \\\\ for the character"});
    const char byte = text_[at_++];
    static constexpr std::string_view kLetters = "ntrfv";
    static constexpr std::string_view kMeant = "\n\t\r\f\v";
    if (byte == 'd') return digit_set();
    if (byte == 'D') return digit_set().negated();
    if (byte == 'w') return word_characters();
    if (byte == 'W') return word_characters().negated();
    if (byte == 's') return spaces();
    if (byte == 'S') return spaces().negated();
    if (const auto letter = kLetters.find(byte); letter != std::string_view::npos)
      return one(kMeant[letter]);
    if (byte == 'x') return hexadecimal(begin);
    const bool is_plain = word_characters().ascii[static_cast<unsigned char>(byte)];
    if (is_plain || static_cast<unsigned char>(byte) > 0x7e || byte < ' ')
      refuse(
          begin,
          {"no escape that is known; known are \\d \\w \\s \\D \\W \\S \\n \\t \\r \\f \\v \\xHH "
           "and a backslash before punctuation"});
    return one(byte);
  }

  CharacterSet hexadecimal(std::size_t begin) {
    int value = 0;
    for (int i = 0; i < 2; ++i) {
      static constexpr std::string_view kDigits = "0123456789abcdef";
      const char digit = at_end() ? ' ' : text_[at_++];
      const auto found =
          kDigits.find(digit >= 'A' && digit <= 'F' ? static_cast<char>(digit | 0x20) : digit);
      if (found == std::string_view::npos) value = 0x100;
      value = value * 16 + static_cast<int>(found & 15);
    }
    if (value > 0x7f)
      refuse(begin,
             {"\\x takes two hexadecimal digits up to 7f; write a character beyond as itself"});
    return one(static_cast<char>(value));
  }

  CharacterSet character_class() {
    const std::size_t begin = at_++;
    const bool is_negated = skip('^');
    CharacterSet set;
    while (!is_at(']')) {
      if (at_end())
        refuse(begin, {"the class is not closed; add ']', or write \\[ for the character"});
      const std::size_t item_begin = at_;
      const CharacterSet first = class_item();
      if (!is_at('-') || text_.substr(at_ + 1, 1) == "]" || at_ + 1 == text_.size()) {
        set.add(first);
        continue;
      }
      ++at_;
      const CharacterSet last = class_item();
      if (!first.is_one_byte() || !last.is_one_byte())
        refuse(item_begin, {"a range ends in single characters; write \\- for the character"});
      if (last.byte() < first.byte())
        refuse(item_begin, {"the range ends before it begins; write the smaller character first"});
      set.add({byte_range(first.byte(), last.byte())});
    }
    ++at_;
    // Before the negation: "[^]" is any character to some engines, and to others a class that lists
    // ']' and goes on.
    const bool is_listed = !set.is_empty();
    if (is_negated) set = set.negated();
    if (!is_listed || set.is_empty()) refuse(begin, {"the class matches no character; list one"});
    return set;
  }

  CharacterSet class_item() {
    if (is_at('\\')) return escape();
    const char byte = text_[at_];
    if (byte == '[' && text_.substr(at_ + 1, 1) == ":")
      refuse(at_,
             {"named classes are not known; write ranges such as a-z, or \\[ for the character"});
    if (static_cast<unsigned char>(byte) > 0x7f)
      refuse(at_, {"a class lists ASCII only; write characters beyond as alternatives: (x|y)"});
    ++at_;
    return one(byte);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Pattern parse_regular_expression(std::string_view expression) { return Parser(expression).whole(); }

ByteAutomaton regular_expression(std::string_view expression) {
  return automaton(parse_regular_expression(expression), "pattern");
}

}  // namespace draftproof::reference::model
