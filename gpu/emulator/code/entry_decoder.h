// EntryDecoder: one entry's statements become a Program. Device functions are expanded at each call
// with registers of their own; their parameters live in local memory, where by-value structures,
// addresses of parameters and accesses of any width mean what they say.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "gpu/emulator/code/constant_pool.h"
#include "gpu/emulator/code/module_symbols.h"
#include "gpu/emulator/code/program.h"
#include "gpu/emulator/code/scope.h"

namespace draftproof::gpu::emulator {

/// What the header of an entry says; shared memory is known after decoding only.
EntryInfo describe(const ModuleSymbols& symbols, const ParsedFunction& entry);

/// An address and a distance. The text may hold any 64 bits, and addresses wrap around.
inline std::int64_t wrapping_sum(std::int64_t address, std::uint64_t distance) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(address) + distance);
}

class EntryDecoder {
 public:
  EntryDecoder(ModuleSymbols& symbols, const ParsedFunction& entry)
      : symbols_(symbols), entry_(entry) {}

  Program run();

 private:
  /// One expansion of a function body.
  struct Expansion {
    const ParsedFunction* function = nullptr;
    const ParsedBody* body = nullptr;
    std::map<std::pair<std::uint32_t, std::string_view>, std::uint32_t> labels;
    std::map<std::uint32_t, std::uint32_t> parent_scope;
    std::map<std::string_view, const ParsedStatement*> branch_tables;
    struct Jump {
      std::uint32_t instruction;
      std::uint32_t scope;
      std::vector<std::string_view> labels;
      int line;
    };
    std::vector<Jump> jumps;
    std::vector<std::uint32_t> returns;
    std::optional<std::uint32_t> carry;
  };

  /// A shared variable of the module or of a function, in order of declaration.
  struct SharedVariable {
    const ParsedVariable* parsed = nullptr;
    std::uint64_t offset = 0;
  };
  struct SharedPlace {
    bool is_constant = false;
    std::size_t at = 0;
    std::uint8_t bytes = 8;
    std::uint32_t variable = 0;
    std::int64_t addend = 0;  ///< includes the window for generic addresses
  };

  // entry_decoder.cpp: statements and the frame of the program.
  void describe_entry();
  void expand(const ParsedFunction& function, Expansion& expansion);
  void statement(const ParsedStatement& statement);
  void declare(const ParsedVariable& variable);
  void instruction(const ParsedStatement& statement);
  void branch(const ParsedStatement& statement, Instruction instruction);
  void indexed_branch(const ParsedStatement& statement, Instruction instruction);
  void resolve_jumps(Expansion& expansion);
  void find_missing(const ParsedFunction& function, std::vector<const ParsedFunction*>& called,
                    std::vector<MissingForm>& missing);
  void report_missing();
  void place_shared();
  void finish();
  std::uint32_t emit(Instruction instruction);
  std::uint64_t reserve_local(const ParsedVariable& variable, std::string_view name);

  // operand_decoder.cpp: operands.
  void bind_plain(const ParsedStatement& statement, Instruction instruction, const Form& form);
  void bind_letters(const ParsedStatement& statement, Instruction& instruction,
                    std::string_view signature);
  void bind_barrier(const ParsedStatement& statement, Instruction instruction, const Form& form);
  Operand source(const ParsedOperand& operand, char letter);
  Operand destination(const ParsedOperand& operand, char letter);
  Operand predicate(std::string_view name, bool is_negated);
  Operand immediate(const ParsedOperand& operand, char letter);
  Operand register_operand(std::uint32_t virtual_register) const;
  Operand special(std::string_view name);
  Operand symbol_address(const Symbol& symbol, std::int64_t addend, std::uint8_t bytes);
  std::optional<Meaning> meaning_of(std::string_view name);
  Operand temporary(std::uint8_t bytes);
  Operand carry();
  void check_register(const ParsedOperand& operand, std::uint32_t virtual_register, char letter);
  void check_count(const ParsedStatement& statement, std::size_t low, std::size_t high);

  // move_decoder.cpp: mov and cvt.
  void bind_move(const ParsedStatement& statement, Instruction instruction, const Form& form);
  void bind_convert(const ParsedStatement& statement, Instruction instruction, const Form& form);
  void pack(const ParsedStatement& statement, Instruction instruction, char letter);
  void unpack(const ParsedStatement& statement, Instruction instruction, char letter);
  bool bind_clock(const ParsedStatement& statement, Instruction& instruction);
  Instruction compute(std::string_view form, const Instruction& like);

  // memory_decoder.cpp: addresses and calls.
  void bind_load(const ParsedStatement& statement, Instruction instruction);
  void bind_store(const ParsedStatement& statement, Instruction instruction);
  void bind_atomic(const ParsedStatement& statement, Instruction instruction, bool has_result);
  void bind_copy_async(const ParsedStatement& statement, Instruction instruction);
  void bind_address(const ParsedOperand& operand, Instruction& instruction);
  std::vector<ParsedOperand> elements_of(const ParsedOperand& operand, const Instruction& like);
  char element_letter(const Access& access) const;

  // call_decoder.cpp: calls.
  void bind_call(const ParsedStatement& statement, Instruction instruction);
  void expand_call(const ParsedFunction& function, const std::vector<ParsedOperand>& results,
                   const std::vector<ParsedOperand>& arguments);
  void extern_call(const ParsedFunction& function, Instruction instruction,
                   const std::vector<ParsedOperand>& results,
                   const std::vector<ParsedOperand>& arguments);
  Symbol call_variable(const ParsedOperand& operand, const ParsedVariable& formal);

  [[noreturn]] void fail(const std::string& message) const;

  ModuleSymbols& symbols_;
  const ParsedFunction& entry_;
  Program program_;
  ConstantPool constants_;
  Scopes scopes_;
  std::vector<Expansion*> expansions_;
  std::vector<SharedVariable> shared_;
  std::map<const ParsedVariable*, std::uint32_t> shared_numbers_;
  std::vector<SharedPlace> shared_places_;
  std::map<std::string, Operand, std::less<>> specials_;
  std::map<std::tuple<int, std::uint32_t, std::int64_t, int>, Operand> addresses_;
  const ParsedStatement* current_ = nullptr;  ///< the statement that is being decoded
  std::size_t statement_count_ = 0;           ///< decoded so far, calls expanded
  int line_ = 0;
};

}  // namespace draftproof::gpu::emulator
