// The inside of a function: statements with operands, names unresolved. PTX ISA 9.0, chapter 4.
#include <charconv>
#include <string>
#include <utility>

#include "gpu/emulator/text/declaration.h"
#include "gpu/emulator/text/lexer.h"
#include "gpu/emulator/text/parsed_module.h"

namespace draftproof::gpu::emulator {
namespace {

class BodyParser {
 public:
  BodyParser(const ParsedModule& module, const ParsedFunction& function)
      : lexer_(function.body, module.file_name, function.body_line), function_(function) {}

  ParsedBody run() {
    while (lexer_.peek().kind != TokenKind::kEnd) statement();
    if (depth_ != 0) lexer_.fail("a '{' in " + std::string(function_.name) + " has no partner");
    return std::move(body_);
  }

 private:
  void statement();
  void directive(const Token& word);
  void location();
  void pragma();
  void labelled(const Token& word);
  void instruction(const Token& word, std::string_view guard, bool guard_is_negated);
  void call_arguments();
  ParsedOperand operand();
  ParsedOperand address();
  ParsedOperand group(char close, OperandKind kind);
  void offset(ParsedOperand& operand);
  ParsedStatement& add(StatementKind kind, int line);

  Lexer lexer_;
  const ParsedFunction& function_;
  ParsedBody body_;
  int depth_ = 0;
  int nesting_ = 0;
  int source_file_ = 0;
  int source_line_ = 0;
  std::uint32_t used_bytes_mask_ = 0xffffffffu;
};

ParsedStatement& BodyParser::add(StatementKind kind, int line) {
  ParsedStatement& statement = body_.statements.emplace_back();
  statement.kind = kind;
  statement.line = line;
  statement.source_file = source_file_;
  statement.source_line = source_line_;
  return statement;
}

void BodyParser::statement() {
  const int line = lexer_.peek().line;
  if (lexer_.accept(';')) return;
  if (lexer_.accept('{')) {
    ++depth_;
    add(StatementKind::kOpen, line);
    return;
  }
  if (lexer_.accept('}')) {
    if (--depth_ < 0) lexer_.fail("a '}' without a '{'", line);
    add(StatementKind::kClose, line);
    return;
  }
  if (lexer_.accept('@')) {
    const bool negated = lexer_.accept('!');
    const Token guard = lexer_.expect_word("the guard's predicate");
    instruction(lexer_.expect_word("an instruction"), guard.text, negated);
    return;
  }
  const Token word = lexer_.expect_word("an instruction");
  if (word.text.front() == '.') {
    directive(word);
  } else if (lexer_.accept(':')) {
    labelled(word);
  } else {
    instruction(word, {}, false);
  }
}

void BodyParser::directive(const Token& word) {
  if (word.text == ".loc") return location();
  if (word.text == ".pragma") return pragma();
  const std::optional<ParsedSpace> space = parse_space(word.text);
  if (!space) {
    lexer_.fail("unknown directive " + std::string(word.text) + " in a body", word.line);
  }
  for (ParsedVariable& variable : parse_variables(lexer_, *space, false)) {
    add(StatementKind::kVariable, variable.line).first =
        static_cast<std::uint32_t>(body_.variables.size());
    body_.variables.push_back(std::move(variable));
  }
}

void BodyParser::location() {
  source_file_ = static_cast<int>(lexer_.expect_integer("the file of .loc"));
  source_line_ = static_cast<int>(lexer_.expect_integer("the line of .loc"));
  lexer_.expect_integer("the column of .loc");
  while (lexer_.accept(',')) {
    const Token word = lexer_.expect_word("function_name or inlined_at");
    if (word.text == "function_name") {
      lexer_.expect_word("the name's label");
      if (lexer_.accept('+')) lexer_.expect_integer("the name's offset");
    } else if (word.text == "inlined_at") {
      for (int i = 0; i < 3; ++i) lexer_.expect_integer("the place of inlined_at");
    } else {
      lexer_.fail("unknown word " + std::string(word.text) + " in .loc", word.line);
    }
  }
}

void BodyParser::pragma() {
  while (lexer_.peek().kind == TokenKind::kString) {
    const std::string_view text = lexer_.next().text;
    constexpr std::string_view kUsed = "used_bytes_mask";
    if (text.substr(0, kUsed.size()) == kUsed) {
      std::string_view number = text.substr(kUsed.size());
      while (!number.empty() && number.front() == ' ') number.remove_prefix(1);
      int base = 10;
      if (number.substr(0, 2) == "0x") {
        number.remove_prefix(2);
        base = 16;
      }
      std::uint32_t mask = 0;
      const auto result = std::from_chars(number.data(), number.data() + number.size(), mask, base);
      if (result.ec != std::errc{}) lexer_.fail("used_bytes_mask has no 32-bit number");
      used_bytes_mask_ = mask;
    }
    lexer_.accept(',');
  }
  lexer_.expect(';', ".pragma");
}

void BodyParser::labelled(const Token& word) {
  if (lexer_.accept_word(".branchtargets")) {
    const auto first = static_cast<std::uint32_t>(body_.operands.size());
    do {
      ParsedOperand label;
      label.name = lexer_.expect_word("a label").text;
      body_.operands.push_back(label);
    } while (lexer_.accept(','));
    lexer_.expect(';', ".branchtargets");
    ParsedStatement& table = add(StatementKind::kBranchTargets, word.line);
    table.name = word.text;
    table.first = first;
    table.count = static_cast<std::uint32_t>(body_.operands.size()) - first;
    return;
  }
  if (lexer_.is_word(".callprototype") || lexer_.is_word(".calltargets")) {
    while (!lexer_.accept(';')) {
      if (lexer_.peek().kind == TokenKind::kEnd) lexer_.fail("the prototype has no ';'", word.line);
      lexer_.next();
    }
    add(StatementKind::kPrototype, word.line).name = word.text;
    return;
  }
  add(StatementKind::kLabel, word.line).name = word.text;
}

void BodyParser::instruction(const Token& word, std::string_view guard, bool guard_is_negated) {
  std::vector<ParsedOperand> operands;
  if (!lexer_.accept(';')) {
    do {
      operands.push_back(operand());
    } while (lexer_.accept(','));
    lexer_.expect(';', word.text);
  }
  ParsedStatement& statement = add(StatementKind::kInstruction, word.line);
  statement.name = word.text;
  statement.guard = guard;
  statement.guard_is_negated = guard_is_negated;
  statement.used_bytes_mask = std::exchange(used_bytes_mask_, 0xffffffffu);
  statement.first = static_cast<std::uint32_t>(body_.operands.size());
  statement.count = static_cast<std::uint32_t>(operands.size());
  body_.operands.insert(body_.operands.end(), operands.begin(), operands.end());
}

ParsedOperand BodyParser::group(char close, OperandKind kind) {
  std::vector<ParsedOperand> elements;
  if (++nesting_ > 4) lexer_.fail("operands are nested too deeply");
  if (!lexer_.accept(close)) {
    do {
      elements.push_back(operand());
    } while (lexer_.accept(','));
    lexer_.expect(close, "a group of operands");
  }
  --nesting_;
  ParsedOperand result;
  result.kind = kind;
  result.first = static_cast<std::uint32_t>(body_.elements.size());
  result.count = static_cast<std::uint32_t>(elements.size());
  body_.elements.insert(body_.elements.end(), elements.begin(), elements.end());
  return result;
}

void BodyParser::offset(ParsedOperand& operand) {
  while (true) {
    std::int64_t sign = 1;
    if (lexer_.accept('-')) {
      sign = -1;
    } else if (!lexer_.accept('+')) {
      return;
    }
    const auto value = static_cast<std::uint64_t>(lexer_.expect_integer("an offset"));
    operand.value = static_cast<std::int64_t>(static_cast<std::uint64_t>(operand.value) +
                                              static_cast<std::uint64_t>(sign) * value);
  }
}

ParsedOperand BodyParser::address() {
  ParsedOperand result = operand();
  if (result.kind == OperandKind::kInteger) {
    result.name = {};
  } else if (result.kind != OperandKind::kName || result.is_negated || !result.second.empty()) {
    lexer_.fail("an address must be [register or symbol + offset]");
  }
  result.kind = OperandKind::kAddress;
  // Tensor coordinates; the instructions that have them are told apart by their form.
  std::vector<ParsedOperand> rest;
  while (lexer_.accept(',')) rest.push_back(operand());
  result.first = static_cast<std::uint32_t>(body_.elements.size());
  result.count = static_cast<std::uint32_t>(rest.size());
  body_.elements.insert(body_.elements.end(), rest.begin(), rest.end());
  lexer_.expect(']', "an address");
  return result;
}

ParsedOperand BodyParser::operand() {
  if (lexer_.accept('{')) return group('}', OperandKind::kVector);
  if (lexer_.accept('(')) return group(')', OperandKind::kList);
  if (lexer_.accept('[')) {
    if (++nesting_ > 4) lexer_.fail("operands are nested too deeply");
    ParsedOperand result = address();
    --nesting_;
    return result;
  }
  ParsedOperand result;
  result.is_negated = lexer_.accept('!');
  const int line = lexer_.peek().line;
  const bool minus = lexer_.accept('-');
  const Token token = lexer_.peek();
  switch (token.kind) {
    case TokenKind::kWord:
      if (minus) break;
      lexer_.next();
      result.name = token.text;
      if (token.text == "_") result.kind = OperandKind::kSink;
      if (lexer_.accept('|')) result.second = lexer_.expect_word("the predicate behind '|'").text;
      offset(result);
      return result;
    case TokenKind::kInteger:
      lexer_.next();
      result.kind = OperandKind::kInteger;
      result.value = static_cast<std::int64_t>(minus ? 0 - token.bits : token.bits);
      offset(result);
      return result;
    case TokenKind::kFloat32:
    case TokenKind::kFloat64: {
      lexer_.next();
      const bool single = token.kind == TokenKind::kFloat32;
      result.kind = single ? OperandKind::kFloat32 : OperandKind::kFloat64;
      const std::uint64_t sign = minus ? std::uint64_t{1} << (single ? 31 : 63) : 0;
      result.value = static_cast<std::int64_t>(token.bits ^ sign);
      return result;
    }
    default:
      break;
  }
  lexer_.fail("expected an operand, where " + lexer_.found(), line);
}

}  // namespace

ParsedBody parse_body(const ParsedModule& module, const ParsedFunction& function) {
  return BodyParser(module, function).run();
}

}  // namespace draftproof::gpu::emulator
