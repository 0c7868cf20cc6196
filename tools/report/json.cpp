#include "tools/report/json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/report/checklist.h"

namespace draftproof::tools::report {
namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string dumped(const Json& json, int indent) {
  // Texts from outside (file names, device names) may hold bytes that are not UTF-8.
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json json_of(const reference::Place& place) {
  return {{"kernel", place.kernel},
          {"ptx_line", place.ptx_line},
          {"source_file", place.source_file},
          {"source_line", place.source_line},
          {"block", place.block},
          {"warp", place.warp},
          {"lanes", place.lanes}};
}

Json json_of(const reference::Observation& observation) {
  const bool is_unsafe = observation.severity == reference::Severity::kUnsafe;
  Json other = nullptr;
  if (!observation.other.kernel.empty()) other = json_of(observation.other);
  return {{"check", observation.check},
          {"message", observation.message},
          {"severity", is_unsafe ? "unsafe" : "note"},
          {"place", json_of(observation.place)},
          {"other", other},
          {"schedule", observation.schedule},
          {"count", observation.count}};
}

Json json_of(const oracle::Witness& witness) {
  Json recorded = nullptr;
  if (!witness.case_json.empty()) {
    recorded = Json::parse(witness.case_json, nullptr, false);
    if (recorded.is_discarded()) recorded = witness.case_json;
  }
  return {{"let", witness.let},
          {"expected", witness.expected},
          {"observed", witness.observed},
          {"because", witness.because},
          {"replay", text_or_null(witness.replay)},
          {"case", recorded}};
}

/// JSON has no infinities.
Json json_of(double number) {
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  return number;
}

Json json_of(const std::optional<double>& number) {
  return number ? json_of(*number) : Json(nullptr);
}

Json json_of(const oracle::Interval& interval) {
  return Json::array({json_of(interval.low), json_of(interval.high)});
}

Json json_of(const oracle::Effect& effect) {
  return {{"of", effect.of},
          {"total_variation", effect.total_variation},
          {"total_variation_bounds", json_of(effect.total_variation_bounds)},
          {"divergence", json_of(effect.divergence)},
          {"divergence_bounds",
           effect.divergence_bounds ? json_of(*effect.divergence_bounds) : Json(nullptr)},
          {"miss", effect.miss}};
}

Json json_of(const CheckResult& check) {
  const oracle::Verdict& verdict = check.verdict;
  Json cells = Json::array();
  for (const auto& cell : verdict.cells) {
    cells.push_back({{"name", cell.name}, {"cases", cell.cases}});
  }
  Json observations = Json::array();
  for (const auto& seen : verdict.observations) observations.push_back(json_of(seen));
  return {{"id", check.id},
          {"property", verdict.property},
          {"statement", check.statement},
          {"citation", check.citation},
          {"subject", verdict.subject},
          {"rule", check.rule},
          {"device", check.device},
          {"claim", oracle::to_string(verdict.claim)},
          {"verdict", oracle::to_string(verdict.kind)},
          {"trials", verdict.trials},
          {"evidence", verdict.evidence},
          {"smallest_visible_effect", text_or_null(verdict.smallest_visible_effect)},
          {"bound", verdict.bound ? Json(*verdict.bound) : Json(nullptr)},
          {"assumption", text_or_null(verdict.assumption)},
          {"setting", text_or_null(verdict.setting)},
          {"label", text_or_null(std::string(oracle::to_string(verdict.label)))},
          {"log_e_value", json_of(verdict.log_e_value)},
          {"log_alarm", json_of(verdict.log_alarm)},
          {"effect", verdict.effect ? json_of(*verdict.effect) : Json(nullptr)},
          {"accepted", text_or_null(check.accepted)},
          {"seconds", verdict.seconds},
          {"witness", verdict.witness ? json_of(*verdict.witness) : Json(nullptr)},
          {"notes", verdict.notes},
          {"cells", cells},
          {"observations", observations},
          {"internal_error", text_or_null(check.internal_error)},
          {"world_error", text_or_null(check.world_error)}};
}

Json header_of(const RunStarted& started) {
  const Environment& environment = started.environment;
  const Budget& budget = started.budget;
  Json limit = nullptr;
  if (budget.time_limit_seconds) limit = *budget.time_limit_seconds;
  Json facts = Json::array();
  for (const Fact& fact : started.facts)
    facts.push_back({{"name", fact.name}, {"value", fact.value}});
  return {{"tool", {{"name", "draftproof"}, {"version", environment.version}}},
          {"kind", started.kind},
          {"run_id", started.run_id},
          {"facts", facts},
          {"subject", started.subject},
          {"command_line", started.command_line},
          {"environment",
           {{"compiler", environment.compiler},
            {"system", environment.system},
            {"kernels", environment.kernels},
            {"device", environment.device}}},
          {"budget",
           {{"seed", budget.seed},
            {"battery", budget.battery},
            {"false_alarms", budget.false_alarms},
            {"time_limit_seconds", limit},
            {"workers", budget.workers}}}};
}

/// Every claim with its own verdict; a claim that falls with another one is violated through it.
Json claims_of(const Run& run) {
  const auto verdicts = verdicts_of(run);
  const oracle::Refutation refuted = oracle::refutation(verdicts);
  Json claims = Json::array();
  for (const auto claim : oracle::all_claims()) {
    std::vector<oracle::Verdict> own;
    Json checks = Json::array();
    for (const CheckResult& check : run.checks) {
      if (check.verdict.claim != claim) continue;
      own.push_back(check.verdict);
      checks.push_back(check.id);
    }
    Json word = own.empty() ? Json("not-checked") : Json(oracle::to_string(oracle::merged(own)));
    Json through = Json::array();
    for (const auto weaker : refuted.refuted) {
      const auto fallen = oracle::also_refuted(weaker);
      if (std::find(fallen.begin(), fallen.end(), claim) == fallen.end()) continue;
      through.push_back(oracle::to_string(weaker));
      word = oracle::to_string(oracle::VerdictKind::kViolated);
    }
    claims.push_back({{"claim", oracle::to_string(claim)},
                      {"statement", oracle::statement(claim)},
                      {"verdict", word},
                      {"checks", checks},
                      {"refuted_through", through}});
  }
  return claims;
}

Json json_of(const Section& section) {
  Json value = Json::parse(section.json, nullptr, false);
  if (value.is_discarded()) value = section.text;
  return {{"id", section.id}, {"title", section.title}, {"value", value}};
}

Json event_of(const RunFinished& finished) {
  return {{"exit_code", finished.exit_code},
          {"is_interrupted", finished.is_interrupted},
          {"inconclusive_is_allowed", finished.inconclusive_is_allowed},
          {"seconds", finished.seconds}};
}

}  // namespace

std::string json_of(const Run& run) {
  Json document = {{"schema_version", "draftproof/report/1"}};
  document.update(header_of(run.started));
  document["verdict"] = oracle::to_string(verdict_of(run));
  document.update(event_of(run.finished));
  document["claims"] = claims_of(run);
  document["checks"] = Json::array();
  for (const CheckResult& check : run.checks) document["checks"].push_back(json_of(check));
  document["checks_not_run"] =
      run.started.check_count > run.checks.size() ? run.started.check_count - run.checks.size() : 0;
  document["checklist"] = Json::array();
  for (const ChecklistPoint& point : checklist()) {
    document["checklist"].push_back(
        {{"id", point.id}, {"question", point.question}, {"answer", answer_of(point, run)}});
  }
  document["not_applicable"] = Json::array();
  for (const CheckExempted& exempted : run.exempted) {
    document["not_applicable"].push_back({{"id", exempted.id}, {"reason", exempted.reason}});
  }
  document["warnings"] = run.warnings;
  document["sections"] = Json::array();
  for (const Section& section : run.sections) document["sections"].push_back(json_of(section));
  return dumped(document, 2) + "\n";
}

std::string json_line_of(const Event& event) {
  Json line = {{"schema_version", "draftproof/event/1"}};
  if (const auto* started = std::get_if<RunStarted>(&event)) {
    line["event"] = "run-started";
    line.update(header_of(*started));
  } else if (const auto* check = std::get_if<CheckStarted>(&event)) {
    line.update({{"event", "check-started"}, {"index", check->index}, {"id", check->id}});
  } else if (const auto* result = std::get_if<CheckFinished>(&event)) {
    line.update({{"event", "check-finished"}, {"index", result->index}});
    line.update(json_of(result->result));
  } else if (const auto* exempted = std::get_if<CheckExempted>(&event)) {
    line.update({{"event", "check-exempted"}, {"id", exempted->id}, {"reason", exempted->reason}});
  } else if (const auto* section = std::get_if<Section>(&event)) {
    line["event"] = "section";
    line.update(json_of(*section));
  } else if (const auto* warning = std::get_if<Warning>(&event)) {
    line.update({{"event", "warning"}, {"message", warning->message}});
  } else if (const auto* finished = std::get_if<RunFinished>(&event)) {
    line["event"] = "run-finished";
    line.update(event_of(*finished));
  } else {
    return "";
  }
  return dumped(line, -1);
}

void JsonLinesReporter::on(const Event& event) {
  const std::string line = json_line_of(event);
  if (!line.empty()) write_(line + "\n");
}

}  // namespace draftproof::tools::report
