// DecodedModule: a PTX module ready for the machine. decode() checks and decodes everything an
// entry needs, so that a launch never meets an instruction it does not know.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/emulator/code/program.h"

namespace draftproof::gpu::emulator {

/// An address inside the initial bytes of a variable.
struct InitialAddress {
  std::uint32_t variable = 0;  ///< whose bytes hold it
  std::uint64_t offset = 0;    ///< where in them; 8 bytes
  std::uint32_t target = 0;    ///< of which variable it is the address
  std::int64_t addend = 0;
};

struct DecodedModule {
  std::string file_name;
  std::string version;
  std::string target;
  int address_size = 64;
  std::vector<Variable> variables;  ///< .global and .const; the machine fills the addresses
  std::vector<InitialAddress> initial_addresses;
  std::vector<Program> programs;   ///< in the order of the text
  std::vector<EntryInfo> entries;  ///< of every entry, also of those that were not decoded
  std::vector<std::string> forms;
  std::vector<std::string> source_files;  ///< by .file number
  std::vector<std::string> warnings;
};

/// An instruction form that the emulator does not have.
struct MissingForm {
  std::string form;
  int line = 0;   ///< first occurrence
  int count = 0;  ///< occurrences in the module
};

using EntryFilter = std::function<bool(std::string_view entry)>;

/// Decodes the entries that the filter accepts (none: all of them). Throws Error(kInput) at
/// "FILE:LINE" for malformed text and for forms that are not implemented, which it names.
DecodedModule decode(std::string_view ptx, std::string_view file_name,
                     const EntryFilter& filter = nullptr);

/// Every form of the module that is not implemented, by first line. Throws for malformed text.
std::vector<MissingForm> missing_forms(std::string_view ptx, std::string_view file_name);

/// Writes the variables' addresses into initial bytes, constants and immediates. Call once after
/// the addresses of module.variables are set.
void apply_relocations(DecodedModule& module);

}  // namespace draftproof::gpu::emulator
