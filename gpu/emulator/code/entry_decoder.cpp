#include "gpu/emulator/code/entry_decoder.h"

#include <algorithm>
#include <set>
#include <utility>

#include "gpu/emulator/code/flow.h"
#include "gpu/emulator/code/slots.h"
#include "reference/error.h"

namespace draftproof::gpu::emulator {
namespace {

/// Calls that expand to more than this are a loop of the text, not a kernel: functions that call
/// each other twice double at every step, even where they hold no instruction.
constexpr std::size_t kLargestProgram = std::size_t{1} << 20;
constexpr std::size_t kMostStatements = std::size_t{1} << 22;
constexpr std::size_t kDeepestCall = 256;
/// Blocks times registers, in bits: liveness keeps four such tables (slots.cpp), together 2 GiB.
constexpr std::size_t kLargestLiveness = std::size_t{1} << 32;

std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

std::optional<Dim3> dimensions(const std::vector<std::uint32_t>& list) {
  if (list.empty()) return std::nullopt;
  Dim3 result{1, 1, 1};
  result.x = list[0];
  if (list.size() > 1) result.y = list[1];
  if (list.size() > 2) result.z = list[2];
  return result;
}

}  // namespace

void EntryDecoder::fail(const std::string& message) const { symbols_.fail(message, line_); }

Program EntryDecoder::run() {
  line_ = entry_.line;
  if (!entry_.has_body) fail("the entry " + std::string(entry_.name) + " has no body");
  report_missing();
  describe_entry();
  Expansion expansion;
  expand(entry_, expansion);
  finish();
  return std::move(program_);
}

EntryInfo describe(const ModuleSymbols& symbols, const ParsedFunction& entry) {
  EntryInfo info;
  info.name = std::string(entry.name);
  info.required_block = dimensions(entry.required_block);
  info.max_block = dimensions(entry.max_block);
  std::uint64_t offset = 0;
  for (const ParsedVariable& parameter : entry.parameters) {
    if (parameter.type.letter == 'p' || parameter.is_unsized) {
      symbols.fail("the parameter " + std::string(parameter.name) + " has no size", parameter.line);
    }
    offset = align_up(offset, parameter.effective_alignment());
    info.parameters.push_back(
        {offset, parameter.bytes(), parameter.effective_alignment(), parameter.is_pointer});
    offset += parameter.bytes();
  }
  return info;
}

void EntryDecoder::describe_entry() {
  program_.info = describe(symbols_, entry_);
  scopes_.open(true);
  for (std::size_t i = 0; i < entry_.parameters.size(); ++i) {
    const ParameterInfo& info = program_.info.parameters[i];
    Symbol symbol{Symbol::Place::kParameter, 0, info.offset, info.size, Space::kParam};
    if (!scopes_.declare_symbol(entry_.parameters[i].name, symbol)) {
      fail("the parameter " + std::string(entry_.parameters[i].name) + " is declared twice");
    }
  }
}

void EntryDecoder::find_missing(const ParsedFunction& function,
                                std::vector<const ParsedFunction*>& called,
                                std::vector<MissingForm>& missing) {
  const ParsedBody& body = symbols_.body_of(function);
  for (const ParsedStatement& statement : body.statements) {
    if (statement.kind != StatementKind::kInstruction) continue;
    const Form* form = symbols_.find_form(statement.name);
    if (form == nullptr) {
      const auto known = std::find_if(missing.begin(), missing.end(), [&](const MissingForm& m) {
        return m.form == statement.name;
      });
      if (known != missing.end()) {
        ++known->count;
      } else {
        missing.push_back({std::string(statement.name), statement.line, 1});
      }
    } else if (form->binding == Binding::kCall) {
      for (std::uint32_t i = 0; i < statement.count; ++i) {
        const ParsedOperand& operand = body.operands[statement.first + i];
        if (operand.kind != OperandKind::kName) continue;
        const ParsedFunction* callee = symbols_.find_function(operand.name);
        if (callee != nullptr && callee->has_body) called.push_back(callee);
      }
    }
  }
}

void EntryDecoder::report_missing() {
  std::vector<const ParsedFunction*> called{&entry_};
  std::set<const ParsedFunction*> seen;
  std::vector<MissingForm> missing;
  while (!called.empty()) {
    const ParsedFunction* function = called.back();
    called.pop_back();
    if (seen.insert(function).second) find_missing(*function, called, missing);
  }
  if (missing.empty()) return;
  std::string names;
  for (const MissingForm& form : missing) names += (names.empty() ? "`" : ", `") + form.form + "`";
  symbols_.fail("the emulator has no " + names + " (entry " + std::string(entry_.name) +
                    "); run this module on a GPU, or build the kernel without it",
                missing.front().line);
}

std::uint32_t EntryDecoder::emit(Instruction instruction) {
  if (program_.instructions.size() >= kLargestProgram) {
    fail("the expanded entry has more than " + std::to_string(kLargestProgram) + " instructions");
  }
  program_.instructions.push_back(std::move(instruction));
  return static_cast<std::uint32_t>(program_.instructions.size() - 1);
}

void EntryDecoder::expand(const ParsedFunction& function, Expansion& expansion) {
  for (const Expansion* outer : expansions_) {
    if (outer->function == &function) {
      fail("recursion (of " + std::string(function.name) + ") is not implemented");
    }
  }
  if (expansions_.size() >= kDeepestCall) {
    fail("calls are nested more than " + std::to_string(kDeepestCall) + " deep");
  }
  expansion.function = &function;
  expansion.body = &symbols_.body_of(function);
  expansions_.push_back(&expansion);
  const std::size_t depth = scopes_.depth();
  for (const ParsedStatement& s : expansion.body->statements) {
    if (s.kind == StatementKind::kBranchTargets) expansion.branch_tables[s.name] = &s;
  }
  for (const ParsedStatement& s : expansion.body->statements) statement(s);
  DRAFTPROOF_CHECK(scopes_.depth() == depth);
  const auto end = static_cast<std::uint32_t>(program_.instructions.size());
  for (const std::uint32_t i : expansion.returns) program_.instructions[i].target = end;
  resolve_jumps(expansion);
  expansions_.pop_back();
}

void EntryDecoder::statement(const ParsedStatement& statement) {
  line_ = statement.line;
  current_ = &statement;
  if (++statement_count_ > kMostStatements) {
    fail("the calls of the entry " + std::string(entry_.name) + " expand to more than " +
         std::to_string(kMostStatements) + " statements");
  }
  Expansion& expansion = *expansions_.back();
  switch (statement.kind) {
    case StatementKind::kOpen: {
      const std::uint32_t parent = scopes_.current();
      scopes_.open(false);
      expansion.parent_scope[scopes_.current()] = parent;
      break;
    }
    case StatementKind::kClose:
      scopes_.close();
      break;
    case StatementKind::kVariable:
      declare(expansion.body->variables[statement.first]);
      break;
    case StatementKind::kLabel: {
      const auto at = static_cast<std::uint32_t>(program_.instructions.size());
      if (!expansion.labels.emplace(std::pair(scopes_.current(), statement.name), at).second) {
        fail("the label " + std::string(statement.name) + " is defined twice");
      }
      break;
    }
    case StatementKind::kInstruction:
      instruction(statement);
      break;
    case StatementKind::kBranchTargets:
    case StatementKind::kPrototype:
      break;
  }
}

std::uint64_t EntryDecoder::reserve_local(const ParsedVariable& variable, std::string_view name) {
  const std::uint64_t offset = align_up(program_.local_bytes, variable.effective_alignment());
  program_.local_bytes = offset + variable.bytes();
  // The hardware's limit of local memory is 512 KiB a thread (CUDA programming guide, table of
  // technical specifications).
  if (program_.local_bytes > 512 * 1024) {
    fail("the entry needs more than 512 KiB of local memory a thread");
  }
  Variable placed;
  placed.name = std::string(name);
  placed.space = Space::kLocal;
  placed.bytes = variable.bytes();
  placed.alignment = variable.effective_alignment();
  placed.address = offset;
  program_.variables.push_back(std::move(placed));
  return offset;
}

void EntryDecoder::declare(const ParsedVariable& variable) {
  bool is_first = true;
  switch (variable.space) {
    case ParsedSpace::kRegister:
      if (variable.vector != 1) fail("vector registers are not implemented");
      is_first = scopes_.declare_registers(variable);
      break;
    case ParsedSpace::kLocal:
    case ParsedSpace::kParam: {
      if (variable.type.letter == 'p') fail("a variable cannot be a predicate");
      Symbol symbol{Symbol::Place::kLocal, 0, 0, variable.bytes(), Space::kLocal};
      symbol.offset = reserve_local(variable, variable.name);
      if (variable.space == ParsedSpace::kParam) symbol.space = Space::kParam;
      is_first = scopes_.declare_symbol(variable.name, symbol);
      break;
    }
    case ParsedSpace::kShared: {
      const auto [found, is_fresh] =
          shared_numbers_.emplace(&variable, static_cast<std::uint32_t>(shared_.size()));
      if (is_fresh) shared_.push_back({&variable, 0});
      Symbol symbol{Symbol::Place::kShared, found->second, 0, variable.bytes(), Space::kShared};
      is_first = scopes_.declare_symbol(variable.name, symbol);
      break;
    }
    case ParsedSpace::kGlobal:
    case ParsedSpace::kConst:
      fail(".global and .const variables inside a function are not implemented");
  }
  if (!is_first) fail("the name " + std::string(variable.name) + " is declared twice");
}

void EntryDecoder::instruction(const ParsedStatement& statement) {
  const Form* form = symbols_.find_form(statement.name);
  DRAFTPROOF_CHECK(form != nullptr);
  Instruction instruction = form->prototype;
  instruction.form = symbols_.form_index(statement.name);
  instruction.ptx_line = statement.line;
  instruction.source_file = statement.source_file;
  instruction.source_line = statement.source_line;
  instruction.access.used_bytes_mask = statement.used_bytes_mask;
  if (!statement.guard.empty()) {
    instruction.guard = predicate(statement.guard, statement.guard_is_negated);
  }
  switch (form->binding) {
    case Binding::kPlain:
      return bind_plain(statement, std::move(instruction), *form);
    case Binding::kMove:
      return bind_move(statement, std::move(instruction), *form);
    case Binding::kConvert:
      return bind_convert(statement, std::move(instruction), *form);
    case Binding::kLoad:
      return bind_load(statement, std::move(instruction));
    case Binding::kStore:
      return bind_store(statement, std::move(instruction));
    case Binding::kAtomic:
      return bind_atomic(statement, std::move(instruction), true);
    case Binding::kReduction:
      return bind_atomic(statement, std::move(instruction), false);
    case Binding::kCopyAsync:
      return bind_copy_async(statement, std::move(instruction));
    case Binding::kBranch:
      return branch(statement, std::move(instruction));
    case Binding::kIndexedBranch:
      return indexed_branch(statement, std::move(instruction));
    case Binding::kCall:
      return bind_call(statement, std::move(instruction));
    case Binding::kBarrier:
      return bind_barrier(statement, std::move(instruction), *form);
    case Binding::kReturn:
      check_count(statement, 0, 0);
      if (expansions_.size() > 1) {
        instruction.kind = Kind::kBranch;
        expansions_.back()->returns.push_back(
            static_cast<std::uint32_t>(program_.instructions.size()));
      }
      emit(std::move(instruction));
      return;
  }
}

void EntryDecoder::branch(const ParsedStatement& statement, Instruction instruction) {
  check_count(statement, 1, 1);
  const ParsedOperand& label = expansions_.back()->body->operands[statement.first];
  if (label.kind != OperandKind::kName) fail("the operand of bra must be a label");
  const std::uint32_t at = emit(std::move(instruction));
  expansions_.back()->jumps.push_back({at, scopes_.current(), {label.name}, statement.line});
}

void EntryDecoder::indexed_branch(const ParsedStatement& statement, Instruction instruction) {
  check_count(statement, 2, 2);
  Expansion& expansion = *expansions_.back();
  const ParsedOperand* operands = &expansion.body->operands[statement.first];
  instruction.sources[0] = source(operands[0], 'w');
  const auto table = expansion.branch_tables.find(operands[1].name);
  if (table == expansion.branch_tables.end()) {
    fail("the list of branch targets " + std::string(operands[1].name) + " is not defined");
  }
  Expansion::Jump jump{emit(std::move(instruction)), scopes_.current(), {}, statement.line};
  for (std::uint32_t i = 0; i < table->second->count; ++i) {
    jump.labels.push_back(expansion.body->operands[table->second->first + i].name);
  }
  expansion.jumps.push_back(std::move(jump));
}

void EntryDecoder::resolve_jumps(Expansion& expansion) {
  for (const Expansion::Jump& jump : expansion.jumps) {
    line_ = jump.line;
    for (const std::string_view label : jump.labels) {
      std::optional<std::uint32_t> target;
      for (std::uint32_t scope = jump.scope; !target;) {
        const auto found = expansion.labels.find({scope, label});
        if (found != expansion.labels.end()) target = found->second;
        const auto parent = expansion.parent_scope.find(scope);
        if (parent == expansion.parent_scope.end()) break;
        scope = parent->second;
      }
      if (!target) fail("the label " + std::string(label) + " is not defined");
      Instruction& instruction = program_.instructions[jump.instruction];
      if (instruction.kind == Kind::kBranch) {
        instruction.target = *target;
      } else {
        instruction.branch_targets.push_back(*target);
      }
    }
  }
}

/// Shared variables that the entry uses, in order of first use, each aligned; `extern` ones all
/// start where the static ones end.
void EntryDecoder::place_shared() {
  std::uint64_t offset = 0;
  for (SharedVariable& variable : shared_) {
    const std::uint64_t alignment = variable.parsed->effective_alignment();
    if (variable.parsed->is_extern) {
      program_.info.uses_dynamic_shared = true;
      program_.shared_alignment = std::max(program_.shared_alignment, alignment);
      continue;
    }
    offset = align_up(offset, alignment);
    variable.offset = offset;
    offset += variable.parsed->bytes();
    Variable placed;
    placed.name = std::string(variable.parsed->name);
    placed.space = Space::kShared;
    placed.bytes = variable.parsed->bytes();
    placed.alignment = alignment;
    placed.address = variable.offset;
    program_.variables.push_back(std::move(placed));
  }
  program_.static_shared_bytes = offset;
  program_.info.static_shared_bytes = offset;
  const std::uint64_t dynamic = align_up(offset, program_.shared_alignment);
  for (SharedVariable& variable : shared_) {
    if (variable.parsed->is_extern) variable.offset = dynamic;
  }
  for (const SharedPlace& place : shared_places_) {
    const std::uint64_t value =
        shared_[place.variable].offset + static_cast<std::uint64_t>(place.addend);
    if (place.is_constant) {
      ConstantPool::fill(constants_.area(), place.at, value, place.bytes);
    } else {
      program_.instructions[place.at].immediate = static_cast<std::int64_t>(value);
    }
  }
}

void EntryDecoder::finish() {
  place_shared();
  // Whatever runs off the end leaves the kernel there, labels at the end included.
  Instruction end;
  end.kind = Kind::kExit;
  end.form = symbols_.form_index("ret");
  end.ptx_line = line_;
  emit(std::move(end));
  const std::vector<Block> blocks = find_blocks(program_.instructions);
  if (blocks.size() > kLargestLiveness / std::max<std::size_t>(scopes_.registers().size(), 1)) {
    fail("the entry " + std::string(entry_.name) + " has " + std::to_string(blocks.size()) +
         " blocks and " + std::to_string(scopes_.registers().size()) +
         " registers, more than the emulator takes; run this module on a GPU");
  }
  set_reconvergence(program_.instructions, blocks);
  assign_slots(program_, blocks, scopes_.registers());
  program_.constants = std::move(constants_.area());
  program_.constant_count = 1;
}

}  // namespace draftproof::gpu::emulator
