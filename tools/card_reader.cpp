#include "tools/card_reader.h"

#include <toml++/toml.h>

#include <cctype>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <regex>
#include <utility>
#include <vector>

#include "reference/error.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools {
namespace {

constexpr std::int64_t kVersion = 2;

[[noreturn]] void fail(const std::string& place, const std::string& message) {
  throw Error(ErrorKind::kInput, message, place);
}

/// One table of the card: typed look-ups that know file and line.
class Table {
 public:
  Table(const toml::table& table, const std::string& file, std::string name)
      : table_(&table), file_(&file), name_(std::move(name)) {}

  std::string place(const toml::node& node) const {
    return *file_ + ":" + std::to_string(node.source().begin.line);
  }
  std::string place() const { return place(*table_); }
  const std::string& name() const { return name_; }

  void allow_only(std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, node] : *table_) {
      bool known = false;
      std::string list;
      for (const std::string_view each : keys) {
        known = known || each == key.str();
        list += (list.empty() ? "" : ", ") + std::string(each);
      }
      if (!known)
        fail(place(node),
             "unknown key '" + std::string(key.str()) + "' in [" + name_ + "]; known: " + list);
    }
  }

  const toml::node* find(std::string_view key) const { return table_->get(key); }

  const toml::node& need(std::string_view key) const {
    const toml::node* node = find(key);
    if (node == nullptr && name_.empty())
      fail(*file_ + ":1", "the card lacks [" + std::string(key) + "]");
    if (node == nullptr) fail(place(), "[" + name_ + "] lacks '" + std::string(key) + "'");
    return *node;
  }

  std::string text(std::string_view key) const { return text_of(need(key), key); }
  std::string text_or(std::string_view key, const std::string& otherwise) const {
    const toml::node* node = find(key);
    return node == nullptr ? otherwise : text_of(*node, key);
  }
  bool flag_or(std::string_view key, bool otherwise) const {
    const toml::node* node = find(key);
    if (node == nullptr) return otherwise;
    if (!node->is_boolean()) wrong(*node, key, "true or false");
    return **node->as_boolean();
  }
  std::int64_t integer(std::string_view key) const {
    const toml::node& node = need(key);
    if (!node.is_integer()) wrong(node, key, "an integer");
    return **node.as_integer();
  }

  gpu::CardExpression expression(std::string_view key) const {
    return expression_of(need(key), key);
  }
  std::optional<gpu::CardExpression> expression_if(std::string_view key) const {
    const toml::node* node = find(key);
    if (node == nullptr) return std::nullopt;
    return expression_of(*node, key);
  }
  std::vector<gpu::CardExpression> expressions(std::string_view key) const {
    std::vector<gpu::CardExpression> result;
    for (const toml::node& node : array(key)) result.push_back(expression_of(node, key));
    return result;
  }
  std::vector<std::string> texts(std::string_view key) const {
    std::vector<std::string> result;
    for (const toml::node& node : array(key)) result.push_back(text_of(node, key));
    return result;
  }
  std::vector<Table> tables(std::string_view key) const {
    std::vector<Table> result;
    for (const toml::node& node : array(key)) result.push_back(table_of(node, key));
    if (result.empty()) wrong(need(key), key, "a list that is not empty");
    return result;
  }
  Table table(std::string_view key) const { return table_of(need(key), key); }
  std::vector<std::pair<std::string, gpu::CardExpression>> named_expressions(
      std::string_view key) const {
    std::vector<std::pair<std::string, gpu::CardExpression>> result;
    if (find(key) == nullptr) return result;
    const Table inner = table(key);
    for (const auto& [name, node] : *inner.table_)
      result.emplace_back(std::string(name.str()), expression_of(node, key));
    return result;
  }

  [[noreturn]] void wrong(const toml::node& node, std::string_view key,
                          const std::string& wanted) const {
    fail(place(node), "'" + std::string(key) + "' in [" + name_ + "] must be " + wanted);
  }

 private:
  std::string text_of(const toml::node& node, std::string_view key) const {
    if (!node.is_string()) wrong(node, key, "a string");
    return **node.as_string();
  }
  gpu::CardExpression expression_of(const toml::node& node, std::string_view key) const {
    if (node.is_integer() && **node.as_integer() >= 0)
      return gpu::CardExpression::constant(**node.as_integer(), place(node));
    if (!node.is_string()) wrong(node, key, "an expression (a string or an integer >= 0)");
    return gpu::CardExpression(**node.as_string(), place(node));
  }
  const toml::array& array(std::string_view key) const {
    const toml::node& node = need(key);
    if (!node.is_array()) wrong(node, key, "a list");
    return *node.as_array();
  }
  Table table_of(const toml::node& node, std::string_view key) const {
    if (!node.is_table()) wrong(node, key, "a table");
    return Table(*node.as_table(), *file_,
                 name_.empty() ? std::string(key) : name_ + "." + std::string(key));
  }

  const toml::table* table_;
  const std::string* file_;
  std::string name_;
};

/// The value that `word` names; an error lists the known words.
template <class T>
T one_of(const Table& table, std::string_view key, const std::string& word,
         std::initializer_list<std::pair<std::string_view, T>> known) {
  std::string list;
  for (const auto& [name, value] : known) {
    if (name == word) return value;
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  table.wrong(table.need(key), key, "one of: " + list + "; it is '" + word + "'");
}

std::string one_of_texts(const Table& table, std::string_view key, const std::string& word,
                         const std::vector<std::string_view>& known) {
  std::string list;
  for (const std::string_view each : known) {
    if (each == word) return word;
    list += (list.empty() ? "" : ", ") + std::string(each);
  }
  table.wrong(table.need(key), key, "one of: " + list + "; it is '" + word + "'");
}

void read_init(const Table& table, gpu::CardParameter& parameter) {
  const std::string init = table.text_or("init", "poison");
  static const std::regex call(R"(^(fill|cumsum)\((.*)\)$)");
  std::smatch match;
  if (std::regex_match(init, match, call)) {
    parameter.init = match[1] == "fill" ? gpu::CardInit::kFill : gpu::CardInit::kCumulative;
    parameter.init_value = gpu::CardExpression(match[2].str(), table.place(table.need("init")));
    return;
  }
  parameter.init = one_of<gpu::CardInit>(table, "init", init,
                                         {{"poison", gpu::CardInit::kPoison},
                                          {"zeros", gpu::CardInit::kZeros},
                                          {"iota", gpu::CardInit::kIota},
                                          {"fill(N)", gpu::CardInit::kFill},
                                          {"cumsum(EXPRESSION of i)", gpu::CardInit::kCumulative}});
}

/// What a chain kernel's judge hands in and reads back; seeds and offsets are scalars.
const std::vector<std::string_view>& chain_roles() {
  static const std::vector<std::string_view> roles = {
      "draft_probs",      "draft_ids",      "target_probs", "out.tokens",
      "out.accept_count", "out.emit_count", "rng.seed",     "rng.offset"};
  return roles;
}

gpu::CardParameter read_parameter(const Table& table) {
  table.allow_only({"name", "type", "shape", "role", "access", "init", "value", "null"});
  gpu::CardParameter parameter;
  parameter.place = table.place();
  parameter.name = table.text("name");
  std::string type = table.text("type");
  parameter.is_pointer = !type.empty() && type.back() == '*';
  if (parameter.is_pointer) type.pop_back();
  parameter.type = one_of<gpu::CardType>(table, "type", type,
                                         {{"u8", gpu::CardType::kUint8},
                                          {"i32", gpu::CardType::kInt32},
                                          {"u32", gpu::CardType::kUint32},
                                          {"i64", gpu::CardType::kInt64},
                                          {"u64", gpu::CardType::kUint64},
                                          {"f32", gpu::CardType::kFloat32}});
  parameter.role = table.text_or("role", "");
  if (!parameter.role.empty()) one_of_texts(table, "role", parameter.role, chain_roles());
  parameter.is_null = table.flag_or("null", false);
  if (!parameter.is_pointer) {
    parameter.value = table.expression_if("value");
    if (parameter.is_null || table.find("shape") != nullptr)
      fail(parameter.place, "'" + parameter.name + "' is no pointer: it has no shape and no null");
    if (parameter.value.has_value() != parameter.role.empty())
      fail(parameter.place, "'" + parameter.name + "' needs either a value or a role");
    return parameter;
  }
  if (parameter.is_null) {
    if (table.find("shape") != nullptr)
      fail(parameter.place, "'" + parameter.name + "' is null: it has no shape");
    return parameter;
  }
  parameter.shape = table.expressions("shape");
  parameter.access = one_of<gpu::CardAccess>(table, "access", table.text_or("access", "in"),
                                             {{"in", gpu::CardAccess::kIn},
                                              {"out", gpu::CardAccess::kOut},
                                              {"inout", gpu::CardAccess::kInOut}});
  read_init(table, parameter);
  return parameter;
}

gpu::CardStage read_stage(const Table& table) {
  table.allow_only({"ptx", "entry", "select", "let", "grid", "block", "dynamic_smem", "param"});
  gpu::CardStage stage;
  stage.place = table.place();
  stage.ptx = table.text("ptx");
  stage.entry = table.text("entry");
  try {
    const std::regex unused(stage.entry);
  } catch (const std::regex_error&) {
    table.wrong(table.need("entry"), "entry", "a regular expression");
  }
  stage.select = table.text_or("select", "");
  stage.let = table.named_expressions("let");
  stage.grid = table.expressions("grid");
  stage.block = table.expressions("block");
  if (stage.grid.empty() || stage.grid.size() > 3)
    table.wrong(table.need("grid"), "grid", "one to three expressions");
  if (stage.block.empty() || stage.block.size() > 3)
    table.wrong(table.need("block"), "block", "one to three expressions");
  stage.dynamic_smem = table.expression_if("dynamic_smem");
  for (const Table& each : table.tables("param")) stage.parameters.push_back(read_parameter(each));
  return stage;
}

/// Every role must be filled by some stage: the judge can do without none.
void check_roles(const gpu::KernelCard& card) {
  for (const std::string_view role : chain_roles()) {
    bool found = false;
    for (const gpu::CardStage& stage : card.stages)
      for (const gpu::CardParameter& parameter : stage.parameters)
        found = found || parameter.role == role;
    if (!found) fail(card.place, "no parameter has the role '" + std::string(role) + "'");
  }
}

void read_head(const Table& root, gpu::KernelCard& card) {
  const Table head = root.table("card");
  head.allow_only({"version", "name", "source", "algorithm", "dims", "constraints"});
  card.place = head.place();
  if (head.integer("version") != kVersion)
    head.wrong(head.need("version"), "version", std::to_string(kVersion));
  card.name = head.text("name");
  card.source = head.text("source");
  card.algorithm = one_of_texts(head, "algorithm", head.text("algorithm"), {"chain"});
  card.dims = head.texts("dims");
  for (const std::string& dim : card.dims) one_of_texts(head, "dims", dim, {"B", "G", "V"});
  card.constraints = head.expressions("constraints");
  const Table build = root.table("build");
  build.allow_only({"name", "package", "version", "source", "flags"});
  card.build = {build.text("name"), build.text("package"), build.text("version"),
                build.text("source"), build.text_or("flags", "")};
}

void read_rule(const Table& root, gpu::KernelCard& card) {
  const Table rng = root.table("rng");
  rng.allow_only({"kind", "order"});
  card.rng_kind = one_of_texts(rng, "kind", rng.text("kind"), {"curand_philox4_32_10"});
  card.rng_order = rng.texts("order");
  for (const std::string& step : card.rng_order)
    one_of_texts(rng, "order", step, {"accept", "recount", "final"});
  if (card.rng_order.size() < 2 || card.rng_order.front() != "accept" ||
      card.rng_order.back() != "final")
    rng.wrong(rng.need("order"), "order", "a list from \"accept\" to \"final\"");
  const Table decision = root.table("decision");
  decision.allow_only({"accept", "pick", "tile"});
  card.accept_rule = one_of_texts(decision, "accept", decision.text("accept"),
                                  {"coin * draft < target", "coin * draft <= target"});
  card.pick_rule =
      one_of_texts(decision, "pick", decision.text("pick"),
                   {"first cumulative > coin * total", "first cumulative >= coin * total"});
  card.tile = decision.expression_if("tile");
  const Table rounding = root.table("rounding");
  rounding.allow_only({"threshold_depth", "cumulative_depth", "subnormals"});
  card.rounding.threshold_depth = rounding.expression("threshold_depth");
  card.rounding.cumulative_depth = rounding.expression("cumulative_depth");
  card.rounding.flushes_subnormals = one_of<bool>(
      rounding, "subnormals", rounding.text("subnormals"), {{"kept", false}, {"flushed", true}});
  if (root.find("allow") != nullptr) {
    const Table allow = root.table("allow");
    allow.allow_only({"same_value_races"});
    card.allows_same_value_races = allow.flag_or("same_value_races", false);
  }
  const Table result = root.table("result");
  result.allow_only({"kind", "pad"});
  one_of<int>(result, "kind", result.text("kind"), {{"rows", 0}});
  card.pad = result.integer("pad");
}

}  // namespace

gpu::KernelCard card_from_toml(std::string_view text, const std::string& file) {
  toml::table parsed;
  try {
    parsed = toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    fail(file + ":" + std::to_string(error.source().begin.line), std::string(error.description()));
  }
  const Table root(parsed, file, "");
  root.allow_only({"card", "build", "stage", "rng", "decision", "rounding", "allow", "result"});
  gpu::KernelCard card;
  card.file = file;
  read_head(root, card);
  for (const Table& stage : root.tables("stage")) card.stages.push_back(read_stage(stage));
  check_roles(card);
  read_rule(root, card);
  return card;
}

gpu::KernelCard read_card(const std::string& file) {
  return card_from_toml(store::read_file(file), file);
}

std::string third_party_folder(const gpu::KernelCard& card, const std::string& given) {
  namespace fs = std::filesystem;
  std::vector<fs::path> candidates;
  if (!given.empty()) {
    candidates.emplace_back(given);
  } else {
    for (fs::path at = fs::absolute(card.file).parent_path();; at = at.parent_path()) {
      candidates.push_back(at / "build" / "third_party");
      if (at == at.parent_path()) break;
    }
    candidates.push_back(fs::absolute("build") / "third_party");
  }
  for (const fs::path& candidate : candidates)
    if (fs::exists(candidate / card.build.name / card.stages.front().ptx))
      return candidate.string();
  fail(card.stages.front().place, "no build/third_party/" + card.build.name + "/" +
                                      card.stages.front().ptx + ": run tools/kernels/fetch.sh " +
                                      card.build.name);
}

}  // namespace draftproof::tools
