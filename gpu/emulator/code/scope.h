// Scopes: what names mean inside function bodies. `.reg .b32 %r<77>` declares a family of names;
// inner braces shadow outer ones; a function does not see its caller's names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gpu/emulator/code/program.h"
#include "gpu/emulator/code/slots.h"
#include "gpu/emulator/text/parsed_module.h"

namespace draftproof::gpu::emulator {

/// What a variable's name stands for.
struct Symbol {
  enum class Place : std::uint8_t { kModule, kShared, kLocal, kParameter };
  Place place = Place::kLocal;
  std::uint32_t index = 0;   ///< kModule: in DecodedModule::variables; kShared: in the layout
  std::uint64_t offset = 0;  ///< kLocal, kParameter: in the space
  std::uint64_t bytes = 0;
  Space space = Space::kLocal;
};

/// A register or a symbol.
struct Meaning {
  bool is_register = false;
  std::uint32_t virtual_register = 0;
  Symbol symbol;
};

class Scopes {
 public:
  void open(bool is_function);
  void close();
  std::size_t depth() const { return scopes_.size(); }
  /// Unique number of the innermost scope, and its chain of parents within the function.
  std::uint32_t current() const { return scopes_.back().number; }

  /// False when the innermost scope has the name already.
  bool declare_registers(const ParsedVariable& variable);
  bool declare_symbol(std::string_view name, const Symbol& symbol);
  std::optional<Meaning> find(std::string_view name);

  std::uint32_t fresh(std::uint8_t bytes, std::uint8_t declared_bytes);
  std::vector<VirtualRegister>& registers() { return registers_; }

 private:
  struct Family {
    std::int64_t count = 0;
    VirtualRegister kind;
  };
  struct Scope {
    std::unordered_map<std::string_view, Meaning> names;
    std::unordered_map<std::string_view, Family> families;
    bool is_function = false;
    std::uint32_t number = 0;
  };
  std::optional<Meaning> find_in(Scope& scope, std::string_view name);

  std::vector<Scope> scopes_;
  std::vector<VirtualRegister> registers_;
  std::uint32_t next_number_ = 0;
};

}  // namespace draftproof::gpu::emulator
