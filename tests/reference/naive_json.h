// JSON recognised by descent, as RFC 8259 has it: no automaton, no code of reference/model. A
// surrogate is well-formed as the first or second half of a pair only.
#pragma once

#include <cstdint>
#include <string_view>

namespace draftproof::tests {

class NaiveJson {
 public:
  /// `text` is one value with at most `depth` containers within each other.
  static bool accepts(std::string_view text, int depth, bool has_whitespace = false) {
    NaiveJson json{text, has_whitespace};
    json.skip_space();
    return json.value(depth) && (json.skip_space(), json.rest_.empty());
  }

 private:
  NaiveJson(std::string_view text, bool has_whitespace)
      : rest_(text), has_whitespace_(has_whitespace) {}

  char front() const { return rest_.empty() ? '\0' : rest_[0]; }
  bool skip(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void skip_space() {
    while (has_whitespace_ && (skip(" ") || skip("\t") || skip("\n") || skip("\r"))) {
    }
  }

  bool value(int depth) {
    if (front() == '"') return string();
    if (front() == '[') return depth > 0 && array(depth);
    if (front() == '{') return depth > 0 && object(depth);
    return skip("true") || skip("false") || skip("null") || number();
  }

  bool array(int depth) {
    skip("["), skip_space();
    if (skip("]")) return true;
    do {
      skip_space();
      if (!value(depth - 1)) return false;
      skip_space();
    } while (skip(","));
    return skip("]");
  }

  bool object(int depth) {
    skip("{"), skip_space();
    if (skip("}")) return true;
    do {
      skip_space();
      if (!string()) return false;
      skip_space();
      if (!skip(":")) return false;
      skip_space();
      if (!value(depth - 1)) return false;
      skip_space();
    } while (skip(","));
    return skip("}");
  }

  bool is_digit() const { return front() >= '0' && front() <= '9'; }
  bool digits() {
    if (!is_digit()) return false;
    while (is_digit()) rest_.remove_prefix(1);
    return true;
  }
  bool number() {
    skip("-");
    if (!skip("0") && !digits()) return false;
    if (skip(".") && !digits()) return false;
    if (skip("e") || skip("E")) {
      if (!skip("+")) skip("-");
      return digits();
    }
    return true;
  }

  /// The four hexadecimal digits at the front, or -1.
  int hexadecimal() {
    int code = 0;
    for (int i = 0; i < 4; ++i) {
      const char digit = front();
      if (is_digit())
        code = code * 16 + (digit - '0');
      else if ((digit >= 'a' && digit <= 'f') || (digit >= 'A' && digit <= 'F'))
        code = code * 16 + ((digit | 0x20) - 'a' + 10);
      else
        return -1;
      rest_.remove_prefix(1);
    }
    return code;
  }

  bool escape() {
    for (const char* letter : {"\"", "\\", "/", "b", "f", "n", "r", "t"})
      if (skip(letter)) return true;
    if (!skip("u")) return false;
    const int code = hexadecimal();
    if (code < 0) return false;
    if (code < 0xd800 || code > 0xdfff) return true;
    if (code > 0xdbff || !skip("\\u")) return false;
    const int second = hexadecimal();
    return second >= 0xdc00 && second <= 0xdfff;
  }

  bool character() {
    if (skip("\\")) return escape();
    const auto lead = static_cast<unsigned char>(front());
    if (rest_.empty() || lead < 0x20 || (lead >= 0x80 && lead < 0xc0) || lead > 0xf7) return false;
    rest_.remove_prefix(1);
    if (lead < 0x80) return true;
    const int tails = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    std::uint32_t code = lead & (0x3fu >> tails);
    for (int i = 0; i < tails; ++i) {
      const auto tail = static_cast<unsigned char>(front());
      if (rest_.empty() || (tail & 0xc0) != 0x80) return false;
      code = code << 6 | (tail & 0x3fu);
      rest_.remove_prefix(1);
    }
    const std::uint32_t least = tails == 1 ? 0x80 : tails == 2 ? 0x800 : 0x10000;
    return code >= least && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  }

  bool string() {
    if (!skip("\"")) return false;
    while (!skip("\""))
      if (!character()) return false;
    return true;
  }

  std::string_view rest_;
  bool has_whitespace_;
};

}  // namespace draftproof::tests
