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

}  // namespace

std::string law_json(const LawResult& result) {
  const int length = result.tiny_case.draft_count();
  Json json = {{"schema_version", "draftproof/law/1"},
               {"rule", result.rule.name},
               {"citation", result.rule.citation},
               {"vocab_size", result.tiny_case.vocab_size()},
               {"length", length}};
  json["steps"] = Json::array();
  for (const auto& step : law::trace(result.tiny_case, result.emission)) {
    json["steps"].push_back(json_of(step));
  }
  json["emissions"] = Json::array();
  for (const auto& [emission, probability] : result.emission) {
    json["emissions"].push_back({{"tokens", emission.tokens},
                                 {"accepted_count", emission.accepted_count},
                                 {"probability", reference::to_string(probability)}});
  }
  const auto sequences = [](const law::SequenceLaw& sequence_law) {
    Json list = Json::array();
    for (const auto& [tokens, probability] : sequence_law) {
      list.push_back({{"tokens", tokens}, {"probability", reference::to_string(probability)}});
    }
    return list;
  };
  json["joint_law"] = sequences(result.joint);
  json["target_law"] = sequences(result.target);
  json["expected_emitted"] = reference::to_string(law::expected_emitted(result.emission));
  json["draft_acceptance"] =
      length == 0 ? Json(nullptr)
                  : Json(reference::to_string(law::draft_acceptance(result.emission, length)));
  json["total_variation"] = reference::to_string(result.distance);
  return json.dump(2) + "\n";
}

}  // namespace draftproof::tools
