#include "tools/draftproof/speed_matrix.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "reference/error.h"
#include "tools/report/table.h"

namespace draftproof::tools {
namespace {

constexpr const char* kSchema = "draftproof/matrix/1";

class MatrixReader {
 public:
  explicit MatrixReader(const std::string& file) : file_(file) {}

  BenchmarkMatrix read(const toml::table& root) {
    allow_only(root, {"schema", "name", "cover", "axes", "exclude"});
    if (text(root, "schema") != kSchema)
      fail(root, fmt::format("'schema' must be \"{}\", the only version there is", kSchema));
    matrix_.name = text(root, "name");
    const std::string cover = text(root, "cover");
    if (cover != "all" && cover != "pairs") fail(root, "'cover' must be \"all\" or \"pairs\"");
    matrix_.cover = cover == "all" ? MatrixCover::kAll : MatrixCover::kPairs;
    read_axes(root);
    read_exclusions(root);
    return matrix_;
  }

 private:
  [[noreturn]] void fail(const toml::node& node, const std::string& message) const {
    throw Error(ErrorKind::kInput, message,
                fmt::format("{}:{}", file_, std::max(1u, node.source().begin.line)));
  }

  void allow_only(const toml::table& table, const std::set<std::string>& known) const {
    for (const auto& [key, node] : table) {
      if (!known.contains(std::string(key.str()))) {
        fail(node, fmt::format("unknown key '{}'; known: {}", std::string(key.str()),
                               fmt::join(known, ", ")));
      }
    }
  }

  std::string text(const toml::table& table, const char* key) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) fail(table, fmt::format("lacks '{}'; add it as a text", key));
    if (!node->is_string()) fail(*node, fmt::format("'{}' must be a text", key));
    return **node->as_string();
  }

  /// A value of an axis: a text or a whole number.
  std::string value_of(const toml::node& node) const {
    if (const auto* word = node.as_string()) return **word;
    if (const auto* number = node.as_integer()) return std::to_string(**number);
    fail(node, "a value of an axis must be a text or a whole number");
  }

  const toml::table& table_of(const toml::node& node, const char* what) const {
    const toml::table* table = node.as_table();
    if (table == nullptr) fail(node, fmt::format("{} must be a table", what));
    return *table;
  }

  void read_axes(const toml::table& root) {
    const toml::node* node = root.get("axes");
    if (node == nullptr) fail(root, "lacks [[axes]]; add one with name and values");
    const toml::array* list = node->as_array();
    if (list == nullptr) fail(*node, "'axes' must be written as [[axes]], in their order");
    std::set<std::string> names;
    for (const toml::node& each : *list) {
      const toml::table& table = table_of(each, "an axis");
      allow_only(table, {"name", "values"});
      MatrixAxis axis{text(table, "name"), {}};
      if (!names.insert(axis.name).second)
        fail(table, fmt::format("axis '{}' is given twice; keep one", axis.name));
      const toml::node* values = table.get("values");
      if (values == nullptr || !values->is_array() || values->as_array()->empty())
        fail(table, fmt::format("axis '{}' needs 'values', a list that is not empty", axis.name));
      for (const toml::node& value : *values->as_array()) {
        const std::string word = value_of(value);
        if (std::find(axis.values.begin(), axis.values.end(), word) != axis.values.end())
          fail(value, fmt::format("axis '{}' names '{}' twice; keep one", axis.name, word));
        axis.values.push_back(word);
      }
      matrix_.axes.push_back(std::move(axis));
    }
    std::size_t product = 1;
    for (const MatrixAxis& axis : matrix_.axes) {
      product *= axis.values.size();
      if (product > kMostRuns) {
        fail(*node, fmt::format("more than {} runs; take values out of axes, or split the matrix",
                                kMostRuns));
      }
    }
  }

  void read_exclusions(const toml::table& root) {
    const toml::node* node = root.get("exclude");
    if (node == nullptr) return;
    const toml::array* list = node->as_array();
    if (list == nullptr) fail(*node, "'exclude' must be written as [[exclude]]");
    for (const toml::node& each : *list) {
      const toml::table& table = table_of(each, "an exclusion");
      MatrixExclusion exclusion;
      exclusion.reason = text(table, "reason");
      for (const auto& [key, value] : table) {
        if (key.str() != "reason") exclusion.where.push_back(condition(key, value));
      }
      if (exclusion.where.empty())
        fail(table, "excludes every run; name an axis and its values beside the reason");
      matrix_.exclusions.push_back(std::move(exclusion));
    }
  }

  std::pair<std::size_t, std::vector<std::size_t>> condition(const toml::key& key,
                                                             const toml::node& node) const {
    const std::string name(key.str());
    std::vector<std::string> known;
    for (std::size_t axis = 0; axis < matrix_.axes.size(); ++axis) {
      known.push_back(matrix_.axes[axis].name);
      if (matrix_.axes[axis].name != name) continue;
      std::vector<std::size_t> indices;
      const toml::array* list = node.as_array();
      if (list == nullptr) return {axis, {index_of(axis, node)}};
      for (const toml::node& value : *list) indices.push_back(index_of(axis, value));
      return {axis, indices};
    }
    fail(node, fmt::format("no axis '{}'; there are: {}", name, fmt::join(known, ", ")));
  }

  std::size_t index_of(std::size_t axis, const toml::node& node) const {
    const auto& values = matrix_.axes[axis].values;
    const auto found = std::find(values.begin(), values.end(), value_of(node));
    if (found == values.end()) {
      fail(node, fmt::format("axis '{}' has no '{}'; it has: {}", matrix_.axes[axis].name,
                             value_of(node), fmt::join(values, ", ")));
    }
    return static_cast<std::size_t>(found - values.begin());
  }

  std::string file_;
  BenchmarkMatrix matrix_;
};

std::vector<std::string> words_of(const BenchmarkMatrix& matrix, const MatrixRun& run) {
  std::vector<std::string> words;
  for (std::size_t axis = 0; axis < run.size(); ++axis)
    words.push_back(matrix.axes[axis].values[run[axis]]);
  return words;
}

std::string matrix_csv(const BenchmarkMatrix& matrix, const MatrixPlan& plan) {
  std::string out = "run";
  for (const MatrixAxis& axis : matrix.axes) out += "," + axis.name;
  out += "\n";
  for (std::size_t r = 0; r < plan.runs.size(); ++r)
    out += fmt::format("{},{}\n", r, fmt::join(words_of(matrix, plan.runs[r]), ","));
  return out;
}

std::string matrix_json(const BenchmarkMatrix& matrix, const MatrixPlan& plan) {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const MatrixRun& run : plan.runs) {
    nlohmann::ordered_json object;
    for (std::size_t axis = 0; axis < run.size(); ++axis)
      object[matrix.axes[axis].name] = matrix.axes[axis].values[run[axis]];
    runs.push_back(object);
  }
  return nlohmann::ordered_json({{"schema_version", "draftproof/matrix-plan/1"},
                                 {"name", matrix.name},
                                 {"product", plan.product},
                                 {"excluded", plan.excluded},
                                 {"runs", runs}})
             .dump() +
         "\n";
}

}  // namespace

BenchmarkMatrix matrix_from_toml(std::string_view text, const std::string& file) {
  try {
    const toml::table root = toml::parse(text, file);
    return MatrixReader(file).read(root);
  } catch (const toml::parse_error& error) {
    throw Error(ErrorKind::kInput, std::string(error.description()),
                fmt::format("{}:{}", file, error.source().begin.line));
  }
}

std::string matrix_page(const BenchmarkMatrix& matrix, const MatrixPlan& plan,
                        const std::string& format) {
  if (format == "csv") return matrix_csv(matrix, plan);
  if (format == "json") return matrix_json(matrix, plan);
  std::vector<report::Column> columns = {{"run", report::Align::kRight}};
  for (const MatrixAxis& axis : matrix.axes) columns.push_back({axis.name});
  report::Table table(columns);
  for (std::size_t r = 0; r < plan.runs.size(); ++r) {
    std::vector<std::string> cells = words_of(matrix, plan.runs[r]);
    cells.insert(cells.begin(), std::to_string(r));
    table.add(cells);
  }
  std::string out = fmt::format("{}: {} runs, each with both arms", matrix.name, plan.runs.size());
  out += matrix.cover == MatrixCover::kPairs ? ", every two values meet" : "";
  out += fmt::format(" (of {} combinations, {} excluded)\n\n", report::grouped(plan.product),
                     report::grouped(plan.excluded));
  return out + (format == "md" ? table.markdown() : table.text());
}

}  // namespace draftproof::tools
