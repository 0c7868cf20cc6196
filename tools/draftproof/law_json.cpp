// The exact law of a tiny case as JSON (tools/schema/law.schema.json); law_page.h declares it.
#include <nlohmann/json.hpp>

#include "reference/law/trace.h"
#include "tools/draftproof/law_page.h"

namespace draftproof::tools {
namespace {

namespace law = reference::law;
using Json = nlohmann::ordered_json;
using reference::Exact;

Json json_of(const reference::LawRow& row) {
  Json json = Json::array();
  for (const Exact& value : row) json.push_back(reference::to_string(value));
  return json;
}

Json json_of(const law::TraceStep& step) {
  Json kept = Json::array();
  for (const auto& value : step.kept_by_token) {
    kept.push_back(value ? Json(reference::to_string(*value)) : Json(nullptr));
  }
  return {{"accepted", step.accepted},
          {"reached", reference::to_string(step.reached)},
          {"target", json_of(step.target)},
          {"draft", json_of(step.draft)},
          {"kept_by_token", kept},
          {"conditional_acceptance",
           step.draft.empty() ? Json(nullptr) : Json(reference::to_string(step.kept))},
          {step.draft.empty() ? "bonus" : "recovered", json_of(step.last)}};
}

Json sequences(const law::SequenceLaw& sequence_law) {
  Json list = Json::array();
  for (const auto& [tokens, probability] : sequence_law)
    list.push_back({{"tokens", tokens}, {"probability", reference::to_string(probability)}});
  return list;
}

Json text_or_null(const std::optional<Exact>& value) {
  return value ? Json(reference::to_string(*value)) : Json(nullptr);
}

Json plan_json(const LawPlan& plan) {
  Json options = Json::object();
  for (const auto& [name, value] : plan.options) options[name] = reference::to_string(value);
  return {{"schema_version", "draftproof/law/2"},
          {"source", plan.source},
          {"method", plan.method ? Json(plan.method->name) : Json(nullptr)},
          {"rule", plan.rule ? Json(plan.rule->name) : Json(nullptr)},
          {"citation", plan.rule ? plan.rule->citation : plan.method->citation},
          {"options", options},
          {"coins", plan.decoding.coins.name},
          {"vocab_size", plan.vocab_size()},
          {"prompt", plan.decoding.prompt},
          {"length", plan.decoding.draft_count},
          {"parents", plan.tiny ? Json(plan.tiny->parents) : Json(nullptr)},
          {"iterations", plan.iterations}};
}

Json histories_json(const LawResult& result) {
  Json list = Json::array();
  for (const auto& [history, probability] : result.histories)
    list.push_back({{"tokens", history.tokens},
                    {"emitted_counts", history.emitted_counts},
                    {"probability", reference::to_string(probability)}});
  return list;
}

}  // namespace

std::string law_json(const LawResult& result) {
  Json json = plan_json(result.plan);
  json["steps"] = Json::array();
  if (has_steps(result.plan))
    for (const auto& step : law::trace(*result.plan.tiny, result.emission))
      json["steps"].push_back(json_of(step));
  json["emissions"] = Json::array();
  for (const auto& [emission, probability] : result.emission)
    json["emissions"].push_back({{"tokens", emission.tokens},
                                 {"accepted_count", emission.accepted_count},
                                 {"probability", reference::to_string(probability)}});
  json["histories"] = histories_json(result);
  json["joint_law"] = sequences(result.joint);
  json["target_law"] = sequences(result.target);
  json["sequence_law"] = result.sequence ? sequences(result.sequence->law) : Json(nullptr);
  json["sequence_distance"] =
      result.sequence ? Json(reference::to_string(result.sequence->distance)) : Json(nullptr);
  json["expected_emitted"] = text_or_null(result.expected.front());
  json["expected_by_iteration"] = Json::array();
  for (const auto& expected : result.expected)
    json["expected_by_iteration"].push_back(text_or_null(expected));
  json["expected_by_formula"] = text_or_null(result.formula);
  json["lossless_optimum"] =
      text_or_null(result.optimum ? std::optional(result.optimum->emitted) : std::nullopt);
  const int drafted = result.plan.tiny ? result.plan.tiny->draft_count() : 0;
  json["draft_acceptance"] =
      drafted == 0 ? Json(nullptr)
                   : Json(reference::to_string(law::draft_acceptance(result.emission, drafted)));
  json["total_variation"] = reference::to_string(result.distance);
  return json.dump(2) + "\n";
}

}  // namespace draftproof::tools
