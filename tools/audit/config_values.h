// Config values: draftproof.toml and flags as typed, checked against the table of keys: known,
// of the right type, in range. What they mean is config.cpp's. toml++ is seen in the .cpp alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/audit/config_keys.h"

namespace draftproof::tools::audit {

/// One key's value. Which member holds it follows from the key's type.
struct ConfigValue {
  std::string typed;   ///< as TOML, before "${NAME}" is replaced
  std::string origin;  ///< "default", "draftproof.toml:4", "--seed"
  std::vector<std::string> texts = {};
  std::vector<double> numbers = {};  ///< of durations: seconds
  std::vector<std::int64_t> integers = {};
  std::vector<bool> flags = {};
  std::vector<std::vector<std::int64_t>> id_lists = {};
  std::vector<std::pair<std::string, std::string>> table = {};
};

class ConfigValues {
 public:
  /// `file` empty: flags and defaults alone. Throws Error(kInput) at FILE:LINE or the flag.
  ConfigValues(const std::filesystem::path& file, const std::map<std::string, std::string>& flags);

  /// nullptr: neither typed nor of a default.
  const ConfigValue* find(const std::string& name) const;
  /// Typed in the file or as a flag.
  bool is_typed(const std::string& name) const;
  /// Where to point at when this key is at fault: its origin, or the file.
  std::string place(const std::string& name) const;

  std::string text(const std::string& name) const;  ///< empty: none
  std::optional<double> number(const std::string& name) const;
  std::optional<std::int64_t> integer(const std::string& name) const;
  bool flag(const std::string& name) const;  ///< false: none
  std::vector<std::string> texts(const std::string& name) const;

  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  std::map<std::string, ConfigValue> values_;
};

/// Throws Error(kInput) at `place`, "'NAME' ...".
[[noreturn]] void refuse(const std::string& place, const std::string& message);

}  // namespace draftproof::tools::audit
