// Operands: names to registers, constants, special registers and addresses.
#include <bit>
#include <charconv>
#include <string>
#include <utility>

#include "gpu/emulator/code/entry_decoder.h"

namespace draftproof::gpu::emulator {
namespace {

std::uint8_t bytes_of(char letter) {
  switch (letter) {
    case 'q':
    case 'd':
      return 8;
    case 'p':
    case 'P':
      return 0;
    default:
      return 4;
  }
}

/// How wide the register of a letter must be declared; operand-size relaxation is for ld, st and
/// cvt only (PTX ISA 9.0, 9.4).
std::uint8_t declared_bytes_of(char letter) {
  switch (letter) {
    case 'q':
    case 'd':
      return 8;
    case 'h':
    case 'x':
      return 2;
    case 'p':
    case 'P':
      return 0;
    default:
      return 4;
  }
}

const char* description_of(char letter) {
  switch (letter) {
    case 'q':
    case 'd':
      return "a 64-bit register";
    case 'h':
    case 'x':
      return "a 16-bit register";
    case 'p':
    case 'P':
      return "a predicate";
    default:
      return "a 32-bit register";
  }
}

struct SpecialName {
  std::string_view name;
  SpecialRegister which;
};
constexpr SpecialName kSpecialNames[] = {
    {"%tid.x", SpecialRegister::kTidX},
    {"%tid.y", SpecialRegister::kTidY},
    {"%tid.z", SpecialRegister::kTidZ},
    {"%ntid.x", SpecialRegister::kNtidX},
    {"%ntid.y", SpecialRegister::kNtidY},
    {"%ntid.z", SpecialRegister::kNtidZ},
    {"%ctaid.x", SpecialRegister::kCtaidX},
    {"%ctaid.y", SpecialRegister::kCtaidY},
    {"%ctaid.z", SpecialRegister::kCtaidZ},
    {"%nctaid.x", SpecialRegister::kNctaidX},
    {"%nctaid.y", SpecialRegister::kNctaidY},
    {"%nctaid.z", SpecialRegister::kNctaidZ},
    {"%laneid", SpecialRegister::kLaneId},
    {"%warpid", SpecialRegister::kWarpId},
    {"%nwarpid", SpecialRegister::kNwarpId},
    {"%lanemask_eq", SpecialRegister::kLanemaskEq},
    {"%lanemask_le", SpecialRegister::kLanemaskLe},
    {"%lanemask_lt", SpecialRegister::kLanemaskLt},
    {"%lanemask_ge", SpecialRegister::kLanemaskGe},
    {"%lanemask_gt", SpecialRegister::kLanemaskGt},
    {"%smid", SpecialRegister::kSmId},
    {"%nsmid", SpecialRegister::kNsmId},
    {"%gridid", SpecialRegister::kGridId},
    {"%dynamic_smem_size", SpecialRegister::kDynamicSmemSize},
    {"%total_smem_size", SpecialRegister::kTotalSmemSize},
    {"%cluster_ctarank", SpecialRegister::kClusterCtaRank},
    {"%cluster_nctarank", SpecialRegister::kClusterNctaRank},
};

}  // namespace

void EntryDecoder::check_count(const ParsedStatement& statement, std::size_t low,
                               std::size_t high) {
  if (statement.count >= low && statement.count <= high) return;
  const std::string wanted =
      low == high ? std::to_string(low) : std::to_string(low) + " to " + std::to_string(high);
  fail(std::string(statement.name) + " takes " + wanted + " operands, not " +
       std::to_string(statement.count));
}

std::optional<Meaning> EntryDecoder::meaning_of(std::string_view name) {
  if (std::optional<Meaning> meaning = scopes_.find(name)) return meaning;
  const ParsedVariable* variable = symbols_.find_variable(name);
  if (variable == nullptr) return std::nullopt;
  Meaning meaning;
  meaning.symbol.bytes = variable->bytes();
  if (variable->space == ParsedSpace::kShared) {
    const auto [found, is_first] =
        shared_numbers_.emplace(variable, static_cast<std::uint32_t>(shared_.size()));
    if (is_first) shared_.push_back({variable, 0});
    meaning.symbol.place = Symbol::Place::kShared;
    meaning.symbol.space = Space::kShared;
    meaning.symbol.index = found->second;
    return meaning;
  }
  if (variable->space == ParsedSpace::kRegister) {
    fail("registers at module scope (" + std::string(name) + ") are not implemented");
  }
  meaning.symbol.place = Symbol::Place::kModule;
  meaning.symbol.space = variable->space == ParsedSpace::kConst ? Space::kConst : Space::kGlobal;
  meaning.symbol.index = symbols_.placed_index(name);
  return meaning;
}

Operand EntryDecoder::register_operand(std::uint32_t virtual_register) const {
  Operand operand;
  operand.offset = virtual_register;
  operand.bytes = const_cast<Scopes&>(scopes_).registers()[virtual_register].bytes;
  operand.present = true;
  return operand;
}

Operand EntryDecoder::temporary(std::uint8_t bytes) {
  return register_operand(scopes_.fresh(bytes, bytes));
}

Operand EntryDecoder::carry() {
  std::optional<std::uint32_t>& carry = expansions_.back()->carry;
  if (!carry) carry = scopes_.fresh(0, 0);
  return register_operand(*carry);
}

void EntryDecoder::check_register(const ParsedOperand& operand, std::uint32_t virtual_register,
                                  char letter) {
  const VirtualRegister& kind = scopes_.registers()[virtual_register];
  if (kind.bytes == bytes_of(letter) && kind.declared_bytes == declared_bytes_of(letter)) return;
  fail(std::string(current_->name) + " needs " + description_of(letter) + ", which " +
       std::string(operand.name) + " is not");
}

Operand EntryDecoder::special(std::string_view name) {
  const auto known = specials_.find(name);
  if (known != specials_.end()) return known->second;
  SpecialOperand special{SpecialRegister::kZero, 0, {}};
  bool is_known = false;
  constexpr std::string_view kEnvironment = "%envreg";
  if (name.substr(0, kEnvironment.size()) == kEnvironment) {
    const std::string_view number = name.substr(kEnvironment.size());
    const auto result =
        std::from_chars(number.data(), number.data() + number.size(), special.index);
    is_known = result.ec == std::errc{} && result.ptr == number.data() + number.size() &&
               special.index >= 0 && special.index < 32;
    special.which = SpecialRegister::kEnvReg;
  }
  for (const SpecialName& candidate : kSpecialNames) {
    if (candidate.name != name) continue;
    special.which = candidate.which;
    is_known = true;
  }
  if (!is_known) return {};
  const std::uint8_t bytes = special.which == SpecialRegister::kGridId ? 8 : 4;
  const std::uint32_t number = scopes_.fresh(bytes, bytes);
  scopes_.registers()[number].is_pinned = true;
  special.operand = register_operand(number);
  program_.specials.push_back(special);
  specials_.emplace(std::string(name), special.operand);
  return special.operand;
}

Operand EntryDecoder::symbol_address(const Symbol& symbol, std::int64_t addend,
                                     std::uint8_t bytes) {
  const auto key = std::tuple(static_cast<int>(symbol.place), symbol.index,
                              wrapping_sum(addend, symbol.offset), int{bytes});
  if (const auto known = addresses_.find(key); known != addresses_.end()) return known->second;
  Operand operand;
  if (symbol.place == Symbol::Place::kShared) {
    operand = constants_.reserve(bytes);
    shared_places_.push_back({true, operand.offset, bytes, symbol.index, addend});
  } else if (symbol.place == Symbol::Place::kModule) {
    if (bytes != 8) fail("the address of a global variable needs a 64-bit register");
    operand = constants_.reserve(bytes);
    program_.relocations.push_back(
        {Relocation::Place::kConstant, operand.offset, symbol.index, addend});
  } else {
    operand = constants_.intern(symbol.offset + static_cast<std::uint64_t>(addend), bytes);
  }
  addresses_.emplace(key, operand);
  return operand;
}

Operand EntryDecoder::immediate(const ParsedOperand& operand, char letter) {
  std::uint64_t bits = static_cast<std::uint64_t>(operand.value);
  const std::uint8_t bytes = bytes_of(letter);
  const bool is_single = operand.kind == OperandKind::kFloat32;
  if (operand.kind == OperandKind::kInteger) {
    if (letter == 'f' || letter == 'd') {
      // An integer where a float stands would be read as a pattern by some tools and as a value by
      // others; ptxas rejects it.
      fail("the constant " + std::to_string(operand.value) + " of " + std::string(current_->name) +
           " must be a floating-point constant");
    }
    if (letter == 'h' || letter == 'x') bits &= 0xffff;
    if (bytes == 4) bits &= 0xffffffffu;
    // Of predicates, zero is false and every other integer true; Triton writes -1.
    if (bytes == 0) bits = bits != 0 ? 1 : 0;
    return constants_.intern(bits, bytes);
  }
  if (letter == 'h' || letter == 'x' || bytes == 0) {
    fail("a floating-point constant cannot stand here");
  }
  if (is_single && bytes == 8) {
    bits = std::bit_cast<std::uint64_t>(
        static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
  } else if (!is_single && bytes == 4) {
    bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
  }
  return constants_.intern(bits, bytes);
}

Operand EntryDecoder::predicate(std::string_view name, bool is_negated) {
  const std::optional<Meaning> meaning = meaning_of(name);
  if (!meaning || !meaning->is_register) fail("the name " + std::string(name) + " is not defined");
  if (scopes_.registers()[meaning->virtual_register].bytes != 0) {
    fail("the register " + std::string(name) + " is no predicate");
  }
  Operand operand = register_operand(meaning->virtual_register);
  operand.negated = is_negated;
  return operand;
}

Operand EntryDecoder::source(const ParsedOperand& operand, char letter) {
  switch (operand.kind) {
    case OperandKind::kInteger:
    case OperandKind::kFloat32:
    case OperandKind::kFloat64:
      if (operand.is_negated) fail("'!' is for predicates");
      return immediate(operand, letter);
    case OperandKind::kName:
      break;
    default:
      fail(std::string(current_->name) + " needs " + description_of(letter) + " or a constant");
  }
  if (!operand.second.empty()) fail("a source cannot be a pair a|b");
  const std::optional<Meaning> meaning = meaning_of(operand.name);
  if (meaning && meaning->is_register) {
    if (operand.value != 0) fail("a register takes an offset inside [] only");
    if (letter == 'p') return predicate(operand.name, operand.is_negated);
    if (operand.is_negated) fail("'!' is for predicates");
    check_register(operand, meaning->virtual_register, letter);
    return register_operand(meaning->virtual_register);
  }
  if (operand.is_negated) fail("'!' is for predicates");
  if (meaning) {
    const std::uint8_t bytes = bytes_of(letter);
    if (bytes == 0 || letter == 'h' || letter == 'x') {
      fail("the address of " + std::string(operand.name) + " does not fit here");
    }
    return symbol_address(meaning->symbol, operand.value, bytes);
  }
  if (operand.name == "WARP_SZ") return constants_.intern(kLanes, bytes_of(letter));
  const Operand found = special(operand.name);
  if (!found.present) {
    const bool may_be_special = operand.name.front() == '%';
    fail("the name " + std::string(operand.name) + " is not defined" +
         (may_be_special ? ", and the emulator has no special register of that name" : ""));
  }
  if (found.bytes != bytes_of(letter)) {
    fail(std::string(current_->name) + " needs " + description_of(letter) + ", which " +
         std::string(operand.name) + " is not");
  }
  return found;
}

Operand EntryDecoder::destination(const ParsedOperand& operand, char letter) {
  if (operand.kind == OperandKind::kSink) return {};
  if (operand.kind != OperandKind::kName || operand.is_negated || operand.value != 0) {
    fail("the result of " + std::string(current_->name) + " must go to a register");
  }
  const std::optional<Meaning> meaning = meaning_of(operand.name);
  if (!meaning) fail("the name " + std::string(operand.name) + " is not defined");
  if (!meaning->is_register) {
    fail("the result of " + std::string(current_->name) + " must go to a register");
  }
  check_register(operand, meaning->virtual_register, letter);
  return register_operand(meaning->virtual_register);
}

void EntryDecoder::bind_letters(const ParsedStatement& statement, Instruction& instruction,
                                std::string_view signature) {
  const ParsedOperand* operands = expansions_.back()->body->operands.data() + statement.first;
  std::size_t low = 0, high = 0;
  for (std::size_t i = 0; i < signature.size(); ++i) {
    if (signature[i] == '*') return;
    if (signature[i] == ':' || signature[i] == 'c' || signature[i] == '?') continue;
    ++high;
    if (i + 1 >= signature.size() || signature[i + 1] != '?') ++low;
  }
  check_count(statement, low, high);
  bool is_source = false;
  std::size_t taken = 0, destinations = 0, sources = 0;
  for (std::size_t i = 0; i < signature.size(); ++i) {
    const char letter = signature[i];
    if (letter == ':') {
      is_source = true;
      continue;
    }
    if (letter == '?') continue;
    if (letter == 'c') {
      (is_source ? instruction.sources[sources++] : instruction.destinations[destinations++]) =
          carry();
      continue;
    }
    const bool is_optional = i + 1 < signature.size() && signature[i + 1] == '?';
    if (is_optional && taken >= statement.count) {
      ++sources;
      continue;
    }
    const ParsedOperand& operand = operands[taken++];
    if (letter == 'i') {
      if (operand.kind != OperandKind::kInteger) {
        fail(std::string(statement.name) + " needs an integer constant");
      }
      instruction.immediate = operand.value;
    } else if (is_source) {
      instruction.sources[sources++] = source(operand, letter);
    } else {
      instruction.destinations[destinations++] = destination(operand, letter);
      const bool may_pair = letter == 'P' || letter == 'W';
      if (!operand.second.empty() && !may_pair) fail("the result cannot be a pair a|b");
      if (may_pair) {
        if (!operand.second.empty() && operand.second != "_") {
          instruction.destinations[destinations] = predicate(operand.second, false);
        }
        ++destinations;
      }
    }
  }
}

void EntryDecoder::bind_plain(const ParsedStatement& statement, Instruction instruction,
                              const Form& form) {
  bind_letters(statement, instruction, form.signature);
  if (instruction.kind == Kind::kCompute && !instruction.destinations[0].present) {
    // A sink: the handler still needs a place to write to.
    if (!instruction.destinations[1].present && form.signature.front() != 'P') {
      instruction.destinations[0] = temporary(bytes_of(form.signature.front()));
    } else {
      instruction.destinations[0] = temporary(0);
    }
  }
  // x ^ x and x - x are zero whatever x holds, so they are defined; compilers clear registers so.
  const std::string_view name = statement.name;
  const Operand& a = instruction.sources[0];
  const Operand& b = instruction.sources[1];
  const bool is_cancelling =
      name.substr(0, 5) == "xor.b" || name.substr(0, 5) == "sub.s" || name.substr(0, 5) == "sub.u";
  if (is_cancelling && a.present && b.present && a.area == 0 && b.area == 0 &&
      a.offset == b.offset && form.signature.size() == 4) {
    const Operand zero = constants_.intern(0, a.bytes);
    instruction.sources[0] = zero;
    instruction.sources[1] = zero;
  }
  emit(std::move(instruction));
}

void EntryDecoder::bind_barrier(const ParsedStatement& statement, Instruction instruction,
                                const Form& form) {
  const bool is_reduction = form.signature.front() != ':';
  if (!is_reduction) return bind_plain(statement, std::move(instruction), form);
  check_count(statement, 3, 4);
  const ParsedOperand* operands = expansions_.back()->body->operands.data() + statement.first;
  instruction.destinations[0] = destination(operands[0], form.signature.front());
  instruction.sources[0] = source(operands[1], 'w');
  if (statement.count == 4) instruction.sources[1] = source(operands[2], 'w');
  instruction.sources[2] = source(operands[statement.count - 1], 'p');
  emit(std::move(instruction));
}

}  // namespace draftproof::gpu::emulator
