#include "gpu/emulator/text/lexer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <string>

#include "reference/error.h"

namespace draftproof::gpu::emulator {
namespace {

constexpr std::uint8_t kStartsWord = 1, kContinuesWord = 2, kDigit = 4, kLetter = 8;

/// What each character can be: modules have tens of megabytes, so no call into the C library.
constexpr std::array<std::uint8_t, 256> kClasses = [] {
  std::array<std::uint8_t, 256> classes{};
  for (int c = 0; c < 256; ++c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_digit = c >= '0' && c <= '9';
    const bool is_sign = c == '_' || c == '$' || c == '%';
    std::uint8_t flags = 0;
    if (is_letter) flags |= kLetter;
    if (is_digit) flags |= kDigit;
    if (is_letter || is_sign) flags |= kStartsWord;
    if (is_letter || is_sign || is_digit) flags |= kContinuesWord;
    classes[static_cast<std::size_t>(c)] = flags;
  }
  return classes;
}();

bool is_class(char c, std::uint8_t flag) {
  return (kClasses[static_cast<unsigned char>(c)] & flag) != 0;
}
bool starts_word(char c) { return is_class(c, kStartsWord); }
bool continues_word(char c) { return is_class(c, kContinuesWord); }
bool is_digit(char c) { return is_class(c, kDigit); }
bool is_letter(char c) { return is_class(c, kLetter); }

/// The value of a digit in bases up to 16, or 16 for what is no digit.
unsigned digit_value(char c) {
  if (is_digit(c)) return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return 16;
}

}  // namespace

Lexer::Lexer(std::string_view text, std::string_view file_name, int first_line)
    : text_(text), file_name_(file_name), line_(first_line) {
  read();
}

void Lexer::fail(const std::string& message, int line) const {
  throw Error(ErrorKind::kInput, message, std::string(file_name_) + ":" + std::to_string(line));
}

std::string Lexer::found() const {
  if (token_.kind == TokenKind::kEnd) return "the text ends";
  if (token_.kind == TokenKind::kMark) return std::string("'") + token_.mark + "' stands";
  return "'" + std::string(token_.text.substr(0, 60)) + "' stands";
}

Token Lexer::next() {
  Token result = token_;
  read();
  return result;
}

bool Lexer::accept(char mark) {
  if (!is_mark(mark)) return false;
  read();
  return true;
}

bool Lexer::accept_word(std::string_view word) {
  if (!is_word(word)) return false;
  read();
  return true;
}

void Lexer::expect(char mark, std::string_view where) {
  if (!accept(mark)) {
    fail(std::string("expected '") + mark + "' in " + std::string(where) + ", where " + found());
  }
}

Token Lexer::expect_word(std::string_view what) {
  if (token_.kind != TokenKind::kWord) {
    fail("expected " + std::string(what) + ", where " + found());
  }
  return next();
}

std::int64_t Lexer::expect_integer(std::string_view what) {
  const bool negative = accept('-');
  if (token_.kind != TokenKind::kInteger) {
    fail("expected " + std::string(what) + ", a whole number, where " + found());
  }
  const std::uint64_t bits = next().bits;
  return static_cast<std::int64_t>(negative ? 0 - bits : bits);
}

std::string_view Lexer::skip_braces(std::string_view what) {
  const int first_line = token_.line;
  if (!is_mark('{')) fail("expected '{' of " + std::string(what) + ", where " + found());
  const std::size_t begin = token_start_ + 1;
  at_ = begin;
  line_ = first_line;
  for (int depth = 1; at_ < text_.size();) {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}') {
      if (--depth == 0) {
        const std::string_view inside = text_.substr(begin, at_ - begin);
        ++at_;
        read();
        return inside;
      }
    } else if (c == '/' && at_ + 1 < text_.size() &&
               (text_[at_ + 1] == '/' || text_[at_ + 1] == '*')) {
      skip_blanks();
      continue;
    } else if (c == '"') {
      do {
        ++at_;
      } while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n');
      if (at_ >= text_.size()) break;
      if (text_[at_] == '\n') continue;
    }
    ++at_;
  }
  fail("the brace that opens " + std::string(what) + " has no partner", first_line);
}

void Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
      ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at_;
    } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '*') {
      const int first_line = line_;
      const std::size_t end = text_.find("*/", at_ + 2);
      if (end == std::string_view::npos) fail("the comment has no end", first_line);
      for (; at_ < end + 2; ++at_) line_ += text_[at_] == '\n';
    } else {
      return;
    }
  }
}

void Lexer::read() {
  skip_blanks();
  token_ = Token{};
  token_.line = line_;
  token_start_ = at_;
  // A text that a C string carried may end with its zero byte.
  if (at_ >= text_.size() || (text_[at_] == '\0' && at_ + 1 == text_.size())) {
    at_ = text_.size();
    return;
  }
  const char c = text_[at_];
  if (starts_word(c) || (c == '.' && at_ + 1 < text_.size() && starts_word(text_[at_ + 1]))) {
    read_word();
  } else if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
    read_number();
  } else if (c == '"') {
    read_string();
  } else if (std::string_view("{}[](),;:+-|@!<>=*/&~^?").find(c) != std::string_view::npos) {
    token_.kind = TokenKind::kMark;
    token_.mark = c;
    token_.text = text_.substr(at_++, 1);
  } else {
    fail("the character with code " + std::to_string(static_cast<unsigned char>(c)) +
         " has no meaning in PTX");
  }
}

void Lexer::read_word() {
  const std::size_t begin = at_;
  const bool is_directive = text_[at_] == '.';
  ++at_;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    const char after = at_ + 1 < text_.size() ? text_[at_ + 1] : ' ';
    if (continues_word(c)) {
      ++at_;
    } else if (c == '.' && !is_directive && continues_word(after)) {
      ++at_;
    } else if (c == ':' && after == ':') {
      at_ += 2;
    } else {
      break;
    }
  }
  token_.kind = TokenKind::kWord;
  token_.text = text_.substr(begin, at_ - begin);
}

void Lexer::read_string() {
  const std::size_t begin = ++at_;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') ++at_;
  if (at_ >= text_.size() || text_[at_] != '"') fail("the string has no closing quote");
  token_.kind = TokenKind::kString;
  token_.text = text_.substr(begin, at_ - begin);
  ++at_;
}

void Lexer::read_decimal(std::size_t end) {
  double value = 0;
  const std::from_chars_result result =
      std::from_chars(token_.text.data(), token_.text.data() + token_.text.size(), value);
  if (result.ec != std::errc{} || result.ptr != token_.text.data() + token_.text.size()) {
    fail("'" + std::string(token_.text.substr(0, 60)) + "' is not a number");
  }
  token_.kind = TokenKind::kFloat64;
  token_.bits = std::bit_cast<std::uint64_t>(value);
  at_ = end;
}

void Lexer::read_number() {
  const std::size_t begin = at_;
  std::size_t end = at_;
  const char second = at_ + 1 < text_.size() ? text_[at_ + 1] : ' ';
  const bool has_prefix = text_[at_] == '0' && is_letter(second);
  bool is_decimal = false;
  while (end < text_.size()) {
    const char c = text_[end];
    const bool is_exponent_sign = !has_prefix && (c == '-' || c == '+') && end > begin &&
                                  (text_[end - 1] == 'e' || text_[end - 1] == 'E');
    if (!continues_word(c) && c != '.' && !is_exponent_sign) break;
    is_decimal = is_decimal || c == '.' || (!has_prefix && (c == 'e' || c == 'E'));
    ++end;
  }
  token_.text = text_.substr(begin, end - begin);
  if (is_decimal) return read_decimal(end);

  std::string_view digits = token_.text;
  const auto bad = [&] {
    fail("'" + std::string(token_.text.substr(0, 60)) + "' is not a number");
  };
  token_.kind = TokenKind::kInteger;
  unsigned base = 10;
  std::size_t exact_digits = 0;
  if (has_prefix && (second == 'f' || second == 'F' || second == 'd' || second == 'D')) {
    const bool single = second == 'f' || second == 'F';
    token_.kind = single ? TokenKind::kFloat32 : TokenKind::kFloat64;
    exact_digits = single ? 8 : 16;
    base = 16;
    digits.remove_prefix(2);
    if (digits.size() != exact_digits) bad();
  } else {
    if (digits.back() == 'U' || digits.back() == 'u') digits.remove_suffix(1);
    if (has_prefix && (second == 'x' || second == 'X')) {
      base = 16;
      digits.remove_prefix(std::min<std::size_t>(2, digits.size()));
    } else if (has_prefix && (second == 'b' || second == 'B')) {
      base = 2;
      digits.remove_prefix(std::min<std::size_t>(2, digits.size()));
    } else if (digits.size() > 1 && digits[0] == '0') {
      base = 8;
    }
  }
  if (digits.empty()) bad();
  for (const char c : digits) {
    const unsigned digit = digit_value(c);
    if (digit >= base) bad();
    if (token_.bits > (~std::uint64_t{0} - digit) / base) {
      fail("'" + std::string(token_.text.substr(0, 60)) + "' does not fit in 64 bits");
    }
    token_.bits = token_.bits * base + digit;
  }
  at_ = end;
}

}  // namespace draftproof::gpu::emulator
