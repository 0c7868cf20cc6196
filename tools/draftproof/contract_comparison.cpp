// Contracts side by side, as a page and as JSON (contract_comparison.h).
#include "tools/draftproof/contract_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/draftproof/law_page.h"
#include "tools/report/table.h"

namespace draftproof::tools {
namespace {

using reference::ContractDistance;
using reference::ContractLaw;
using reference::RowLaw;
using reference::Status;
using reference::StepLaw;
using report::Align;
using report::Table;
using Json = nlohmann::ordered_json;

constexpr std::size_t kTokensShown = 40;

std::string digits(const reference::Exact& value) {
  if (value == 0) return "0";
  return fmt::format("{:.6f}", value.convert_to<double>());
}

std::string probability_at(const RowLaw& row, std::size_t token) {
  if (row.status != Status::kOk) return std::string(to_string(row.status));
  return digits((*row.law)[token]);
}

std::size_t shown(const ContractReport& report) {
  return std::min(report.logits.size(), kTokensShown);
}

std::string and_more(const ContractReport& report) {
  if (report.logits.size() <= kTokensShown) return "";
  return fmt::format("and {} more tokens; -o json writes all\n",
                     report.logits.size() - kTokensShown);
}

/// One line a token, two columns a step: the logit where it changed, and the law.
std::string steps_of(const ContractReport& report, std::size_t index) {
  const ContractLaw& law = report.comparison.laws[index];
  const reference::Contract& contract = *law.use.contract;
  std::string out = fmt::format("{}   {}\n", contract.name, contract.engine);
  if (!law.refusal.empty()) return out + law.refusal + ": no law\n\n";
  for (const auto parameter : law.ignored) {
    out += fmt::format("takes no notice of: {}\n", to_string(parameter));
  }
  std::vector<report::Column> columns = {{"token", Align::kRight}};
  const std::vector<StepLaw>& steps = report.steps[index];
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const bool is_changed = s == 0 || steps[s].logits != steps[s - 1].logits;
    if (is_changed) columns.push_back({"logit", Align::kRight});
    columns.push_back({steps[s].step, Align::kRight});
  }
  Table table(columns);
  for (std::size_t token = 0; token < shown(report); ++token) {
    std::vector<std::string> cells = {std::to_string(token)};
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const bool is_changed = s == 0 || steps[s].logits != steps[s - 1].logits;
      if (is_changed) cells.push_back(fmt::format("{:g}", steps[s].logits[token]));
      cells.push_back(probability_at(steps[s].row, token));
    }
    table.add(std::move(cells));
  }
  return out + table.text() + and_more(report) + "\n";
}

std::string laws_of(const ContractReport& report) {
  std::vector<report::Column> columns = {{"token", Align::kRight}};
  for (const ContractLaw& law : report.comparison.laws) {
    columns.push_back({law.use.contract->name, Align::kRight});
  }
  Table table(columns);
  for (std::size_t token = 0; token < shown(report); ++token) {
    std::vector<std::string> cells = {std::to_string(token)};
    for (const ContractLaw& law : report.comparison.laws) {
      cells.push_back(law.refusal.empty() ? probability_at(law.row, token) : "refused");
    }
    table.add(std::move(cells));
  }
  return "The laws\n" + table.text() + and_more(report) + "\n";
}

std::string number_of(const std::optional<ContractDistance>& distance) {
  return distance ? digits(distance->total_variation) : "-";
}

std::string matrix_of(const ContractReport& report) {
  const auto& laws = report.comparison.laws;
  std::vector<report::Column> columns = {{"total variation"}};
  for (const ContractLaw& law : laws) columns.push_back({law.use.contract->name, Align::kRight});
  Table table(columns);
  for (std::size_t i = 0; i < laws.size(); ++i) {
    std::vector<std::string> cells = {laws[i].use.contract->name};
    for (std::size_t j = 0; j < laws.size(); ++j) {
      cells.push_back(number_of(report.comparison.distance[i][j]));
    }
    table.add(std::move(cells));
  }
  return table.text() + "\n";
}

std::string pairs_of(const ContractReport& report) {
  const auto& comparison = report.comparison;
  Table table({{"first"},
               {"second"},
               {"total variation", Align::kRight},
               {"exact", Align::kRight},
               {"KL first||second", Align::kRight},
               {"KL second||first", Align::kRight},
               {"they part with"}});
  for (std::size_t i = 0; i < comparison.laws.size(); ++i) {
    for (std::size_t j = i + 1; j < comparison.laws.size(); ++j) {
      const auto& there = comparison.distance[i][j];
      const auto& back = comparison.distance[j][i];
      const std::string& first = comparison.laws[i].use.contract->name;
      const std::string& second = comparison.laws[j].use.contract->name;
      if (!there || !back) {
        table.add({first, second, "-", "-", "-", "-", "one has no law"});
        continue;
      }
      table.add({first, second, digits(there->total_variation), readable(there->total_variation),
                 fmt::format("{:.6g}", there->divergence), fmt::format("{:.6g}", back->divergence),
                 there->parting ? std::string(to_string(*there->parting)) : "nothing: equal"});
    }
  }
  return "How far apart (they part with: the first parameter, in the order of the first, that "
         "makes\n"
         "their laws differ)\n" +
         table.text();
}

Json json_of(const RowLaw& row) {
  if (row.status != Status::kOk) return nullptr;
  Json law = Json::array();
  for (const auto& probability : row.law->probabilities()) {
    law.push_back(reference::to_string(probability));
  }
  return law;
}

/// JSON has no infinity: a divergence that is infinite is null.
Json json_of(const std::optional<ContractDistance>& distance) {
  if (!distance) return nullptr;
  return {{"total_variation", reference::to_string(distance->total_variation)},
          {"divergence_nats",
           std::isfinite(distance->divergence) ? Json(distance->divergence) : Json(nullptr)},
          {"parting", distance->parting ? Json(to_string(*distance->parting)) : Json(nullptr)}};
}

Json json_of(const ContractReport& report, std::size_t index) {
  const ContractLaw& law = report.comparison.laws[index];
  Json steps = Json::array();
  for (const StepLaw& step : report.steps[index]) {
    Json logits = Json::array();
    for (const float logit : step.logits) logits.push_back(fmt::format("{}", logit));
    steps.push_back({{"step", step.step},
                     {"logits", logits},
                     {"status", to_string(step.row.status)},
                     {"law", json_of(step.row)}});
  }
  Json ignored = Json::array();
  for (const auto parameter : law.ignored) ignored.push_back(to_string(parameter));
  return {{"name", law.use.contract->name},
          {"engine", law.use.contract->engine},
          {"source", law.use.contract->source},
          {"refusal", law.refusal.empty() ? Json(nullptr) : Json(law.refusal)},
          {"ignored", ignored},
          {"status", to_string(law.row.status)},
          {"law", law.has_law() ? json_of(law.row) : Json(nullptr)},
          {"steps", steps}};
}

}  // namespace

std::string contracts_page(const ContractReport& report) {
  std::string out =
      fmt::format("row        {} logits; history: prompt [{}], emitted [{}], drafted [{}]\n\n",
                  report.logits.size(), fmt::join(report.history.prompt, " "),
                  fmt::join(report.history.committed, " "), fmt::join(report.history.drafted, " "));
  for (std::size_t i = 0; i < report.comparison.laws.size(); ++i) out += steps_of(report, i);
  if (report.comparison.laws.size() == 1) return out;
  out += laws_of(report);
  if (report.comparison.laws.size() > 2) out += matrix_of(report);
  return out + pairs_of(report);
}

std::string contracts_json(const ContractReport& report) {
  Json json = {{"schema_version", "draftproof/contracts/1"},
               {"vocab_size", report.logits.size()},
               {"history",
                {{"prompt", report.history.prompt},
                 {"committed", report.history.committed},
                 {"drafted", report.history.drafted}}}};
  json["contracts"] = Json::array();
  for (std::size_t i = 0; i < report.comparison.laws.size(); ++i) {
    json["contracts"].push_back(json_of(report, i));
  }
  json["distances"] = Json::array();
  for (const auto& line : report.comparison.distance) {
    Json cells = Json::array();
    for (const auto& distance : line) cells.push_back(json_of(distance));
    json["distances"].push_back(cells);
  }
  return json.dump(2) + "\n";
}

}  // namespace draftproof::tools
