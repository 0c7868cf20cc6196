// table: what is known of all rules, methods and faults at once. Nothing is remembered: every law
// in it is walked anew.
#include <ostream>

#include "reference/error.h"
#include "tools/draftproof/commands/commands.h"
#include "tools/draftproof/family_table.h"
#include "tools/draftproof/fault_table.h"

namespace draftproof::tools {
namespace {

FamilyPart part_of(const std::string& name) {
  if (name == "rules") return FamilyPart::kRules;
  return name == "methods" ? FamilyPart::kMethods : FamilyPart::kAll;
}

}  // namespace

ExitCode table(const TableSettings& settings, const Streams& streams) {
  const bool is_json = settings.output.format == OutputFormat::kJson;
  const bool is_markdown = settings.output.format == OutputFormat::kMarkdown;
  if (settings.name == "faults") {
    if (!settings.toy.empty())
      throw Error(ErrorKind::kInput, "every fault has a toy of its own; leave it out", "--toy");
    const auto rows = fixtures::fault_matrix();
    streams.out << (is_json ? faults_json(rows) : faults_text(rows, is_markdown));
    return ExitCode::kUpheld;
  }
  const auto rows = family_rows(part_of(settings.name), settings.toy);
  streams.out << (is_json ? family_json(rows) : family_text(rows, is_markdown));
  return ExitCode::kUpheld;
}

}  // namespace draftproof::tools
