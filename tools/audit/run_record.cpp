#include "tools/audit/run_record.h"

#include <filesystem>

#include "properties/json_field.h"
#include "properties/json_nesting.h"
#include "properties/transcript_names.h"
#include "reference/error.h"

namespace draftproof::tools::audit {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using properties::Field;
using properties::Json;
using properties::SamplingRequest;
using properties::audits::AuditCase;
using properties::audits::JudgeSettings;
using properties::audits::Matrix;
using properties::audits::Seeding;
using properties::audits::Setting;

constexpr const char* kNoPrompt = "(no prompt)";

std::string dumped(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

/// In the words of transcripts, which have a reader and a writer.
ordered_json json_of(SamplingRequest request) {
  if (request.prompt.empty() && request.prompt_text.empty()) request.prompt_text = kNoPrompt;
  return ordered_json::parse(properties::line_of({{.case_id = "request"}, std::move(request), {}}));
}

SamplingRequest request_from(const Field& field, const std::string& place) {
  SamplingRequest request = properties::transcript_from(field.json().dump(), place).request;
  if (request.prompt_text == kNoPrompt) request.prompt_text.clear();
  return request;
}

std::string json_of(const Matrix& matrix) {
  ordered_json settings = ordered_json::array(), cases = ordered_json::array();
  for (const Setting& each : matrix.settings)
    settings.push_back(
        {{"id", each.id}, {"concurrency", each.concurrency}, {"request", json_of(each.request)}});
  for (const AuditCase& each : matrix.cases)
    cases.push_back({{"id", each.id},
                     {"setting", each.setting},
                     {"prompt", each.prompt_name},
                     {"shares_seeds", each.seeding == Seeding::kShared},
                     {"cohort", each.cohort},
                     {"trial_max", each.trial_max},
                     {"request", json_of(each.request)}});
  return dumped({{"schema", "draftproof/matrix/1"},
                 {"seed", matrix.seed},
                 {"first_look", matrix.first_look},
                 {"settings", settings},
                 {"cases", cases}});
}

bool flag(const Field& field) {
  if (!field.json().is_boolean()) field.refuse("should be true or false");
  return field.json().get<bool>();
}

Matrix matrix_from(const Field& field, const std::string& place) {
  if (field.at("schema").text() != "draftproof/matrix/1")
    field.at("schema").refuse("should be \"draftproof/matrix/1\"");
  Matrix matrix;
  matrix.seed = field.at("seed").integer<std::uint64_t>();
  matrix.first_look = field.at("first_look").integer<std::uint64_t>();
  field.at("settings").for_each([&](const Field& each) {
    matrix.settings.push_back({each.at("id").text(), request_from(each.at("request"), place),
                               each.at("concurrency").integer<int>()});
  });
  field.at("cases").for_each([&](const Field& each) {
    AuditCase audit_case;
    audit_case.id = each.at("id").text();
    audit_case.setting = each.at("setting").integer<std::size_t>();
    if (audit_case.setting >= matrix.settings.size())
      each.at("setting").refuse("is no index of a setting");
    audit_case.prompt_name = each.at("prompt").text();
    audit_case.seeding = flag(each.at("shares_seeds")) ? Seeding::kShared : Seeding::kIndependent;
    audit_case.cohort = each.at("cohort").text();
    audit_case.trial_max = each.at("trial_max").integer<std::uint64_t>();
    audit_case.request = request_from(each.at("request"), place);
    matrix.cases.push_back(std::move(audit_case));
  });
  return matrix;
}

ordered_json json_of(const properties::Capabilities& arm) {
  ordered_json json = {{"name", arm.name},
                       {"vocab_size", arm.vocab_size},
                       {"draft_count", arm.draft_count},
                       {"can_draw", arm.can_draw},
                       {"reports_counters", arm.reports_counters},
                       {"takes_token_ids", arm.takes_token_ids},
                       {"returns_token_ids", arm.returns_token_ids},
                       {"takes_seed", arm.takes_seed}};
  if (arm.logprobs != properties::LogprobKind::kNone)
    json["logprobs"] = properties::name_of(properties::logprob_kind_names(), arm.logprobs);
  return json;
}

properties::Capabilities capabilities_from(const Field& field) {
  properties::Capabilities arm;
  arm.name = field.at("name").text();
  arm.vocab_size = field.at("vocab_size").integer<int>();
  arm.draft_count = field.at("draft_count").integer<int>();
  arm.can_draw = flag(field.at("can_draw"));
  arm.reports_counters = flag(field.at("reports_counters"));
  arm.takes_token_ids = flag(field.at("takes_token_ids"));
  arm.returns_token_ids = flag(field.at("returns_token_ids"));
  arm.takes_seed = flag(field.at("takes_seed"));
  if (const auto kind = field.find("logprobs"))
    arm.logprobs = kind->named(properties::logprob_kind_names());
  return arm;
}

ordered_json json_of(const JudgeSettings& judge) {
  ordered_json json = {{"false_alarms", judge.false_alarms},
                       {"effect_tv", judge.effect_tv},
                       {"has_baseline", judge.has_baseline},
                       {"contract", judge.contract},
                       {"tolerance", judge.tolerance},
                       {"near_tie_bound", judge.near_tie_bound},
                       {"promises_same_seed", judge.promises_same_seed},
                       {"audits", judge.audits},
                       {"baseline", json_of(judge.baseline)},
                       {"speculative", json_of(judge.speculative)}};
  if (judge.lossy) {
    json["lossy"] = {{"name", judge.lossy->name}, {"source", judge.lossy->source}};
    if (judge.lossy->budget_tv) json["lossy"]["budget_tv"] = *judge.lossy->budget_tv;
  }
  return json;
}

std::vector<std::string> texts(const Field& field) {
  std::vector<std::string> list;
  field.for_each([&](const Field& each) { list.push_back(each.text()); });
  return list;
}

JudgeSettings judge_from(const Field& field) {
  JudgeSettings judge;
  judge.false_alarms = field.at("false_alarms").number();
  judge.effect_tv = field.at("effect_tv").number();
  judge.has_baseline = flag(field.at("has_baseline"));
  judge.contract = field.at("contract").text();
  judge.tolerance = field.at("tolerance").number();
  judge.near_tie_bound = field.at("near_tie_bound").number();
  judge.promises_same_seed = flag(field.at("promises_same_seed"));
  judge.audits = texts(field.at("audits"));
  judge.baseline = capabilities_from(field.at("baseline"));
  judge.speculative = capabilities_from(field.at("speculative"));
  if (const auto lossy = field.find("lossy")) {
    judge.lossy.emplace();
    judge.lossy->name = lossy->at("name").text();
    judge.lossy->source = lossy->at("source").text();
    if (const auto budget = lossy->find("budget_tv")) judge.lossy->budget_tv = budget->number();
  }
  return judge;
}

ordered_json json_of(const ApproximateGate& gate) {
  ordered_json json = ordered_json::object();
  if (gate.tv) json["tv"] = *gate.tv;
  if (gate.task_score_drop) json["task_score_drop"] = *gate.task_score_drop;
  if (gate.schema_valid) json["schema_valid"] = *gate.schema_valid;
  if (!gate.score_command.empty()) json["has_score_command"] = true;
  for (const fs::path& file : gate.score_logs) json["score_logs"].push_back(file.string());
  return json;
}

ApproximateGate approximate_from(const Field& field) {
  ApproximateGate gate;
  if (const auto tv = field.find("tv")) gate.tv = tv->number();
  if (const auto drop = field.find("task_score_drop")) gate.task_score_drop = drop->number();
  if (const auto share = field.find("schema_valid")) gate.schema_valid = share->number();
  if (field.find("has_score_command")) gate.score_command = "(not kept)";
  if (const auto files = field.find("score_logs"))
    for (const std::string& file : texts(*files)) gate.score_logs.emplace_back(file);
  if (!gate.score_logs.empty() && gate.score_logs.size() != 2)
    field.refuse("should have two score_logs");
  return gate;
}

ordered_json gate_of(const RunRecord& record) {
  ordered_json json = {{"require", record.required_claims},
                       {"inconclusive_is_failure", record.inconclusive_is_failure}};
  if (record.approximate) json["approximate"] = json_of(*record.approximate);
  return json;
}

ordered_json level_of(const ServiceLevel& level) {
  ordered_json json = ordered_json::object();
  if (level.ttft) json["ttft_s"] = *level.ttft;
  if (level.itl) json["itl_s"] = *level.itl;
  return json;
}

ordered_json law_of(const RunRecord& record) {
  // A manifest is known by its name: its folder is another one on another machine.
  ordered_json law = {{"toy", fs::path(record.toy).filename().string()}};
  if (record.toy_vocab) law["vocab_size"] = *record.toy_vocab;
  return law;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> shared_facts(const RunRecord& record) {
  return {{"matrix", json_of(record.matrix)},
          {"judge", dumped(json_of(record.judge))},
          {"law", dumped(law_of(record))},
          {"gate", dumped(gate_of(record))},
          {"arrivals", dumped(ordered_json(record.traffic.arrivals))},
          {"service_level", dumped(level_of(record.traffic.level))},
          {"not_exercised", dumped(ordered_json(record.not_exercised))},
          {"baseline", record.baseline.empty() ? "null" : record.baseline},
          {"speculative", record.speculative.empty() ? "null" : record.speculative}};
}

void write_record(store::ObservationStore& store, const RunRecord& record) {
  for (const auto& [name, json] : shared_facts(record)) store.set(name, json);
  ordered_json told = ordered_json::array();
  for (const auto& [name, words] : record.told) told.push_back({{"name", name}, {"words", words}});
  if (store.get("told").empty()) store.set("told", dumped(told));
}

RunRecord read_record(const store::ObservationStore& store, const std::string& place) {
  RunRecord record;
  const auto read = [&](const std::string& name, const auto& use) {
    const std::string text = store.get(name);
    if (text.empty())
      throw Error(ErrorKind::kInput,
                  "lacks its " + name + ": the run ended before it began; audit again", place);
    const auto json = properties::json_or_discarded<Json>(text);
    if (json.is_discarded()) throw Error(ErrorKind::kInput, "its " + name + " is damaged", place);
    use(Field(json, name, place, "the run"), text);
  };
  read("matrix",
       [&](const Field& field, const auto&) { record.matrix = matrix_from(field, place); });
  read("judge", [&](const Field& field, const auto&) { record.judge = judge_from(field); });
  read("law", [&](const Field& field, const auto&) {
    record.toy = field.at("toy").text();
    if (const auto size = field.find("vocab_size")) record.toy_vocab = size->integer<int>();
  });
  read("gate", [&](const Field& field, const auto&) {
    record.required_claims = texts(field.at("require"));
    record.inconclusive_is_failure = flag(field.at("inconclusive_is_failure"));
    if (const auto gate = field.find("approximate")) record.approximate = approximate_from(*gate);
  });
  read("arrivals",
       [&](const Field& field, const auto&) { record.traffic.arrivals = field.text(); });
  // Stores of runs that could not state one have none.
  if (!store.get("service_level").empty())
    read("service_level", [&](const Field& field, const auto&) {
      if (const auto ttft = field.find("ttft_s")) record.traffic.level.ttft = ttft->number();
      if (const auto itl = field.find("itl_s")) record.traffic.level.itl = itl->number();
    });
  read("not_exercised",
       [&](const Field& field, const auto&) { record.not_exercised = texts(field); });
  read("baseline", [&](const Field& field, const std::string& text) {
    if (!field.json().is_null()) record.baseline = text;
  });
  read("speculative", [&](const Field& field, const std::string& text) {
    if (!field.json().is_null()) record.speculative = text;
  });
  read("told", [&](const Field& field, const auto&) {
    field.for_each([&](const Field& each) {
      record.told.emplace_back(each.at("name").text(), each.at("words").text());
    });
  });
  return record;
}

std::string change_of(const store::ObservationStore& store) {
  const auto json = properties::json_or_discarded<Json>(store.get("changed"));
  return json.is_string() ? json.get<std::string>() : "";
}

void write_change(store::ObservationStore& store, const std::string& why) {
  if (store.get("changed").empty()) store.set("changed", dumped(ordered_json(why)));
}

JudgeSettings judge_settings(const RunRecord& record, ToyLaw& law, const std::string& folder,
                             const std::string& place) {
  JudgeSettings judge = record.judge;
  if (record.toy.empty()) return judge;
  std::string toy = record.toy;
  std::error_code error;
  if (toy.ends_with(".json")) {
    // The run's own copy comes first: another file of its name may lie here.
    const fs::path beside = fs::path(folder) / fs::path(toy).filename();
    if (!folder.empty() && fs::exists(beside, error)) {
      toy = beside.string();
    } else if (!fs::exists(toy, error)) {
      throw Error(ErrorKind::kInput,
                  "was judged by the law of " + toy +
                      ", which is neither here nor beside it; name "
                      "the manifest with --toy",
                  place);
    }
  }
  law = toy_law(toy, record.judge.contract, record.toy_vocab, place);
  judge.target = law.target.get();
  judge.draft = law.draft.get();
  return judge;
}

}  // namespace draftproof::tools::audit
