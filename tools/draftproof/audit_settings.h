// What `audit`, `plan` and `doctor` are told alike: a configuration file and flags over it. The
// flags are those of the table of keys (tools/audit/config_keys.h), so that none can be forgotten.
#pragma once

#include <map>
#include <string>

#include "tools/audit/config.h"

namespace CLI {
class App;
}

namespace draftproof::tools {

struct AuditSettings {
  std::string config;  ///< a file; empty: draftproof.toml of this folder when there is one
  bool prints_config = false;
  std::map<std::string, std::string>
      flags;  ///< dotted name -> TOML value, of flags that were given
};

/// Adds [FILE], -c, --print-config and the flag of every key that has one.
void add_audit_options(CLI::App& command, AuditSettings& settings);
/// The same without the positional FILE, for commands whose words are something else.
void add_audit_flags(CLI::App& command, AuditSettings& settings);

/// Throws as audit::load_config.
audit::LoadedConfig settings_of_flags(const AuditSettings& settings);

}  // namespace draftproof::tools
