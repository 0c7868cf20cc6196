// Lexer: PTX text to tokens with their lines. An opcode with all its suffixes is one word
// (ld.global.v4.f32, shared::cluster), a directive is one word per dot (.reg .b32). PTX ISA 9.0,
// chapter 4 (syntax).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace draftproof::gpu::emulator {

enum class TokenKind : std::uint8_t { kWord, kInteger, kFloat32, kFloat64, kString, kMark, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  char mark = 0;           ///< kMark: the character
  std::string_view text;   ///< as written; kString: without the quotes
  std::uint64_t bits = 0;  ///< numbers: the value, or the pattern of a float
  int line = 0;
};

/// Reads one token ahead. Throws Error(kInput) at "FILE:LINE" for text that is no token.
class Lexer {
 public:
  Lexer(std::string_view text, std::string_view file_name, int first_line = 1);

  const Token& peek() const { return token_; }
  Token next();
  bool is_mark(char mark) const { return token_.kind == TokenKind::kMark && token_.mark == mark; }
  bool is_word(std::string_view word) const {
    return token_.kind == TokenKind::kWord && token_.text == word;
  }
  /// Consumes the mark when it is next.
  bool accept(char mark);
  bool accept_word(std::string_view word);
  /// Consumes the mark or throws; `where` says in which construct.
  void expect(char mark, std::string_view where);
  Token expect_word(std::string_view what);
  std::int64_t expect_integer(std::string_view what);

  /// The text between braces when the lexer stands on '{', which it then passes with its partner.
  /// Nothing inside is read except comments and strings, in which braces do not count.
  std::string_view skip_braces(std::string_view what);

  [[noreturn]] void fail(const std::string& message) const { fail(message, token_.line); }
  [[noreturn]] void fail(const std::string& message, int line) const;
  /// "a word", "the end of the text": what stands where something else was expected.
  std::string found() const;

 private:
  void skip_blanks();
  void read();
  void read_word();
  void read_number();
  void read_decimal(std::size_t end);
  void read_string();

  std::string_view text_;
  std::string_view file_name_;
  std::size_t at_ = 0;
  int line_ = 1;
  Token token_;
  std::size_t token_start_ = 0;
};

}  // namespace draftproof::gpu::emulator
