#include "gpu/emulator/text/declaration.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

namespace draftproof::gpu::emulator {
namespace {

/// A variable larger than this is a typing error: no GPU has the memory.
constexpr std::uint64_t kLargestVariable = std::uint64_t{1} << 40;

std::uint64_t parse_alignment(Lexer& lexer) {
  const std::int64_t value = lexer.expect_integer("the alignment");
  if (value <= 0 || value > (1 << 20) || !std::has_single_bit(static_cast<std::uint64_t>(value))) {
    lexer.fail("the alignment " + std::to_string(value) + " is not a power of two up to 2^20");
  }
  return static_cast<std::uint64_t>(value);
}

/// Everything before the name: .align, .ptr, vector and type in the orders compilers write.
void parse_attributes(Lexer& lexer, ParsedVariable& variable) {
  bool has_type = false;
  while (lexer.peek().kind == TokenKind::kWord && lexer.peek().text.front() == '.') {
    const Token word = lexer.next();
    if (word.text == ".align") {
      const std::uint64_t alignment = parse_alignment(lexer);
      // Behind .ptr, .align speaks of what the pointer points to.
      if (!variable.is_pointer) variable.alignment = alignment;
    } else if (word.text == ".ptr") {
      variable.is_pointer = true;
    } else if (variable.is_pointer && parse_space(word.text)) {
      continue;
    } else if (word.text == ".v2" || word.text == ".v4") {
      variable.vector = word.text.back() - '0';
    } else if (word.text == ".attribute") {
      lexer.expect('(', ".attribute");
      while (!lexer.accept(')')) {
        if (lexer.peek().kind == TokenKind::kEnd) lexer.fail(".attribute has no ')'");
        lexer.next();
      }
    } else if (const std::optional<ParsedType> type = parse_type(word.text)) {
      if (has_type) lexer.fail("a second type " + std::string(word.text), word.line);
      variable.type = *type;
      has_type = true;
    } else {
      lexer.fail("unknown word " + std::string(word.text) + " in a declaration", word.line);
    }
  }
  if (!has_type) lexer.fail("the declaration has no type; " + lexer.found());
}

void parse_dimensions(Lexer& lexer, ParsedVariable& variable) {
  while (lexer.accept('[')) {
    if (lexer.accept(']')) {
      variable.is_unsized = true;
      continue;
    }
    const std::int64_t size = lexer.expect_integer("a dimension");
    lexer.expect(']', "a dimension");
    if (size < 0 ||
        (size > 0 && variable.elements > kLargestVariable / static_cast<std::uint64_t>(size))) {
      lexer.fail("the size of " + std::string(variable.name) + " is out of range");
    }
    variable.elements *= static_cast<std::uint64_t>(size);
  }
  if (variable.bytes() > kLargestVariable) {
    lexer.fail("the size of " + std::string(variable.name) + " is out of range");
  }
  if (variable.is_unsized) variable.elements = 0;
}

/// Reads one number or address of an initialiser and appends its bytes.
void parse_element(Lexer& lexer, ParsedVariable& variable) {
  const std::size_t width = static_cast<std::size_t>(variable.type.bytes);
  std::uint64_t bits = 0;
  const int line = lexer.peek().line;
  const bool negative = lexer.accept('-');
  const Token token = lexer.next();
  if (token.kind == TokenKind::kInteger) {
    bits = negative ? 0 - token.bits : token.bits;
  } else if (token.kind == TokenKind::kFloat32 || token.kind == TokenKind::kFloat64) {
    double value =
        token.kind == TokenKind::kFloat32
            ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(token.bits)))
            : std::bit_cast<double>(token.bits);
    if (negative) value = -value;
    bits = width == 4 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                      : std::bit_cast<std::uint64_t>(value);
    // A pattern is kept as it is: a NaN must not pass through a conversion.
    if (token.kind == TokenKind::kFloat32 && width == 4 && !negative) bits = token.bits;
  } else if (token.kind == TokenKind::kWord) {
    ParsedAddress address;
    address.offset = variable.initial.size();
    address.line = line;
    address.bytes = variable.type.bytes;
    address.symbol = token.text;
    if (token.text == "generic") {
      lexer.expect('(', "generic()");
      address.symbol = lexer.expect_word("a symbol").text;
      lexer.expect(')', "generic()");
    }
    if (lexer.accept('+')) {
      address.addend = lexer.expect_integer("an offset");
    } else if (lexer.accept('-')) {
      // The lowest number has no negative; addresses wrap around.
      address.addend = static_cast<std::int64_t>(
          0 - static_cast<std::uint64_t>(lexer.expect_integer("an offset")));
    }
    if (width != 8) lexer.fail("only a 64-bit element can hold an address", line);
    variable.addresses.push_back(address);
  } else {
    lexer.fail("expected a number in the initialiser of " + std::string(variable.name), line);
  }
  std::byte bytes[8];
  std::memcpy(bytes, &bits, sizeof(bytes));
  variable.initial.insert(variable.initial.end(), bytes, bytes + width);
}

void parse_initial(Lexer& lexer, ParsedVariable& variable) {
  if (variable.type.bytes == 0 || variable.type.bytes > 8) {
    lexer.fail("an initialiser of this type is not implemented");
  }
  variable.initial.reserve(std::min<std::uint64_t>(variable.bytes(), 1 << 20));
  if (!lexer.is_mark('{')) {
    parse_element(lexer, variable);
  } else {
    int depth = 0;
    do {
      if (lexer.accept('{')) {
        ++depth;
      } else if (lexer.accept('}')) {
        --depth;
      } else if (!lexer.accept(',')) {
        parse_element(lexer, variable);
      }
    } while (depth > 0);
  }
  if (variable.is_unsized && variable.elements == 0) {
    variable.elements = variable.initial.size() / static_cast<std::size_t>(variable.type.bytes) /
                        static_cast<std::size_t>(variable.vector);
    variable.is_unsized = false;
  }
  if (variable.initial.size() > variable.bytes()) {
    lexer.fail("the initialiser of " + std::string(variable.name) + " is longer than the variable");
  }
}

}  // namespace

std::optional<ParsedType> parse_type(std::string_view word) {
  if (word == ".pred") return ParsedType{'p', 0};
  if (word == ".bf16") return ParsedType{'f', 2};
  if (word == ".f16x2" || word == ".bf16x2") return ParsedType{'f', 4};
  if (word.size() < 3 || word[0] != '.') return std::nullopt;
  const char letter = word[1];
  const std::string_view size = word.substr(2);
  const int bytes = size == "8"     ? 1
                    : size == "16"  ? 2
                    : size == "32"  ? 4
                    : size == "64"  ? 8
                    : size == "128" ? 16
                                    : 0;
  const bool is_known = letter == 'b'                    ? bytes != 0
                        : letter == 'u' || letter == 's' ? bytes != 0 && bytes != 16
                        : letter == 'f'                  ? bytes >= 2 && bytes != 16
                                                         : false;
  if (!is_known) return std::nullopt;
  return ParsedType{letter, bytes};
}

std::optional<ParsedSpace> parse_space(std::string_view word) {
  if (word == ".reg") return ParsedSpace::kRegister;
  if (word == ".global") return ParsedSpace::kGlobal;
  if (word == ".const") return ParsedSpace::kConst;
  if (word == ".shared") return ParsedSpace::kShared;
  if (word == ".local") return ParsedSpace::kLocal;
  if (word == ".param") return ParsedSpace::kParam;
  return std::nullopt;
}

std::vector<ParsedVariable> parse_variables(Lexer& lexer, ParsedSpace space, bool is_extern) {
  ParsedVariable common;
  common.space = space;
  common.is_extern = is_extern;
  common.line = lexer.peek().line;
  parse_attributes(lexer, common);
  std::vector<ParsedVariable> result;
  do {
    ParsedVariable variable = common;
    const Token name = lexer.expect_word("a name");
    variable.name = name.text;
    variable.line = name.line;
    if (space == ParsedSpace::kRegister && lexer.accept('<')) {
      variable.count = lexer.expect_integer("the number of registers");
      if (variable.count < 0 || variable.count > (1 << 24)) {
        lexer.fail("the number of registers " + std::to_string(variable.count) +
                   " is out of range");
      }
      lexer.expect('>', "the number of registers");
    }
    parse_dimensions(lexer, variable);
    if (lexer.accept('=')) parse_initial(lexer, variable);
    result.push_back(std::move(variable));
  } while (lexer.accept(','));
  lexer.expect(';', "a declaration");
  return result;
}

std::vector<ParsedVariable> parse_parameters(Lexer& lexer) {
  std::vector<ParsedVariable> result;
  lexer.expect('(', "a parameter list");
  if (lexer.accept(')')) return result;
  do {
    ParsedVariable variable;
    variable.space = ParsedSpace::kParam;
    variable.line = lexer.peek().line;
    if (!lexer.accept_word(".param")) {
      lexer.fail("a parameter must be .param; " + lexer.found());
    }
    parse_attributes(lexer, variable);
    variable.name = lexer.expect_word("the parameter's name").text;
    parse_dimensions(lexer, variable);
    result.push_back(std::move(variable));
  } while (lexer.accept(','));
  lexer.expect(')', "a parameter list");
  return result;
}

}  // namespace draftproof::gpu::emulator
