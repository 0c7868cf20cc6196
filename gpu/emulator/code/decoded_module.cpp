#include "gpu/emulator/code/decoded_module.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <utility>

#include "gpu/emulator/code/constant_pool.h"
#include "gpu/emulator/code/entry_decoder.h"
#include "gpu/emulator/code/module_symbols.h"
#include "gpu/emulator/isa/form.h"
#include "gpu/emulator/text/parsed_module.h"
#include "reference/error.h"

namespace draftproof::gpu::emulator {

namespace {

/// The highest .version whose text this emulator has been run on.
constexpr int kTestedMajor = 9;
constexpr int kTestedMinor = 5;

void check_version(const ParsedModule& parsed, DecodedModule& module) {
  int major = 0, minor = 0;
  const std::string& text = parsed.version;
  const std::size_t dot = text.find('.');
  std::from_chars(text.data(), text.data() + std::min(dot, text.size()), major);
  if (dot != std::string::npos) {
    std::from_chars(text.data() + dot + 1, text.data() + text.size(), minor);
  }
  if (major > kTestedMajor || (major == kTestedMajor && minor > kTestedMinor)) {
    module.warnings.push_back(parsed.file_name + ": .version " + text +
                              " is later than 9.5, the latest this emulator is tested with");
  }
}

/// "sm_90a" is 90; nothing when the word is no such target.
int architecture_of(std::string_view target) {
  int number = 0;
  if (target.substr(0, 3) != "sm_") return 0;
  std::from_chars(target.data() + 3, target.data() + target.size(), number);
  return number;
}

void check_target(const ParsedModule& parsed, DecodedModule& module) {
  if (parsed.target.empty()) {
    throw Error(ErrorKind::kInput, "the text has no .target", parsed.file_name + ":1");
  }
  if (architecture_of(parsed.target) < 80) {
    module.warnings.push_back(parsed.file_name + ": .target " + parsed.target +
                              " is earlier than sm_80; the emulator follows sm_80 and later");
  }
}

/// Run with another cluster than it asks for, a kernel would compute something else without a word.
void check_cluster(const ParsedModule& parsed, const ParsedFunction& function) {
  for (const std::uint32_t blocks : function.required_cluster) {
    if (blocks == 1) continue;
    throw Error(ErrorKind::kInput,
                "the entry '" + std::string(function.name) +
                    "' needs clusters of several blocks; the emulated device has clusters of one",
                parsed.file_name + ":" + std::to_string(function.line));
  }
}

}  // namespace

DecodedModule decode(std::string_view ptx, std::string_view file_name, const EntryFilter& filter) {
  DecodedModule module;
  const ParsedModule parsed = parse_module(ptx, file_name);
  module.file_name = parsed.file_name;
  module.version = parsed.version;
  module.target = parsed.target;
  module.address_size = parsed.address_size;
  module.source_files = parsed.source_files;
  check_version(parsed, module);
  check_target(parsed, module);
  ModuleSymbols symbols(parsed, module);
  for (const ParsedFunction& function : parsed.functions) {
    if (!function.is_entry || !function.has_body) continue;
    module.entries.push_back(describe(symbols, function));
    if (filter && !filter(function.name)) continue;
    check_cluster(parsed, function);
    module.programs.push_back(EntryDecoder(symbols, function).run());
    module.entries.back() = module.programs.back().info;
  }
  return module;
}

std::vector<MissingForm> missing_forms(std::string_view ptx, std::string_view file_name) {
  const ParsedModule parsed = parse_module(ptx, file_name);
  std::map<std::string, MissingForm, std::less<>> seen;
  for (const ParsedFunction& function : parsed.functions) {
    if (!function.has_body) continue;
    const ParsedBody body = parse_body(parsed, function);
    for (const ParsedStatement& statement : body.statements) {
      if (statement.kind != StatementKind::kInstruction) continue;
      auto found = seen.find(statement.name);
      if (found == seen.end()) {
        MissingForm form{std::string(statement.name), 0, 0};
        if (!find_form(statement.name)) form.line = statement.line;
        found = seen.emplace(std::string(statement.name), std::move(form)).first;
      }
      ++found->second.count;
    }
  }
  std::vector<MissingForm> result;
  for (const auto& [name, form] : seen) {
    if (form.line != 0) result.push_back(form);
  }
  std::sort(result.begin(), result.end(), [](const MissingForm& a, const MissingForm& b) {
    return std::pair(a.line, a.form) < std::pair(b.line, b.form);
  });
  return result;
}

void apply_relocations(DecodedModule& module) {
  for (const InitialAddress& address : module.initial_addresses) {
    const std::uint64_t value =
        module.variables[address.target].address + static_cast<std::uint64_t>(address.addend);
    std::memcpy(module.variables[address.variable].initial.data() + address.offset, &value,
                sizeof(value));
  }
  for (Program& program : module.programs) {
    for (const Relocation& relocation : program.relocations) {
      const std::uint64_t value = module.variables[relocation.variable].address +
                                  static_cast<std::uint64_t>(relocation.addend);
      if (relocation.place == Relocation::Place::kConstant) {
        ConstantPool::fill(program.constants, relocation.at, value, 8);
      } else {
        program.instructions[relocation.at].immediate = static_cast<std::int64_t>(value);
      }
    }
  }
}

}  // namespace draftproof::gpu::emulator
