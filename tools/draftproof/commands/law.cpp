// law: a calculator. Decimals in, fractions out, every step shown.
#include <ostream>

#include "tools/draftproof/commands/commands.h"
#include "tools/draftproof/contract_comparison.h"
#include "tools/draftproof/fault_table.h"
#include "tools/draftproof/law_page.h"

namespace draftproof::tools {

ExitCode law(const LawSettings& settings, const Streams& streams) {
  const bool is_json = settings.output.format == OutputFormat::kJson;
  if (!asks_for_decoding(settings) && asks_for_contracts(settings)) {
    const ContractReport report = contract_report(settings);
    streams.out << (is_json ? contracts_json(report) : contracts_page(report));
    return ExitCode::kUpheld;
  }
  if (settings.shows_faults) {
    streams.out << exercise_page(law_plan(settings));
    return ExitCode::kUpheld;
  }
  const LawResult result = law_result(law_plan(settings));
  streams.out << (is_json ? law_json(result) : law_page(result));
  return ExitCode::kUpheld;
}

}  // namespace draftproof::tools
