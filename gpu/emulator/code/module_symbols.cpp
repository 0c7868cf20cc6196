#include "gpu/emulator/code/module_symbols.h"

#include <utility>

#include "reference/error.h"

namespace draftproof::gpu::emulator {

ModuleSymbols::ModuleSymbols(const ParsedModule& parsed, DecodedModule& decoded)
    : parsed_(parsed), decoded_(decoded) {
  for (const ParsedVariable& variable : parsed.variables) add_variable(variable);
  for (const ParsedFunction& function : parsed.functions) {
    const ParsedFunction*& known = functions_[function.name];
    // A declaration may come before the body, and again after it.
    if (known != nullptr && known->has_body && function.has_body) {
      fail("the function " + std::string(function.name) + " has a second body", function.line);
    }
    if (known == nullptr || !known->has_body) known = &function;
  }
  add_addresses();
}

void ModuleSymbols::fail(const std::string& message, int line) const {
  throw Error(ErrorKind::kInput, message, parsed_.file_name + ":" + std::to_string(line));
}

void ModuleSymbols::add_variable(const ParsedVariable& variable) {
  if (!variables_.emplace(variable.name, &variable).second) {
    fail("the variable " + std::string(variable.name) + " is declared twice", variable.line);
  }
  if (variable.space != ParsedSpace::kGlobal && variable.space != ParsedSpace::kConst) {
    if (!variable.initial.empty()) {
      fail("only .global and .const variables have initial values, and " +
               std::string(variable.name) + " is neither",
           variable.line);
    }
    return;
  }
  Variable placed;
  placed.name = std::string(variable.name);
  placed.space = variable.space == ParsedSpace::kGlobal ? Space::kGlobal : Space::kConst;
  placed.bytes = variable.bytes();
  placed.alignment = variable.effective_alignment();
  placed.initial = variable.initial;
  placed_[variable.name] = static_cast<std::uint32_t>(decoded_.variables.size());
  decoded_.variables.push_back(std::move(placed));
}

void ModuleSymbols::add_addresses() {
  for (const ParsedVariable& variable : parsed_.variables) {
    for (const ParsedAddress& address : variable.addresses) {
      const auto target = placed_.find(address.symbol);
      if (target == placed_.end()) {
        fail("the initialiser of " + std::string(variable.name) + " holds the address of " +
                 std::string(address.symbol) + ", which is no .global or .const variable",
             address.line);
      }
      decoded_.initial_addresses.push_back(
          {placed_.at(variable.name), address.offset, target->second, address.addend});
    }
  }
}

const ParsedVariable* ModuleSymbols::find_variable(std::string_view name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : found->second;
}

const ParsedFunction* ModuleSymbols::find_function(std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : found->second;
}

const ParsedBody& ModuleSymbols::body_of(const ParsedFunction& function) {
  const auto [found, is_first] = bodies_.try_emplace(&function);
  if (is_first) found->second = parse_body(parsed_, function);
  return found->second;
}

const Form* ModuleSymbols::find_form(std::string_view name) {
  auto found = forms_.find(name);
  if (found == forms_.end()) {
    found = forms_.emplace(std::string(name), emulator::find_form(name)).first;
  }
  return found->second ? &*found->second : nullptr;
}

std::uint32_t ModuleSymbols::form_index(std::string_view name) {
  auto found = form_numbers_.find(name);
  if (found == form_numbers_.end()) {
    const auto index = static_cast<std::uint32_t>(decoded_.forms.size());
    decoded_.forms.emplace_back(name);
    found = form_numbers_.emplace(std::string(name), index).first;
  }
  return found->second;
}

}  // namespace draftproof::gpu::emulator
