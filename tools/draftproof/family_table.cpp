#include "tools/draftproof/family_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reference/draft/method.h"
#include "reference/error.h"
#include "reference/law/decoding.h"
#include "tools/draftproof/law_page.h"
#include "tools/report/table.h"

namespace draftproof::tools {
namespace {

namespace law = reference::law;
namespace model = reference::model;
using reference::Exact;
using report::Align;
using report::Table;

const std::vector<std::string>& rule_toys() {
  static const std::vector<std::string> names = {"full-memory", "near", "markov", "zeros", "equal"};
  return names;
}

/// The smallest draft on which the rule is more than its neighbour: two positions, two siblings.
law::ModelCase case_of(const law::LawRule& rule, const model::Toy& toy) {
  law::ModelCase tiny = law::chain_case(toy.target, toy.draft, 2);
  if (rule.shape == law::TakenShape::kOneLevel) tiny.parents = law::tree_parents({2});
  if (rule.shape == law::TakenShape::kTree) tiny.parents = law::tree_parents({2, 1});
  if (!rule.siblings.empty()) tiny.siblings = rule.siblings.front();
  return tiny;
}

std::string drafted_by(const law::LawRule& rule) {
  if (rule.shape == law::TakenShape::kOneLevel) return "2 siblings";
  return rule.shape == law::TakenShape::kTree ? "a tree of 2,1" : "a chain of 2";
}

FamilyCell cell_of(const std::string& toy, const law::Decoding& decoding) {
  return {toy, law::sequence_distance(decoding, kFamilyTokens),
          law::expected_emitted(law::emission_law(decoding)), std::nullopt};
}

FamilyRow row_of(const law::LawRule& rule, const std::vector<std::string>& toys) {
  FamilyRow row{"rule",          rule.name, drafted_by(rule), rule.kind,
                rule.conditions, {},        rule.provenance};
  const law::OptionValues options = law::checked(rule, {});
  for (const std::string& name : toys) {
    const law::ModelCase tiny = case_of(rule, model::toy(name));
    law::Decoding decoding = law::decoding_of(tiny, rule.make(options));
    if (rule.decoded == law::DecodedLaw::kGreedy)
      decoding.target = model::greedy_model(tiny.target);
    row.cells.push_back(cell_of(name, decoding));
    if (rule.expected_emitted) row.cells.back().formula = rule.expected_emitted(tiny, options);
  }
  return row;
}

FamilyRow row_of(const reference::draft::Method& method, const std::vector<std::string>& toys) {
  FamilyRow row{"method",          method.name, "by " + method.rule, method.kind,
                method.conditions, {},          method.provenance};
  for (const std::string& name : toys) {
    const model::Toy& toy = model::toy(name);
    row.cells.push_back(cell_of(name, method.make(toy)));
    if (method.expected_emitted) row.cells.back().formula = method.expected_emitted(toy);
  }
  return row;
}

std::string text_or_none(const std::string& text) { return text.empty() ? "-" : text; }

/// In capitals what a row promises and does not keep.
std::string verdict_of(const FamilyRow& row) {
  if (row.is_lossless()) return "lossless";
  return row.promise == law::RuleKind::kLossy ? "lossy" : "LOSSY";
}

std::string formula_of(const FamilyRow& row) {
  if (row.formula_agrees()) return "agrees";
  const bool has_one = std::any_of(row.cells.begin(), row.cells.end(),
                                   [](const FamilyCell& cell) { return cell.formula.has_value(); });
  return has_one ? "DIFFERS" : "none";
}

Table truths_of(const std::vector<FamilyRow>& rows) {
  Table table({{"rule or method"},
               {"drafts"},
               {"found"},
               {"distance", Align::kLeft, 40},
               {"expected length", Align::kLeft, 40},
               {"closed form"}});
  for (const FamilyRow& row : rows) {
    std::string distances;
    std::string lengths;
    for (const FamilyCell& cell : row.cells) {
      const std::string separator = distances.empty() ? "" : ", ";
      distances +=
          separator + cell.toy + " " +
          (cell.distance == 0 ? "0" : fmt::format("{:.4f}", cell.distance.convert_to<double>()));
      lengths += separator + fmt::format("{:.4f}", cell.expected.convert_to<double>());
    }
    table.add({row.name, row.drafted, verdict_of(row), distances, lengths, formula_of(row)});
  }
  return table;
}

Table provenance_of(const std::vector<FamilyRow>& rows) {
  Table table({{"rule or method"},
               {"when lossless", Align::kLeft, 48},
               {"to roll back", Align::kLeft, 36},
               {"ships in", Align::kLeft, 40},
               {"extra weights or training", Align::kLeft, 24},
               {"cost model", Align::kLeft, 28},
               {"kernel for batches, long contexts", Align::kLeft, 28},
               {"graph capture and rollback", Align::kLeft, 28}});
  for (const FamilyRow& row : rows) {
    const law::Provenance& known = row.provenance;
    table.add({row.name, text_or_none(row.conditions), text_or_none(known.state),
               text_or_none(known.engines), text_or_none(known.weights),
               text_or_none(known.cost_model), text_or_none(known.batch_kernel),
               text_or_none(known.graph_rollback)});
  }
  return table;
}

}  // namespace

bool FamilyRow::is_lossless() const {
  return std::all_of(cells.begin(), cells.end(),
                     [](const FamilyCell& cell) { return cell.distance == 0; });
}

bool FamilyRow::formula_agrees() const {
  return std::all_of(cells.begin(), cells.end(), [](const FamilyCell& cell) {
    return cell.formula && *cell.formula == cell.expected;
  });
}

std::vector<FamilyRow> family_rows(FamilyPart part, const std::string& toy) {
  try {
    if (!toy.empty()) model::toy(toy);
  } catch (const Error& error) {
    throw Error(error.kind(), error.message(), "--toy");
  }
  std::vector<FamilyRow> rows;
  if (part != FamilyPart::kMethods)
    for (const law::LawRule& rule : law::law_rules())
      rows.push_back(row_of(rule, toy.empty() ? rule_toys() : std::vector{toy}));
  if (part != FamilyPart::kRules)
    for (const reference::draft::Method& method : reference::draft::methods())
      rows.push_back(row_of(method, toy.empty() ? method.toys : std::vector{toy}));
  return rows;
}

std::string family_text(const std::vector<FamilyRow>& rows, bool is_markdown) {
  const Table truths = truths_of(rows);
  const Table provenance = provenance_of(rows);
  return is_markdown ? truths.markdown() + "\n" + provenance.markdown()
                     : truths.text() + "\n" + provenance.text();
}

std::string family_json(const std::vector<FamilyRow>& rows) {
  nlohmann::ordered_json json = {{"schema_version", "draftproof/family/1"},
                                 {"tokens", kFamilyTokens}};
  json["rows"] = nlohmann::ordered_json::array();
  for (const FamilyRow& row : rows) {
    nlohmann::ordered_json cells = nlohmann::ordered_json::array();
    for (const FamilyCell& cell : row.cells)
      cells.push_back({{"toy", cell.toy},
                       {"distance", reference::to_string(cell.distance)},
                       {"expected_emitted", reference::to_string(cell.expected)},
                       {"expected_by_formula",
                        cell.formula ? nlohmann::ordered_json(reference::to_string(*cell.formula))
                                     : nlohmann::ordered_json(nullptr)}});
    json["rows"].push_back({{"kind", row.kind},
                            {"name", row.name},
                            {"drafts", row.drafted},
                            {"promises_losslessness", row.promise == law::RuleKind::kLossless},
                            {"is_lossless", row.is_lossless()},
                            {"formula_agrees", row.formula_agrees()},
                            {"conditions", row.conditions},
                            {"cells", cells},
                            {"state", row.provenance.state},
                            {"engines", row.provenance.engines},
                            {"weights", row.provenance.weights},
                            {"cost_model", row.provenance.cost_model},
                            {"batch_kernel", row.provenance.batch_kernel},
                            {"graph_rollback", row.provenance.graph_rollback}});
  }
  return json.dump(2) + "\n";
}

}  // namespace draftproof::tools
