#include "tools/report/report.h"

namespace draftproof::tools::report {

std::vector<oracle::Verdict> verdicts_of(const Run& run) {
  std::vector<oracle::Verdict> verdicts;
  for (const CheckResult& check : run.checks) verdicts.push_back(check.verdict);
  return verdicts;
}

oracle::VerdictKind verdict_of(const Run& run) { return oracle::merged(verdicts_of(run)); }

void Collector::on(const Event& event) {
  if (const auto* started = std::get_if<RunStarted>(&event)) run_.started = *started;
  if (const auto* check = std::get_if<CheckFinished>(&event)) run_.checks.push_back(check->result);
  if (const auto* exempted = std::get_if<CheckExempted>(&event)) {
    run_.exempted.push_back(*exempted);
  }
  if (const auto* section = std::get_if<Section>(&event)) run_.sections.push_back(*section);
  if (const auto* warning = std::get_if<Warning>(&event)) {
    run_.warnings.push_back(warning->message);
  }
  if (const auto* finished = std::get_if<RunFinished>(&event)) {
    run_.finished = *finished;
    at_end_(run_);
  }
}

}  // namespace draftproof::tools::report
