// Reading cases: every complaint names the place, the path of the field and what it should hold.
#include <cmath>
#include <limits>

#include "properties/case.h"
#include "properties/json_field.h"
#include "properties/json_nesting.h"
#include "properties/names.h"
#include "properties/number_text.h"
#include "reference/error.h"

namespace draftproof::properties {
namespace {

using reference::Row;

/// Bounds what a file can make us allocate.
constexpr std::size_t kVocabSizeMax = std::size_t{1} << 24;

Row read_sparse_row(const Field& field) {
  field.allow_only({"size", "fill", "at"});
  const auto size = field.at("size").integer<std::uint32_t>();
  if (size > kVocabSizeMax) field.refuse("has a size above 2^24");
  Row row(size, field.at("fill").single());
  const Field at = field.at("at");
  if (!at.json().is_object()) at.refuse("should be an object from token id to value");
  for (auto it = at.json().begin(); it != at.json().end(); ++it) {
    const auto token = coin_of(Json(it.key()));
    if (!token || *token >= row.size()) at.refuse("has the key '" + it.key() + "', no token id");
    row[*token] = at.at(it.key()).single();
  }
  return row;
}

Row read_row(const Field& field) {
  if (field.json().is_object()) return read_sparse_row(field);
  Row row;
  field.for_each([&](const Field& value) { row.push_back(value.single()); });
  return row;
}

std::vector<Row> read_rows(const Field& field) {
  std::vector<Row> rows;
  field.for_each([&](const Field& row) { rows.push_back(read_row(row)); });
  return rows;
}

reference::Preset read_preset(const Field& field) {
  if (field.json().is_string()) {
    try {
      return reference::preset(field.text());
    } catch (const Error& error) {
      field.refuse("names an " + error.message());
    }
  }
  field.allow_only({"name", "engine", "steps", "top_k_ties", "top_p_ties", "greedy_below"});
  reference::Preset preset;
  preset.name = field.at("name").text();
  if (const auto engine = field.find("engine")) preset.engine = engine->text();
  field.at("steps").for_each(
      [&](const Field& step) { preset.steps.push_back(step.named(step_names())); });
  preset.top_k_ties = field.at("top_k_ties").named(tie_names());
  preset.top_p_ties = field.at("top_p_ties").named(tie_names());
  preset.greedy_below = field.at("greedy_below").number();
  return preset;
}

reference::Sampling read_sampling(const Field& field) {
  field.allow_only({"temperature", "top_k", "top_p", "min_p"});
  reference::Sampling sampling;
  if (const auto value = field.find("temperature")) sampling.temperature = value->number();
  if (const auto value = field.find("top_k")) sampling.top_k = value->integer<std::int64_t>();
  if (const auto value = field.find("top_p")) sampling.top_p = value->number();
  if (const auto value = field.find("min_p")) sampling.min_p = value->number();
  return sampling;
}

reference::Request read_request(const Field& field) {
  field.allow_only({"id", "position", "iteration", "sampling", "draft_tokens", "draft_rows",
                    "parents", "target_rows"});
  reference::Request request;
  request.id = field.at("id").integer<std::uint32_t>();
  if (const auto position = field.find("position"))
    request.position = position->integer<std::uint32_t>();
  if (const auto iteration = field.find("iteration"))
    request.iteration = iteration->integer<std::uint32_t>();
  if (const auto sampling = field.find("sampling")) request.sampling = read_sampling(*sampling);
  field.at("draft_tokens").for_each([&](const Field& token) {
    request.proposal.tokens.push_back(token.integer<reference::Token>());
  });
  if (const auto rows = field.find("draft_rows")) request.proposal.rows = read_rows(*rows);
  if (const auto parents = field.find("parents"))
    parents->for_each(
        [&](const Field& parent) { request.proposal.parents.push_back(parent.integer<int>()); });
  request.target_rows = read_rows(field.at("target_rows"));
  return request;
}

void read_coins(const Field& field, Case& result) {
  field.for_each([&](const Field& entry) {
    entry.allow_only({"request", "position", "purpose", "slot", "iteration", "coin"});
    reference::CoinAddress address;
    address.request = entry.at("request").integer<std::uint32_t>();
    address.position = entry.at("position").integer<std::uint32_t>();
    address.purpose = entry.at("purpose").named(purpose_names());
    if (const auto slot = entry.find("slot")) address.slot = slot->integer<std::uint32_t>();
    if (const auto iteration = entry.find("iteration"))
      address.iteration = iteration->integer<std::uint32_t>();
    if (!result.coins.emplace(address, entry.at("coin").coin()).second)
      entry.refuse("repeats an address");
  });
}

reference::Execution read_execution(const Field& field) {
  field.allow_only({"block_threads", "padded_draft_count", "schedule", "schedule_seed"});
  reference::Execution execution;
  if (const auto value = field.find("block_threads"))
    execution.block_threads = value->integer<int>();
  if (const auto value = field.find("padded_draft_count"))
    execution.padded_draft_count = value->integer<int>();
  if (const auto value = field.find("schedule"))
    execution.schedule = value->named(schedule_names());
  if (const auto value = field.find("schedule_seed")) execution.schedule_seed = value->coin();
  return execution;
}

reference::RequestOutcome read_outcome(const Field& field) {
  field.allow_only({"accepted_count", "emitted", "status", "status_position", "accepted_nodes"});
  reference::RequestOutcome outcome;
  outcome.accepted_count = field.at("accepted_count").integer<int>();
  field.at("emitted").for_each([&](const Field& token) {
    outcome.emitted.push_back(
        {token.at("token").integer<reference::Token>(), token.at("reason").named(reason_names())});
  });
  if (const auto status = field.find("status")) outcome.status = status->named(status_names());
  if (const auto position = field.find("status_position"))
    outcome.status_position = position->integer<int>();
  if (const auto nodes = field.find("accepted_nodes"))
    nodes->for_each(
        [&](const Field& node) { outcome.accepted_nodes.push_back(node.integer<int>()); });
  return outcome;
}

Case read_case(const Field& field) {
  field.allow_only({"schema", "property", "rule", "note", "vocab_size", "preset", "draft_kind",
                    "target_kind", "format", "seed", "coins", "fallback_coin", "execution",
                    "requests", "expected"});
  const Field schema = field.at("schema");
  if (schema.text() != "draftproof/case/1")
    schema.refuse("is '" + schema.text() + "'; this program reads draftproof/case/1");
  Case result;
  result.property = field.at("property").text();
  result.rule = field.at("rule").text();
  if (const auto note = field.find("note")) result.note = note->text();
  result.batch.vocab_size = field.at("vocab_size").integer<std::uint32_t>();
  if (result.batch.vocab_size > kVocabSizeMax) field.at("vocab_size").refuse("is above 2^24");
  result.batch.preset = read_preset(field.at("preset"));
  result.batch.draft_kind = field.at("draft_kind").named(row_kind_names());
  if (const auto kind = field.find("target_kind"))
    result.batch.target_kind = kind->named(row_kind_names());
  result.batch.format = field.at("format").named(format_names());
  const auto seed = field.find("seed"), coins = field.find("coins");
  if (seed.has_value() == coins.has_value()) field.refuse("should have either 'seed' or 'coins'");
  if (seed) result.seed = seed->coin();
  if (coins) read_coins(*coins, result);
  if (const auto fallback = field.find("fallback_coin")) result.fallback_coin = fallback->coin();
  if (const auto execution = field.find("execution")) result.execution = read_execution(*execution);
  field.at("requests").for_each([&](const Field& request) {
    result.batch.requests.push_back(read_request(request));
  });
  if (const auto expected = field.find("expected")) {
    expected->for_each(
        [&](const Field& outcome) { result.expected.push_back(read_outcome(outcome)); });
    if (!result.expected.empty() && result.expected.size() != result.batch.requests.size())
      expected->refuse("should have one entry for each request");
  }
  try {
    reference::validate(result.batch);
  } catch (const Error& error) {
    field.refuse("does not fit together: " + std::string(error.what()));
  }
  return result;
}

}  // namespace

Case case_from_json(std::string_view text, std::string_view place) {
  Json json;
  if (nests_too_deep(text))
    throw Error(ErrorKind::kInput,
                "has more than " + std::to_string(kNestingMax) + " brackets within each other",
                std::string(place));
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::kInput,
                "is not JSON (" + std::string(error.what()) +
                    "); a case starts as {\"schema\": \"draftproof/case/1\", ...",
                std::string(place));
  }
  return read_case(Field(json, "", place, "the case"));
}

std::unique_ptr<reference::Coins> coins_of(const Case& value) {
  if (value.seed) return std::make_unique<reference::PhiloxCoins>(*value.seed);
  auto coins = std::make_unique<reference::ScriptedCoins>(value.fallback_coin);
  for (const auto& [address, coin] : value.coins) coins->set(address, coin);
  return coins;
}

}  // namespace draftproof::properties
