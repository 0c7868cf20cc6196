#include "tools/report/github.h"

#include "tools/report/summary.h"

namespace draftproof::tools::report {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '%') {
      out += "%25";
    } else if (c == '\n') {
      out += "%0A";
    } else if (c == '\r') {
      out += "%0D";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string github_annotations_of(const Run& run) {
  std::string out;
  for (const CheckResult& check : run.checks) {
    const oracle::Verdict& verdict = check.verdict;
    const std::string error = check.internal_error + check.world_error;
    const bool is_error = verdict.kind == oracle::VerdictKind::kViolated || !error.empty();
    if (!is_error && verdict.kind == oracle::VerdictKind::kUpheld) continue;
    std::string message = verdict_word(check) + " " + std::string(oracle::to_string(verdict.claim));
    if (!verdict.setting.empty()) message += " in " + verdict.setting;
    message += " by " + verdict.subject + ": " + (error.empty() ? evidence_of(check) : error);
    if (verdict.witness && !verdict.witness->replay.empty()) {
      message += "\n" + verdict.witness->replay;
    }
    out += !check.accepted.empty() ? "::notice" : is_error ? "::error" : "::warning";
    // In a property value ',' and ':' would end it.
    out += " title=draftproof " + verdict.property + "::" + escaped(message) + "\n";
  }
  return out;
}

}  // namespace draftproof::tools::report
