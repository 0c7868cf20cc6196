// The module level of PTX: directives, variables, functions. PTX ISA 9.0, chapter 11.
#include <array>
#include <string>
#include <utility>

#include "gpu/emulator/text/declaration.h"
#include "gpu/emulator/text/lexer.h"
#include "gpu/emulator/text/parsed_module.h"

namespace draftproof::gpu::emulator {
namespace {

std::vector<std::uint32_t> parse_dimension_list(Lexer& lexer, std::string_view what) {
  std::vector<std::uint32_t> result;
  do {
    const std::int64_t value = lexer.expect_integer(what);
    if (value <= 0 || value > 0x7fffffff) lexer.fail(std::string(what) + " is out of range");
    result.push_back(static_cast<std::uint32_t>(value));
  } while (result.size() < 3 && lexer.accept(','));
  return result;
}

/// Directives between a function's header and its body.
void parse_function_directives(Lexer& lexer, ParsedFunction& function) {
  constexpr std::array kWithNumbers = {".minnctapersm",   ".maxnctapersm", ".maxnreg",
                                       ".maxclusterrank", ".abi_preserve", ".abi_preserve_control"};
  while (lexer.peek().kind == TokenKind::kWord) {
    const Token word = lexer.next();
    if (word.text == ".reqntid") {
      function.required_block = parse_dimension_list(lexer, ".reqntid");
    } else if (word.text == ".maxntid") {
      function.max_block = parse_dimension_list(lexer, ".maxntid");
    } else if (word.text == ".reqnctapercluster") {
      function.required_cluster = parse_dimension_list(lexer, ".reqnctapercluster");
    } else if (word.text == ".explicitcluster" || word.text == ".noreturn" ||
               word.text == ".blocksareclusters") {
      continue;
    } else if (word.text == ".pragma") {
      while (lexer.peek().kind == TokenKind::kString) {
        lexer.next();
        lexer.accept(',');
      }
      lexer.expect(';', ".pragma");
    } else {
      bool is_known = false;
      for (const std::string_view known : kWithNumbers) is_known |= word.text == known;
      if (!is_known) {
        lexer.fail("unknown directive " + std::string(word.text) + " of a function", word.line);
      }
      parse_dimension_list(lexer, word.text);
    }
  }
}

ParsedFunction parse_function(Lexer& lexer, bool is_entry) {
  ParsedFunction function;
  function.is_entry = is_entry;
  if (!is_entry && lexer.is_mark('(')) function.results = parse_parameters(lexer);
  const Token name = lexer.expect_word("the function's name");
  function.name = name.text;
  function.line = name.line;
  if (lexer.is_mark('(')) function.parameters = parse_parameters(lexer);
  parse_function_directives(lexer, function);
  if (lexer.accept(';')) return function;
  function.has_body = true;
  function.body_line = lexer.peek().line;
  function.body = lexer.skip_braces("the body of " + std::string(function.name));
  return function;
}

void parse_source_file(Lexer& lexer, ParsedModule& module) {
  const std::int64_t number = lexer.expect_integer("the number of a source file");
  if (number < 0 || number > (1 << 20)) lexer.fail("the number of the source file is out of range");
  if (lexer.peek().kind != TokenKind::kString) lexer.fail(".file has no name");
  const std::string name(lexer.next().text);
  while (lexer.accept(',')) lexer.expect_integer("a time or size of .file");
  lexer.accept(';');
  const std::size_t index = static_cast<std::size_t>(number);
  if (module.source_files.size() <= index) module.source_files.resize(index + 1);
  module.source_files[index] = name;
}

void parse_target(Lexer& lexer, ParsedModule& module) {
  do {
    const std::string word(lexer.expect_word("the target").text);
    if (module.target.empty()) module.target = word;
  } while (lexer.accept(','));
}

void parse_version(Lexer& lexer, ParsedModule& module) {
  if (lexer.peek().kind != TokenKind::kFloat64) lexer.fail(".version needs a number like 9.0");
  module.version = std::string(lexer.next().text);
}

/// A statement that opens with a linkage word or directly with a space, .func or .entry.
void parse_definition(Lexer& lexer, ParsedModule& module, const Token& first) {
  Token word = first;
  bool is_extern = false;
  while (word.text == ".visible" || word.text == ".extern" || word.text == ".weak" ||
         word.text == ".common") {
    is_extern = is_extern || word.text == ".extern";
    word = lexer.expect_word("a definition");
  }
  if (word.text == ".entry" || word.text == ".func") {
    while (lexer.accept_word(".attribute")) {
      lexer.expect('(', ".attribute");
      while (!lexer.accept(')')) {
        if (lexer.peek().kind == TokenKind::kEnd) lexer.fail(".attribute has no ')'");
        lexer.next();
      }
    }
    ParsedFunction function = parse_function(lexer, word.text == ".entry");
    module.functions.push_back(std::move(function));
    return;
  }
  const std::optional<ParsedSpace> space = parse_space(word.text);
  if (!space || *space == ParsedSpace::kParam || *space == ParsedSpace::kLocal) {
    lexer.fail("unknown directive " + std::string(word.text) + " of a module", word.line);
  }
  for (ParsedVariable& variable : parse_variables(lexer, *space, is_extern)) {
    module.variables.push_back(std::move(variable));
  }
}

}  // namespace

ParsedModule parse_module(std::string_view text, std::string_view file_name) {
  ParsedModule module;
  module.file_name = std::string(file_name);
  Lexer lexer(text, module.file_name);
  while (lexer.peek().kind != TokenKind::kEnd) {
    if (lexer.accept(';')) continue;
    const Token word = lexer.expect_word("a directive");
    if (word.text == ".version") {
      parse_version(lexer, module);
    } else if (word.text == ".target") {
      parse_target(lexer, module);
    } else if (word.text == ".address_size") {
      module.address_size = static_cast<int>(lexer.expect_integer(".address_size"));
      if (module.address_size != 64) {
        lexer.fail(".address_size must be 64; nothing later than sm_80 has another", word.line);
      }
    } else if (word.text == ".file") {
      parse_source_file(lexer, module);
    } else if (word.text == ".section") {
      lexer.expect_word("the section's name");
      lexer.skip_braces("a section");
    } else if (word.text == ".pragma") {
      while (!lexer.accept(';')) {
        if (lexer.peek().kind == TokenKind::kEnd) lexer.fail(".pragma has no ';'");
        lexer.next();
      }
    } else {
      parse_definition(lexer, module, word);
    }
  }
  if (module.version.empty()) lexer.fail("the text has no .version: it is not PTX");
  return module;
}

}  // namespace draftproof::gpu::emulator
