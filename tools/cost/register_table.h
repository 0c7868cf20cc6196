// RegisterTable: what ptxas allots entries, ours and those that were fetched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace draftproof::tools::cost {

struct Registers {
  std::uint64_t registers = 0, spilled_bytes = 0, shared_bytes = 0;
};

class RegisterTable {
 public:
  /// Our entries for sm_90, and those of every registers.csv in a folder of `third_party`.
  explicit RegisterTable(const std::filesystem::path& third_party);
  /// Of an entry of a module, which is a file's name without .ptx: variants that were compiled from
  /// one source share the names of their entries. Nothing where no table has it.
  std::optional<Registers> of(const std::string& module, const std::string& entry) const;

 private:
  void add(std::string_view table);

  std::map<std::pair<std::string, std::string>, Registers> lines_;  ///< by module and entry
};

}  // namespace draftproof::tools::cost
