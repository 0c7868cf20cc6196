// mov and cvt: packing, unpacking, clocks, and registers wider than the types.
#include <string>
#include <utility>

#include "gpu/emulator/code/entry_decoder.h"
#include "reference/error.h"

namespace draftproof::gpu::emulator {

/// An instruction of an internal or public form at the place of another.
Instruction EntryDecoder::compute(std::string_view form, const Instruction& like) {
  const Form* found = compute_forms().find(std::string(form));
  DRAFTPROOF_CHECK(found != nullptr, std::string(form));
  Instruction result = found->prototype;
  result.form = like.form;
  result.guard = like.guard;
  result.ptx_line = like.ptx_line;
  result.source_file = like.source_file;
  result.source_line = like.source_line;
  return result;
}

bool EntryDecoder::bind_clock(const ParsedStatement& statement, Instruction& instruction) {
  const ParsedOperand* operands = expansions_.back()->body->operands.data() + statement.first;
  const std::string_view name = operands[1].name;
  struct Clock {
    std::string_view name;
    ClockKind kind;
    std::uint8_t bytes;
  };
  constexpr Clock kClocks[] = {{"%clock", ClockKind::kClock32, 4},
                               {"%clock64", ClockKind::kClock64, 8},
                               {"%globaltimer", ClockKind::kGlobalTimer, 8}};
  for (const Clock& clock : kClocks) {
    if (clock.name != name) continue;
    instruction.kind = Kind::kClock;
    instruction.clock = clock.kind;
    instruction.handler = nullptr;
    instruction.destinations[0] = destination(operands[0], clock.bytes == 8 ? 'q' : 'w');
    if (!instruction.destinations[0].present) {
      instruction.destinations[0] = temporary(clock.bytes);
    }
    return true;
  }
  return false;
}

void EntryDecoder::bind_move(const ParsedStatement& statement, Instruction instruction,
                             const Form& form) {
  check_count(statement, 2, 2);
  const ParsedOperand* operands = expansions_.back()->body->operands.data() + statement.first;
  const char letter = form.signature.front();
  if (operands[0].kind == OperandKind::kVector) {
    return unpack(statement, std::move(instruction), letter);
  }
  if (operands[1].kind == OperandKind::kVector) {
    return pack(statement, std::move(instruction), letter);
  }
  if (operands[1].kind == OperandKind::kName) {
    if (bind_clock(statement, instruction)) {
      emit(std::move(instruction));
      return;
    }
    if (!meaning_of(operands[1].name) && symbols_.find_function(operands[1].name) != nullptr) {
      fail("the address of the function " + std::string(operands[1].name) +
           " (for an indirect call) is not implemented");
    }
  }
  bind_plain(statement, std::move(instruction), form);
}

namespace {

/// The letter of an element when `count` of them make `letter`'s width; 0 when they cannot.
char element_letter_of(char letter, std::size_t count) {
  if (letter == 'q' && count == 2) return 'w';
  if (letter == 'q' && count == 4) return 'h';
  if (letter == 'w' && count == 2) return 'h';
  return 0;
}

}  // namespace

void EntryDecoder::pack(const ParsedStatement& statement, Instruction instruction, char letter) {
  const ParsedBody& body = *expansions_.back()->body;
  const ParsedOperand& target = body.operands[statement.first];
  const ParsedOperand& group = body.operands[statement.first + 1];
  if (letter == 'd') letter = 'q';
  if (letter == 'f') letter = 'w';
  const char element = element_letter_of(letter, group.count);
  if (element == 0) {
    fail(std::string(statement.name) + " cannot pack " + std::to_string(group.count) +
         " registers");
  }
  std::vector<Operand> parts;
  for (std::uint32_t i = 0; i < group.count; ++i) {
    parts.push_back(source(body.elements[group.first + i], element));
  }
  const Operand result = destination(target, letter);
  if (!result.present) return;
  char width = element;
  while (parts.size() > 1) {
    std::vector<Operand> wider;
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
      Instruction step = compute(width == 'h' ? "pack 16 32" : "pack 32 64", instruction);
      step.sources[0] = parts[i];
      step.sources[1] = parts[i + 1];
      step.destinations[0] = parts.size() == 2 ? result : temporary(width == 'h' ? 4 : 8);
      wider.push_back(step.destinations[0]);
      emit(std::move(step));
    }
    parts = std::move(wider);
    width = 'w';
  }
}

void EntryDecoder::unpack(const ParsedStatement& statement, Instruction instruction, char letter) {
  const ParsedBody& body = *expansions_.back()->body;
  const ParsedOperand& group = body.operands[statement.first];
  if (letter == 'd') letter = 'q';
  if (letter == 'f') letter = 'w';
  const char element = element_letter_of(letter, group.count);
  if (element == 0) {
    fail(std::string(statement.name) + " cannot unpack into " + std::to_string(group.count) +
         " registers");
  }
  const Operand whole = source(body.operands[statement.first + 1], letter);
  // An element may be the guard's or, in hand-written text, overlap nothing else: elements are
  // narrower than the source, hence other registers.
  for (std::uint32_t i = 0; i < group.count; ++i) {
    const Operand part = destination(body.elements[group.first + i], element);
    if (!part.present) continue;
    const std::uint64_t bits = element == 'w' ? 32 : 16;
    Instruction step = compute(letter == 'q' ? "extract 64" : "extract 32", instruction);
    step.sources[0] = whole;
    step.destinations[0] = part;
    step.modifier = (bits * i) | bits << 8;
    emit(std::move(step));
  }
}

void EntryDecoder::bind_convert(const ParsedStatement& statement, Instruction instruction,
                                const Form& form) {
  const std::size_t colon = form.signature.find(':');
  const std::string sources = form.signature.substr(colon + 1);
  check_count(statement, 1 + sources.size(), 1 + sources.size());
  const ParsedOperand* operands = expansions_.back()->body->operands.data() + statement.first;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const char letter = sources[i];
    const bool is_wide = letter == 'q' || letter == 'd';
    const ParsedOperand& operand = operands[1 + i];
    std::optional<Meaning> meaning;
    if (operand.kind == OperandKind::kName) meaning = meaning_of(operand.name);
    if (!meaning || !meaning->is_register) {
      instruction.sources[i] = source(operand, letter);
      continue;
    }
    const Operand found = register_operand(meaning->virtual_register);
    if (found.bytes == 0 || (is_wide && found.bytes != 8) || operand.value != 0) {
      fail(std::string(statement.name) + " cannot read " + std::string(operand.name));
    }
    instruction.sources[i] = found;
    if (is_wide || found.bytes == 4) continue;
    Instruction narrow = compute("extract 64", instruction);
    narrow.modifier = 32 << 8;
    narrow.sources[0] = found;
    narrow.destinations[0] = instruction.sources[i] = temporary(4);
    emit(std::move(narrow));
  }
  const char letter = form.signature.front();
  const bool is_wide = letter == 'q' || letter == 'd';
  if (operands[0].kind == OperandKind::kSink) return;
  std::optional<Meaning> meaning;
  if (operands[0].kind == OperandKind::kName) meaning = meaning_of(operands[0].name);
  if (!meaning || !meaning->is_register) {
    fail("the result of " + std::string(statement.name) + " must go to a register");
  }
  const Operand target = register_operand(meaning->virtual_register);
  if (target.bytes == 0 || (is_wide && target.bytes != 8)) {
    fail(std::string(statement.name) + " cannot write " + std::string(operands[0].name));
  }
  if (is_wide || target.bytes == 4) {
    instruction.destinations[0] = target;
    emit(std::move(instruction));
    return;
  }
  const Operand narrow = temporary(4);
  Instruction widen = compute(form.is_signed ? "cvt.s64.s32" : "cvt.u64.u32", instruction);
  instruction.destinations[0] = narrow;
  emit(std::move(instruction));
  widen.sources[0] = narrow;
  widen.destinations[0] = target;
  emit(std::move(widen));
}

}  // namespace draftproof::gpu::emulator
