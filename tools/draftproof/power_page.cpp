// The pages of the power table.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/draftproof/power_table.h"
#include "tools/report/table.h"

namespace draftproof::tools {
namespace {

std::string count_or(const std::optional<double>& count, const std::string& otherwise) {
  return count ? report::grouped(static_cast<std::uint64_t>(*count)) : otherwise;
}

nlohmann::ordered_json json_count(const std::optional<double>& count) {
  return count ? nlohmann::ordered_json(static_cast<std::uint64_t>(*count))
               : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::string power_text(const PowerTable& table, bool is_markdown) {
  using report::Align;
  std::vector<report::Column> columns = {{"fault"},
                                         {"TV", Align::kRight},
                                         {"directed", Align::kRight},
                                         {"places", Align::kRight},
                                         {"all bets", Align::kRight},
                                         {"foretold", Align::kRight},
                                         {"ratio", Align::kRight}};
  for (const std::string& name : power_criteria()) columns.push_back({name, Align::kRight});
  report::Table page(columns);
  const std::string more = "> " + report::grouped(table.tokens_max);
  for (const PowerRow& row : table.rows) {
    const bool has_ratio = row.joint && row.foretold;
    std::vector<std::string> cells = {
        row.fault,
        fmt::format("{:.4f}", row.distance),
        count_or(row.directed, more),
        count_or(row.places, more),
        count_or(row.joint, more),
        count_or(row.foretold, "never"),
        has_ratio ? fmt::format("{:.2f}", *row.joint / *row.foretold) : "-"};
    for (const std::uint64_t passes : row.passes)
      cells.push_back(fmt::format("{}/{}", passes, table.runs));
    page.add(cells);
  }
  std::string text = is_markdown ? page.markdown() : page.text();
  text += fmt::format(
      "\nA chain of ten tokens, three drafted; {} runs a row. Tokens: the median until the e-value "
      "reaches 1e9; ratio: all bets over foretold.\nCriteria: runs in which the author's test "
      "passes, with the author's number of draws (fixtures/criteria).\n",
      table.runs);
  if (!table.is_complete) text += "Interrupted: the rest of the rows is missing.\n";
  return text;
}

std::string power_json(const PowerTable& table) {
  nlohmann::ordered_json document;
  document["schema_version"] = "draftproof/power/1";
  document["runs"] = table.runs;
  document["tokens_max"] = table.tokens_max;
  document["e_value"] = 1e9;
  document["is_complete"] = table.is_complete;
  document["rows"] = nlohmann::ordered_json::array();
  for (const PowerRow& row : table.rows) {
    nlohmann::ordered_json passes;
    for (std::size_t i = 0; i < row.passes.size(); ++i) passes[power_criteria()[i]] = row.passes[i];
    document["rows"].push_back({{"fault", row.fault},
                                {"statement", row.statement},
                                {"report", row.report},
                                {"total_variation", row.distance},
                                {"directed", json_count(row.directed)},
                                {"places", json_count(row.places)},
                                {"all_bets", json_count(row.joint)},
                                {"foretold", json_count(row.foretold)},
                                {"strongest_bet", row.strongest},
                                {"alarms", row.alarms},
                                {"passes", passes}});
  }
  return document.dump(2) + "\n";
}

}  // namespace draftproof::tools
