// table power: what faults take to be seen, beside what published criteria say of them.
#pragma once

#include <string>

#include "tools/draftproof/exit_code.h"
#include "tools/draftproof/settings.h"

namespace draftproof::tools {

/// As typed; empty where not.
struct PowerOptions {
  std::string battery;  ///< smoke or standard, which is the default
  std::string seed;
};

/// Prints the table. Throws Error(kInput) for options that it has not, or that other tables have.
ExitCode table_power(const TableSettings& settings, const PowerOptions& options,
                     const Streams& streams);
/// Throws Error(kInput) where another table was given one of these options.
void refuse_power_options(const PowerOptions& options, const std::string& table);

}  // namespace draftproof::tools
