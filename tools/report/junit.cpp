#include "tools/report/junit.h"

#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>

#include "oracle/explain.h"
#include "tools/report/summary.h"
#include "tools/report/text.h"

namespace draftproof::tools::report {
namespace {

/// Characters that XML 1.0 cannot carry, even escaped, become '?'.
std::string clean(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') c = '?';
  }
  return text;
}

void set(pugi::xml_node node, const char* name, const std::string& value) {
  node.append_attribute(name).set_value(clean(value).c_str());
}

void add_property(pugi::xml_node properties, const char* name, const std::string& value) {
  if (value.empty()) return;
  pugi::xml_node property = properties.append_child("property");
  set(property, "name", name);
  set(property, "value", value);
}

enum class Answer { kPassed, kFailed, kSkipped, kError };

Answer answer_of(const CheckResult& check, bool inconclusive_is_allowed) {
  if (!check.internal_error.empty() || !check.world_error.empty()) return Answer::kError;
  if (check.verdict.kind == oracle::VerdictKind::kUpheld) return Answer::kPassed;
  if (!check.accepted.empty()) return Answer::kSkipped;
  if (check.verdict.kind == oracle::VerdictKind::kViolated) return Answer::kFailed;
  return inconclusive_is_allowed ? Answer::kSkipped : Answer::kFailed;
}

std::string detail_of(const CheckResult& check) {
  std::string detail = check.statement + "\n";
  if (check.verdict.witness) detail += text_of(*check.verdict.witness);
  for (const auto& seen : check.verdict.observations) detail += oracle::describe(seen) + "\n";
  return detail;
}

void add_case(pugi::xml_node suite, const CheckResult& check, bool inconclusive_is_allowed) {
  const oracle::Verdict& verdict = check.verdict;
  pugi::xml_node node = suite.append_child("testcase");
  set(node, "classname", "draftproof." + verdict.subject);
  set(node, "name", check.id);
  set(node, "time", fmt::format("{:.3f}", verdict.seconds));
  pugi::xml_node properties = node.append_child("properties");
  add_property(properties, "claim", std::string(oracle::to_string(verdict.claim)));
  add_property(properties, "verdict", std::string(oracle::to_string(verdict.kind)));
  add_property(properties, "trials", std::to_string(verdict.trials));
  add_property(properties, "evidence", verdict.evidence);
  add_property(properties, "smallest_visible_effect", verdict.smallest_visible_effect);
  add_property(properties, "bound", verdict.bound.value_or(""));
  add_property(properties, "setting", verdict.setting);
  add_property(properties, "label", std::string(oracle::to_string(verdict.label)));
  if (verdict.log_e_value)
    add_property(properties, "log_e_value", fmt::format("{}", *verdict.log_e_value));
  if (verdict.effect) {
    const oracle::Interval& bounds = verdict.effect->total_variation_bounds;
    add_property(
        properties, "total_variation",
        fmt::format("{} [{}, {}]", verdict.effect->total_variation, bounds.low, bounds.high));
  }
  add_property(properties, "assumption", verdict.assumption);
  add_property(properties, "device", check.device);

  const auto child = [&](const char* name, const std::string& message, const std::string& text) {
    pugi::xml_node reason = node.append_child(name);
    set(reason, "message", message);
    if (!text.empty()) reason.text().set(clean(text).c_str());
  };
  switch (answer_of(check, inconclusive_is_allowed)) {
    case Answer::kPassed:
      break;
    case Answer::kError:
      child("error", check.internal_error + check.world_error, "");
      break;
    case Answer::kSkipped:
      child("skipped",
            check.accepted.empty() ? "inconclusive: " + evidence_of(check)
                                   : "accepted: " + check.accepted,
            "");
      break;
    case Answer::kFailed:
      child("failure", std::string(oracle::to_string(verdict.kind)) + ": " + evidence_of(check),
            detail_of(check));
  }
}

}  // namespace

std::string junit_of(const Run& run) {
  const bool allowed = run.finished.inconclusive_is_allowed;
  const auto count = [&](Answer answer) {
    return std::to_string(
        std::count_if(run.checks.begin(), run.checks.end(),
                      [&](const auto& check) { return answer_of(check, allowed) == answer; }));
  };
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  set(declaration, "version", "1.0");
  set(declaration, "encoding", "UTF-8");
  pugi::xml_node suite = document.append_child("testsuites").append_child("testsuite");
  set(suite, "name", "draftproof " + run.started.kind + " " + run.started.subject);
  set(suite, "tests", std::to_string(run.checks.size()));
  set(suite, "failures", count(Answer::kFailed));
  set(suite, "errors", count(Answer::kError));
  set(suite, "skipped", count(Answer::kSkipped));
  set(suite, "time", fmt::format("{:.3f}", run.finished.seconds));
  pugi::xml_node properties = suite.append_child("properties");
  add_property(properties, "run_id", run.started.run_id);
  add_property(properties, "version", run.started.environment.version);
  add_property(properties, "device", run.started.environment.device);
  add_property(properties, "battery", run.started.budget.battery);
  add_property(properties, "seed", std::to_string(run.started.budget.seed));
  for (const CheckResult& check : run.checks) add_case(suite, check, allowed);
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

}  // namespace draftproof::tools::report
