// Memory operands: addresses, and the registers of vectors, which may be wider than the element.
#include <string>
#include <utility>
#include <vector>

#include "gpu/emulator/code/entry_decoder.h"

namespace draftproof::gpu::emulator {
namespace {

const char* name_of(Space space) {
  switch (space) {
    case Space::kGeneric:
      return "generic";
    case Space::kGlobal:
      return ".global";
    case Space::kShared:
      return ".shared";
    case Space::kSharedCluster:
      return ".shared::cluster";
    case Space::kLocal:
      return ".local";
    case Space::kParam:
      return ".param";
    case Space::kConst:
      return ".const";
  }
  return "";
}

std::uint64_t window_of(Space space) {
  switch (space) {
    case Space::kShared:
      return kSharedWindow;
    case Space::kLocal:
      return kLocalWindow;
    case Space::kParam:
      return kParamWindow;
    default:
      return 0;
  }
}

}  // namespace

void EntryDecoder::bind_address(const ParsedOperand& operand, Instruction& instruction) {
  if (operand.kind != OperandKind::kAddress || operand.count != 0) {
    fail(std::string(current_->name) + " needs an address [register or symbol + offset]");
  }
  Space& space = instruction.access.space;
  instruction.immediate = operand.value;
  // Parameters of calls are local memory here (entry_decoder.h); only the entry's own parameters
  // are in the parameter space, which nothing can store to.
  const bool is_entry_parameter = expansions_.size() == 1 && instruction.kind == Kind::kLoad;
  if (operand.name.empty()) {
    if (space == Space::kParam && !is_entry_parameter) space = Space::kLocal;
    return;
  }
  const std::optional<Meaning> meaning = meaning_of(operand.name);
  if (!meaning) fail("the name " + std::string(operand.name) + " is not defined");
  if (meaning->is_register) {
    instruction.address = register_operand(meaning->virtual_register);
    if (instruction.address.bytes == 0) fail("a predicate cannot be an address");
    if (space == Space::kParam && !is_entry_parameter) space = Space::kLocal;
    return;
  }
  const Symbol& symbol = meaning->symbol;
  std::uint64_t window = 0;
  if (space == Space::kGeneric) {
    const bool is_local = symbol.place == Symbol::Place::kLocal;
    window = window_of(is_local ? Space::kLocal : symbol.space);
  } else if (symbol.space != space &&
             !(space == Space::kSharedCluster && symbol.space == Space::kShared)) {
    fail(std::string(operand.name) + " is a " + name_of(symbol.space) + " variable, but " +
         std::string(current_->name) + " accesses " + name_of(space) + " memory");
  }
  const auto at = program_.instructions.size();
  switch (symbol.place) {
    case Symbol::Place::kModule:
      program_.relocations.push_back(
          {Relocation::Place::kImmediate, at, symbol.index, operand.value});
      break;
    case Symbol::Place::kShared:
      shared_places_.push_back({false, at, 8, symbol.index, wrapping_sum(operand.value, window)});
      break;
    case Symbol::Place::kLocal:
      if (space == Space::kParam) space = Space::kLocal;
      instruction.immediate = wrapping_sum(instruction.immediate, symbol.offset + window);
      break;
    case Symbol::Place::kParameter:
      if (instruction.kind != Kind::kLoad) fail("an entry's parameters cannot be written");
      instruction.immediate = wrapping_sum(instruction.immediate, symbol.offset + window);
      break;
  }
}

std::vector<ParsedOperand> EntryDecoder::elements_of(const ParsedOperand& operand,
                                                     const Instruction& like) {
  std::vector<ParsedOperand> result{operand};
  if (operand.kind == OperandKind::kVector) {
    const ParsedBody& body = *expansions_.back()->body;
    result.assign(body.elements.begin() + operand.first,
                  body.elements.begin() + operand.first + operand.count);
  }
  if (result.size() != like.access.elements) {
    fail(std::string(current_->name) + " takes " + std::to_string(like.access.elements) +
         " registers, not " + std::to_string(result.size()));
  }
  return result;
}

char EntryDecoder::element_letter(const Access& access) const {
  const bool is_float = access.type == ElementType::kFloat;
  switch (access.element_bytes) {
    case 8:
      return is_float ? 'd' : 'q';
    case 4:
      return is_float ? 'f' : 'w';
    default:
      return 'h';
  }
}

void EntryDecoder::bind_load(const ParsedStatement& statement, Instruction instruction) {
  check_count(statement, 2, 2);
  const ParsedOperand* operands = expansions_.back()->body->operands.data() + statement.first;
  const std::vector<ParsedOperand> elements = elements_of(operands[0], instruction);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].kind == OperandKind::kSink) continue;
    std::optional<Meaning> meaning;
    if (elements[i].kind == OperandKind::kName) meaning = meaning_of(elements[i].name);
    if (!meaning || !meaning->is_register) {
      fail("the result of " + std::string(statement.name) + " must go to a register");
    }
    const VirtualRegister& kind = scopes_.registers()[meaning->virtual_register];
    if (kind.bytes == 0 || kind.declared_bytes < instruction.access.element_bytes) {
      fail(std::string(elements[i].name) + " is too narrow for " + std::string(statement.name));
    }
    instruction.destinations[i] = register_operand(meaning->virtual_register);
  }
  bind_address(operands[1], instruction);
  emit(std::move(instruction));
}

void EntryDecoder::bind_store(const ParsedStatement& statement, Instruction instruction) {
  check_count(statement, 2, 2);
  const ParsedOperand* operands = expansions_.back()->body->operands.data() + statement.first;
  const std::vector<ParsedOperand> elements = elements_of(operands[1], instruction);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    std::optional<Meaning> meaning;
    if (elements[i].kind == OperandKind::kName) meaning = meaning_of(elements[i].name);
    if (!meaning || !meaning->is_register) {
      ParsedOperand element = elements[i];
      // LLVM stores the integer 0 as a float: there the bits are meant.
      char letter = element_letter(instruction.access);
      if (element.kind == OperandKind::kInteger) letter = letter == 'f' ? 'w' : letter;
      if (element.kind == OperandKind::kInteger) letter = letter == 'd' ? 'q' : letter;
      instruction.sources[i] = source(element, letter);
      continue;
    }
    const VirtualRegister& kind = scopes_.registers()[meaning->virtual_register];
    if (kind.bytes == 0 || kind.declared_bytes < instruction.access.element_bytes) {
      fail(std::string(elements[i].name) + " is too narrow for " + std::string(statement.name));
    }
    instruction.sources[i] = register_operand(meaning->virtual_register);
  }
  bind_address(operands[0], instruction);
  emit(std::move(instruction));
}

void EntryDecoder::bind_atomic(const ParsedStatement& statement, Instruction instruction,
                               bool has_result) {
  const bool is_swap = instruction.access.atomic == AtomicOperation::kCompareAndSwap;
  const std::size_t count = (has_result ? 2u : 1u) + (is_swap ? 2u : 1u);
  check_count(statement, count, count);
  const ParsedOperand* operands = expansions_.back()->body->operands.data() + statement.first;
  const char letter = element_letter(instruction.access);
  if (has_result) instruction.destinations[0] = destination(*operands++, letter);
  bind_address(*operands++, instruction);
  instruction.sources[0] = source(*operands++, letter);
  if (is_swap) instruction.sources[1] = source(*operands, letter);
  emit(std::move(instruction));
}

/// cp.async [to], [from], bytes {, bytes to read}.
void EntryDecoder::bind_copy_async(const ParsedStatement& statement, Instruction instruction) {
  check_count(statement, 3, 4);
  const ParsedOperand* operands = expansions_.back()->body->operands.data() + statement.first;
  const bool is_cached_globally = statement.name.find(".cg.") != std::string_view::npos;
  const std::int64_t bytes = operands[2].value;
  if (operands[2].kind != OperandKind::kInteger ||
      !(bytes == 16 || (!is_cached_globally && (bytes == 4 || bytes == 8)))) {
    fail(std::string(statement.name) + " copies " +
         (is_cached_globally ? "16 bytes" : "4, 8 or 16 bytes") + " only");
  }
  instruction.modifier = static_cast<std::uint64_t>(bytes);
  const ParsedOperand& source_address = operands[1];
  if (source_address.kind != OperandKind::kAddress || source_address.count != 0) {
    fail(std::string(statement.name) + " needs an address [register or symbol + offset]");
  }
  ParsedOperand name;
  name.name = source_address.name;
  std::optional<Meaning> meaning = meaning_of(name.name);
  if (!meaning) fail("the name " + std::string(name.name) + " is not defined");
  if (meaning->is_register) {
    instruction.sources[0] = register_operand(meaning->virtual_register);
    if (instruction.sources[0].bytes != 8) fail("a global address needs a 64-bit register");
    if (source_address.value != 0) {
      Instruction add = compute("add.s64", instruction);
      add.sources[0] = instruction.sources[0];
      add.sources[1] = constants_.intern(static_cast<std::uint64_t>(source_address.value), 8);
      add.destinations[0] = instruction.sources[0] = temporary(8);
      emit(std::move(add));
    }
  } else {
    if (meaning->symbol.space != Space::kGlobal) fail("cp.async reads .global memory only");
    name.value = source_address.value;
    instruction.sources[0] = source(name, 'q');
  }
  if (statement.count == 4) instruction.sources[1] = source(operands[3], 'w');
  bind_address(operands[0], instruction);
  emit(std::move(instruction));
}

}  // namespace draftproof::gpu::emulator
