// Cases as JSON text: short rows on one line each, so that a person can read a witness.
#include <algorithm>
#include <bit>
#include <map>

#include "properties/case.h"
#include "properties/names.h"
#include "properties/number_text.h"

namespace draftproof::properties {
namespace {

using reference::Row;

/// Rows shorter than this are always written out.
constexpr std::size_t kSparseFrom = 64;

Json json_of(const Row& row) {
  std::map<std::uint32_t, std::size_t> counts;
  std::uint32_t common = 0;
  if (row.size() >= kSparseFrom) {
    for (float value : row) ++counts[std::bit_cast<std::uint32_t>(value)];
    for (const auto& [bits, count] : counts)
      if (count > counts[common]) common = bits;
    if (counts[common] * 2 > row.size()) {
      Json at = Json::object();
      for (std::size_t i = 0; i < row.size(); ++i)
        if (std::bit_cast<std::uint32_t>(row[i]) != common)
          at[std::to_string(i)] = properties::json_of(row[i]);
      return {{"size", row.size()},
              {"fill", properties::json_of(std::bit_cast<float>(common))},
              {"at", at}};
    }
  }
  Json list = Json::array();
  for (float value : row) list.push_back(properties::json_of(value));
  return list;
}

Json json_of(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(json_of(row));
  return list;
}

Json json_of(const reference::Preset& preset) {
  for (const reference::Preset& known : reference::presets())
    if (known == preset) return preset.name;
  Json steps = Json::array();
  for (reference::ShapingStep step : preset.steps) steps.push_back(name_of(step_names(), step));
  return {{"name", preset.name},
          {"engine", preset.engine},
          {"steps", steps},
          {"top_k_ties", name_of(tie_names(), preset.top_k_ties)},
          {"top_p_ties", name_of(tie_names(), preset.top_p_ties)},
          {"greedy_below", properties::json_of(preset.greedy_below)}};
}

Json json_of(const reference::Request& request) {
  Json result = {{"id", request.id},
                 {"position", request.position},
                 {"sampling",
                  {{"temperature", properties::json_of(request.sampling.temperature)},
                   {"top_k", request.sampling.top_k},
                   {"top_p", properties::json_of(request.sampling.top_p)},
                   {"min_p", properties::json_of(request.sampling.min_p)}}},
                 {"draft_tokens", request.proposal.tokens},
                 {"draft_rows", json_of(request.proposal.rows)}};
  if (!request.proposal.parents.empty()) result["parents"] = request.proposal.parents;
  if (request.iteration != 0) result["iteration"] = request.iteration;
  result["target_rows"] = json_of(request.target_rows);
  return result;
}

Json json_of(const reference::RequestOutcome& outcome) {
  Json emitted = Json::array();
  for (const reference::EmittedToken& token : outcome.emitted)
    emitted.push_back({{"token", token.token}, {"reason", name_of(reason_names(), token.reason)}});
  Json result = {{"accepted_count", outcome.accepted_count},
                 {"emitted", emitted},
                 {"status", name_of(status_names(), outcome.status)},
                 {"status_position", outcome.status_position}};
  if (!outcome.accepted_nodes.empty()) result["accepted_nodes"] = outcome.accepted_nodes;
  return result;
}

Json json_of_coins(const Case& value) {
  Json list = Json::array();
  for (const auto& [address, coin] : value.coins) {
    Json entry = {{"request", address.request},
                  {"position", address.position},
                  {"purpose", name_of(purpose_names(), address.purpose)}};
    if (address.slot != 0) entry["slot"] = address.slot;
    if (address.iteration != 0) entry["iteration"] = address.iteration;
    entry["coin"] = json_of_coin(coin);
    list.push_back(entry);
  }
  return list;
}

/// An array of plain values, or an object without nested ones, goes on one line.
bool is_flat(const Json& value) {
  return std::all_of(value.begin(), value.end(), [](const Json& each) {
    return each.is_primitive() || (each.is_object() && each.empty());
  });
}

void write(const Json& value, std::size_t depth, std::string& text) {
  if (value.is_primitive() || value.empty() || is_flat(value)) {
    text += value.dump();
    return;
  }
  const std::string indent(2 * (depth + 1), ' ');
  text += value.is_object() ? "{" : "[";
  const char* separator = "\n";
  for (auto it = value.begin(); it != value.end(); ++it) {
    text += separator + indent;
    if (value.is_object()) text += Json(it.key()).dump() + ": ";
    write(*it, depth + 1, text);
    separator = ",\n";
  }
  text += "\n" + std::string(2 * depth, ' ') + (value.is_object() ? "}" : "]");
}

}  // namespace

std::string to_json(const Case& value) {
  Json json = {{"schema", "draftproof/case/1"},
               {"property", value.property},
               {"rule", value.rule},
               {"note", value.note},
               {"vocab_size", value.batch.vocab_size},
               {"preset", json_of(value.batch.preset)},
               {"draft_kind", name_of(row_kind_names(), value.batch.draft_kind)},
               {"target_kind", name_of(row_kind_names(), value.batch.target_kind)},
               {"format", name_of(format_names(), value.batch.format)}};
  if (value.seed) {
    json["seed"] = json_of_coin(*value.seed);
  } else {
    json["coins"] = json_of_coins(value);
    json["fallback_coin"] = json_of_coin(value.fallback_coin);
  }
  json["execution"] = {{"block_threads", value.execution.block_threads},
                       {"padded_draft_count", value.execution.padded_draft_count},
                       {"schedule", name_of(schedule_names(), value.execution.schedule)},
                       {"schedule_seed", json_of_coin(value.execution.schedule_seed)}};
  json["requests"] = Json::array();
  for (const reference::Request& request : value.batch.requests)
    json["requests"].push_back(json_of(request));
  if (!value.expected.empty()) {
    json["expected"] = Json::array();
    for (const reference::RequestOutcome& outcome : value.expected)
      json["expected"].push_back(json_of(outcome));
  }
  std::string text;
  write(json, 0, text);
  return text + "\n";
}

}  // namespace draftproof::properties
