// Calls: device functions are expanded in place, with the caller's parameter variables standing for
// the callee's parameters; vprintf and __assertfail are the machine's.
#include <string>
#include <utility>
#include <vector>

#include "gpu/emulator/code/entry_decoder.h"

namespace draftproof::gpu::emulator {
namespace {

std::vector<ParsedOperand> list_of(const ParsedBody& body, const ParsedOperand& operand) {
  return {body.elements.begin() + operand.first,
          body.elements.begin() + operand.first + operand.count};
}

}  // namespace

/// call {(results),} function {, (arguments)} {, prototype};
void EntryDecoder::bind_call(const ParsedStatement& statement, Instruction instruction) {
  const ParsedBody& body = *expansions_.back()->body;
  check_count(statement, 1, 4);
  const ParsedOperand* operands = body.operands.data() + statement.first;
  std::size_t at = 0;
  std::vector<ParsedOperand> results, arguments;
  if (operands[at].kind == OperandKind::kList) results = list_of(body, operands[at++]);
  if (at >= statement.count || operands[at].kind != OperandKind::kName) {
    fail("the callee of " + std::string(statement.name) + " must be a function");
  }
  const std::string_view name = operands[at++].name;
  if (at < statement.count && operands[at].kind == OperandKind::kList) {
    arguments = list_of(body, operands[at++]);
  }
  const ParsedFunction* function = symbols_.find_function(name);
  if (function == nullptr || scopes_.find(name)) {
    if (scopes_.find(name))
      fail("the indirect call through " + std::string(name) + " is not implemented");
    fail("the function " + std::string(name) + " is not defined");
  }
  if (at != statement.count) fail("a call of a function takes no prototype");
  if (function->is_entry) fail("an entry cannot be called");
  if (results.size() != function->results.size() ||
      arguments.size() != function->parameters.size()) {
    fail("the call of " + std::string(name) + " has " + std::to_string(arguments.size()) +
         " arguments and " + std::to_string(results.size()) + " results, the function " +
         std::to_string(function->parameters.size()) + " and " +
         std::to_string(function->results.size()));
  }
  if (!function->has_body) {
    return extern_call(*function, std::move(instruction), results, arguments);
  }
  std::optional<std::uint32_t> skip;
  if (instruction.guard.present) {
    Instruction jump = instruction;
    jump.kind = Kind::kBranch;
    jump.guard.negated = !jump.guard.negated;
    skip = emit(std::move(jump));
  }
  expand_call(*function, results, arguments);
  if (skip) {
    program_.instructions[*skip].target = static_cast<std::uint32_t>(program_.instructions.size());
  }
}

/// The local memory that an argument's .param variable stands for.
Symbol EntryDecoder::call_variable(const ParsedOperand& operand, const ParsedVariable& formal) {
  std::optional<Meaning> meaning;
  if (operand.kind == OperandKind::kName) meaning = meaning_of(operand.name);
  if (!meaning || meaning->is_register || meaning->symbol.place != Symbol::Place::kLocal ||
      meaning->symbol.space != Space::kParam) {
    fail("arguments and results of a call must be .param variables of the caller");
  }
  if (meaning->symbol.bytes != formal.bytes()) {
    fail(std::string(operand.name) + " has " + std::to_string(meaning->symbol.bytes) +
         " bytes, the parameter " + std::string(formal.name) + " has " +
         std::to_string(formal.bytes()));
  }
  return meaning->symbol;
}

void EntryDecoder::expand_call(const ParsedFunction& function,
                               const std::vector<ParsedOperand>& results,
                               const std::vector<ParsedOperand>& arguments) {
  std::vector<std::pair<std::string_view, Symbol>> bound;
  for (std::size_t i = 0; i < results.size(); ++i) {
    bound.emplace_back(function.results[i].name, call_variable(results[i], function.results[i]));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    bound.emplace_back(function.parameters[i].name,
                       call_variable(arguments[i], function.parameters[i]));
  }
  const ParsedStatement* caller = current_;
  const int line = line_;
  scopes_.open(true);
  for (const auto& [name, symbol] : bound) {
    if (!scopes_.declare_symbol(name, symbol)) {
      fail("the parameter " + std::string(name) + " is declared twice");
    }
  }
  Expansion expansion;
  expand(function, expansion);
  scopes_.close();
  current_ = caller;
  line_ = line;
}

void EntryDecoder::extern_call(const ParsedFunction& function, Instruction instruction,
                               const std::vector<ParsedOperand>& results,
                               const std::vector<ParsedOperand>& arguments) {
  if (function.name == "vprintf" && arguments.size() == 2 && results.size() == 1) {
    instruction.function = ExternFunction::kPrintf;
  } else if (function.name == "__assertfail" && arguments.size() == 5 && results.empty()) {
    instruction.function = ExternFunction::kAssertFail;
  } else {
    fail("the external function " + std::string(function.name) + " is not implemented");
  }
  const auto access_of = [&](const Symbol& symbol, const ParsedVariable& formal, Kind kind) {
    Instruction access = instruction;
    access.kind = kind;
    access.access.space = Space::kLocal;
    access.access.element_bytes = static_cast<std::uint8_t>(formal.type.bytes);
    access.immediate = static_cast<std::int64_t>(symbol.offset);
    return access;
  };
  const auto is_scalar = [&](const ParsedVariable& formal) {
    return formal.elements == 1 && formal.vector == 1 &&
           (formal.type.bytes == 4 || formal.type.bytes == 8);
  };
  std::vector<Operand> values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ParsedVariable& formal = function.parameters[i];
    if (!is_scalar(formal)) fail("the parameters of " + std::string(function.name) + " are wrong");
    Instruction load = access_of(call_variable(arguments[i], formal), formal, Kind::kLoad);
    load.destinations[0] = temporary(static_cast<std::uint8_t>(formal.type.bytes));
    values.push_back(load.destinations[0]);
    emit(std::move(load));
  }
  Instruction call = instruction;
  call.kind = Kind::kExternCall;
  for (std::size_t i = 0; i < values.size(); ++i) call.sources[i] = values[i];
  std::optional<Instruction> store;
  if (!results.empty()) {
    const ParsedVariable& formal = function.results[0];
    if (!is_scalar(formal)) fail("the result of " + std::string(function.name) + " is wrong");
    store = access_of(call_variable(results[0], formal), formal, Kind::kStore);
    call.destinations[0] = temporary(static_cast<std::uint8_t>(formal.type.bytes));
    store->sources[0] = call.destinations[0];
  }
  emit(std::move(call));
  if (store) emit(std::move(*store));
}

}  // namespace draftproof::gpu::emulator
