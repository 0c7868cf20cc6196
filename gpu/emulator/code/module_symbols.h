// ModuleSymbols: the module-scope names, shared by the decoding of all its entries.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gpu/emulator/code/decoded_module.h"
#include "gpu/emulator/isa/form.h"
#include "gpu/emulator/text/parsed_module.h"

namespace draftproof::gpu::emulator {

class ModuleSymbols {
 public:
  /// Fills the variables of `decoded`; throws for doubled names and unknown addresses.
  ModuleSymbols(const ParsedModule& parsed, DecodedModule& decoded);

  const ParsedModule& parsed() const { return parsed_; }
  DecodedModule& decoded() { return decoded_; }

  /// Null when the module has no such variable.
  const ParsedVariable* find_variable(std::string_view name) const;
  /// Index in DecodedModule::variables of a .global or .const variable.
  std::uint32_t placed_index(std::string_view name) const { return placed_.at(name); }
  const ParsedFunction* find_function(std::string_view name) const;
  const ParsedBody& body_of(const ParsedFunction& function);

  /// Null when the form is not implemented; otherwise its index in DecodedModule::forms is set.
  const Form* find_form(std::string_view name);
  std::uint32_t form_index(std::string_view name);

  [[noreturn]] void fail(const std::string& message, int line) const;

 private:
  void add_variable(const ParsedVariable& variable);
  void add_addresses();

  const ParsedModule& parsed_;
  DecodedModule& decoded_;
  std::unordered_map<std::string_view, const ParsedVariable*> variables_;
  std::unordered_map<std::string_view, std::uint32_t> placed_;
  std::unordered_map<std::string_view, const ParsedFunction*> functions_;
  std::map<const ParsedFunction*, ParsedBody> bodies_;
  std::map<std::string, std::optional<Form>, std::less<>> forms_;
  std::map<std::string, std::uint32_t, std::less<>> form_numbers_;
};

}  // namespace draftproof::gpu::emulator
