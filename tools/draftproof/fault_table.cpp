#include "tools/draftproof/fault_table.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reference/error.h"
#include "tools/draftproof/law_page.h"
#include "tools/draftproof/law_result.h"
#include "tools/report/table.h"

namespace draftproof::tools {
namespace {

/// Of each fault.
constexpr std::uint64_t kBranchesMax = 20000;

using fixtures::Exercise;
using fixtures::FaultEffect;
using fixtures::FaultRow;
using reference::Exact;
using report::Align;
using report::Table;

std::string decimal(const Exact& value) {
  return value == 0 ? "0" : fmt::format("{:.4f}", value.convert_to<double>());
}

std::string seen_by(const FaultRow& row) {
  if (row.fault->effect == FaultEffect::kBeyondLaws) return "see statement";
  if (!row.measure.is_exercised) return "NOT EXERCISED";
  if (row.fault->effect == FaultEffect::kInefficient) return "expected length";
  return row.is_seen_by_one_iteration() ? "one iteration" : "several iterations";
}

}  // namespace

std::string_view effect_name(FaultEffect effect) {
  switch (effect) {
    case FaultEffect::kLossy:
      return "lossy";
    case FaultEffect::kInefficient:
      return "lossless but inefficient";
    case FaultEffect::kBeyondLaws:
      return "beyond laws of ideal coins";
  }
  return "unknown";
}

std::string faults_text(const std::vector<FaultRow>& rows, bool is_markdown) {
  Table table({{"fault"},
               {"area"},
               {"toy"},
               {"one iteration", Align::kRight},
               {"tokens", Align::kRight},
               {"sequence", Align::kRight},
               {"E", Align::kRight},
               {"E right", Align::kRight},
               {"seen by"},
               {"least setting", Align::kLeft, 48},
               {"what is wrong", Align::kLeft, 60}});
  for (const FaultRow& row : rows) {
    table.add({row.fault->name, row.fault->area, row.fault->toy,
               decimal(row.measure.first_iteration), std::to_string(row.fault->horizon),
               decimal(row.measure.sequence), decimal(row.measure.expected_emitted),
               decimal(row.measure.expected_emitted_right), seen_by(row), row.fault->least_setting,
               row.fault->statement});
  }
  return is_markdown ? table.markdown() : table.text();
}

std::string faults_json(const std::vector<FaultRow>& rows) {
  nlohmann::ordered_json json = {{"schema_version", "draftproof/faults/1"}};
  json["rows"] = nlohmann::ordered_json::array();
  for (const FaultRow& row : rows) {
    json["rows"].push_back(
        {{"name", row.fault->name},
         {"area", row.fault->area},
         {"effect", std::string(effect_name(row.fault->effect))},
         {"toy", row.fault->toy},
         {"tokens", row.fault->horizon},
         {"first_iteration", reference::to_string(row.measure.first_iteration)},
         {"sequence", reference::to_string(row.measure.sequence)},
         {"expected_emitted", reference::to_string(row.measure.expected_emitted)},
         {"expected_emitted_right", reference::to_string(row.measure.expected_emitted_right)},
         {"is_exercised", row.measure.is_exercised},
         {"distance_without_the_fault", reference::to_string(row.right)},
         {"least_setting", row.fault->least_setting},
         {"statement", row.fault->statement},
         {"report", row.fault->report}});
  }
  return json.dump(2) + "\n";
}

std::string exercise_page(const LawPlan& plan) {
  if (!plan.tiny)
    throw Error(ErrorKind::kInput, "needs rows of a draft model; leave --method out", "--faults");
  fixtures::UserFixture fixture{plan.tiny->target, plan.tiny->draft, plan.tiny->parents,
                                plan.tokens.value_or(plan.decoding.draft_count + 1),
                                plan.decoding.prompt};
  const auto faults =
      fixtures::exercise(fixture, {0, 0, kBranchesMax, time_is_up_after(plan.seconds_max)});
  std::string out = fmt::format("What {} can show over {} tokens\n", plan.source, fixture.horizon);
  for (const std::string& limit : fixtures::fixture_limits(fixture))
    out += "limit      " + limit + "\n";
  Table table(
      {{"fault"}, {"area"}, {"result"}, {"distance", Align::kRight}, {"why", Align::kLeft, 60}});
  int shown = 0;
  for (const auto& entry : faults) {
    const bool is_shown = entry.result == Exercise::kShown;
    if (is_shown) ++shown;
    table.add({entry.fault->name, entry.fault->area,
               is_shown                              ? "shown"
               : entry.result == Exercise::kNotShown ? "NOT EXERCISED"
                                                     : "not tried",
               is_shown && entry.distance != 0 ? readable(entry.distance) : "-", entry.reason});
  }
  return out + table.text() +
         fmt::format(
             "{} of {} known faults show on these rows; whoever passes on them has passed "
             "against those only\n",
             shown, faults.size());
}

}  // namespace draftproof::tools
