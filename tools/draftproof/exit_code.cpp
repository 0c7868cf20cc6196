#include "tools/draftproof/exit_code.h"

#include <fmt/format.h>

namespace draftproof::tools {

std::string_view meaning(ExitCode code) {
  switch (code) {
    case ExitCode::kUpheld:
      return "every claim asked for is upheld at the stated budget";
    case ExitCode::kViolated:
      return "a claim is violated";
    case ExitCode::kInconclusive:
      return "inconclusive: not enough evidence (--allow-inconclusive makes it 0)";
    case ExitCode::kCannotStart:
      return "could not start: bad flags, bad input, a missing device, or nothing selected";
    case ExitCode::kInternalError:
      return "internal error in draftproof";
    case ExitCode::kInterrupted:
      return "interrupted";
  }
  return "unknown";
}

std::string exit_code_table() {
  std::string table = "Exit codes:\n";
  for (const ExitCode code :
       {ExitCode::kUpheld, ExitCode::kViolated, ExitCode::kInconclusive, ExitCode::kCannotStart,
        ExitCode::kInternalError, ExitCode::kInterrupted}) {
    table += fmt::format("  {:>3}  {}\n", static_cast<int>(code), meaning(code));
  }
  return table;
}

ExitCode exit_code_of(oracle::VerdictKind verdict, bool inconclusive_is_allowed) {
  switch (verdict) {
    case oracle::VerdictKind::kUpheld:
      return ExitCode::kUpheld;
    case oracle::VerdictKind::kViolated:
      return ExitCode::kViolated;
    case oracle::VerdictKind::kInconclusive:
      break;
  }
  return inconclusive_is_allowed ? ExitCode::kUpheld : ExitCode::kInconclusive;
}

}  // namespace draftproof::tools
