#include "gpu/emulator/code/scope.h"

#include <utility>

namespace draftproof::gpu::emulator {

void Scopes::open(bool is_function) {
  Scope& scope = scopes_.emplace_back();
  scope.is_function = is_function;
  scope.number = next_number_++;
}

void Scopes::close() { scopes_.pop_back(); }

std::uint32_t Scopes::fresh(std::uint8_t bytes, std::uint8_t declared_bytes) {
  registers_.push_back({bytes, declared_bytes, false});
  return static_cast<std::uint32_t>(registers_.size() - 1);
}

bool Scopes::declare_registers(const ParsedVariable& variable) {
  const auto declared = static_cast<std::uint8_t>(variable.type.bytes);
  const auto bytes = static_cast<std::uint8_t>(declared == 0 ? 0 : declared <= 4 ? 4 : declared);
  Scope& scope = scopes_.back();
  if (variable.count >= 0) {
    const Family family{variable.count, {bytes, declared, false}};
    return scope.families.emplace(variable.name, family).second;
  }
  Meaning meaning;
  meaning.is_register = true;
  const auto [found, is_first] = scope.names.emplace(variable.name, meaning);
  if (is_first) found->second.virtual_register = fresh(bytes, declared);
  return is_first;
}

bool Scopes::declare_symbol(std::string_view name, const Symbol& symbol) {
  Meaning meaning;
  meaning.symbol = symbol;
  return scopes_.back().names.emplace(name, meaning).second;
}

std::optional<Meaning> Scopes::find_in(Scope& scope, std::string_view name) {
  if (const auto found = scope.names.find(name); found != scope.names.end()) return found->second;
  // A member of a family: the prefix and a number without leading zeros.
  std::size_t digits = 0;
  while (digits < name.size() && name[name.size() - 1 - digits] >= '0' &&
         name[name.size() - 1 - digits] <= '9') {
    ++digits;
  }
  if (scope.families.empty()) return std::nullopt;
  // A prefix may itself end in digits (%rr1<4> holds %rr10), so every split is tried.
  std::int64_t number = 0;
  std::int64_t power = 1;
  for (std::size_t taken = 1; taken <= digits && taken <= 9; ++taken) {
    const char digit = name[name.size() - taken];
    number += (digit - '0') * power;
    power *= 10;
    if (digit == '0' && taken > 1) continue;
    const auto family = scope.families.find(name.substr(0, name.size() - taken));
    if (family == scope.families.end() || number >= family->second.count) continue;
    Meaning meaning;
    meaning.is_register = true;
    meaning.virtual_register = fresh(family->second.kind.bytes, family->second.kind.declared_bytes);
    scope.names.emplace(name, meaning);
    return meaning;
  }
  return std::nullopt;
}

std::optional<Meaning> Scopes::find(std::string_view name) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (std::optional<Meaning> meaning = find_in(*scope, name)) return meaning;
    if (scope->is_function) break;
  }
  return std::nullopt;
}

}  // namespace draftproof::gpu::emulator
