#include "tools/draftproof/commands/table_power.h"

#include <ostream>

#include "reference/error.h"
#include "tools/draftproof/interrupt.h"
#include "tools/draftproof/power_table.h"

namespace draftproof::tools {

void refuse_power_options(const PowerOptions& options, const std::string& table) {
  const std::string remedy = table + " is exact and whole; leave it out";
  if (!options.battery.empty()) throw Error(ErrorKind::kInput, remedy, "--battery");
  if (!options.seed.empty()) throw Error(ErrorKind::kInput, remedy, "--seed");
}

ExitCode table_power(const TableSettings& settings, const PowerOptions& options,
                     const Streams& streams) {
  if (!settings.toy.empty())
    throw Error(ErrorKind::kInput, "power has a toy chain of its own; leave it out", "--toy");
  PowerTableSettings own;
  own.is_smoke = options.battery == "smoke";
  if (!options.seed.empty()) own.seed = seed_from(options.seed, "--seed");
  catch_interrupts();
  own.stopped = [] { return is_interrupted(); };
  const PowerTable table = power_table(own);
  streams.out << (settings.output.format == OutputFormat::kJson
                      ? power_json(table)
                      : power_text(table, settings.output.format == OutputFormat::kMarkdown));
  return table.is_complete ? ExitCode::kUpheld : ExitCode::kInterrupted;
}

}  // namespace draftproof::tools
