// The report of `draftproof speed` for programs: JSON (speed.schema.json) and CSV.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/draftproof/speed_report.h"

namespace draftproof::tools {
namespace {

namespace speed = oracle::speed;
using Json = nlohmann::ordered_json;

Json json_of(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json json_of(const std::optional<speed::JackknifeInterval>& estimate) {
  if (!estimate) return nullptr;
  Json json = {{"value", estimate->value}, {"low", nullptr}, {"high", nullptr}};
  if (estimate->interval) {
    json["low"] = estimate->interval->low;
    json["high"] = estimate->interval->high;
  }
  return json;
}

Json metrics_json(const CohortReport& cohort) {
  Json list = Json::array();
  for (const auto& metric : cohort.metrics) {
    Json values = Json::array();
    for (const auto& [label, value] : metric.values)
      values.push_back({{"label", label}, {"value", value}});
    list.push_back({{"id", metric.id},
                    {"unit", metric.unit},
                    {"definition", metric.definition},
                    {"field", metric.field},
                    {"values", metric.is_reported() ? values : Json(nullptr)}});
  }
  return list;
}

Json identities_json(const CohortReport& cohort) {
  Json list = Json::array();
  for (const auto& identity : cohort.identities) {
    Json breaches = Json::array();
    for (const auto& breach : identity.breaches) {
      breaches.push_back(
          {{"request", breach.request.empty() ? Json(nullptr) : Json(breach.request)},
           {"iteration", breach.iteration < 0 ? Json(nullptr) : Json(breach.iteration)},
           {"line", breach.line == 0 ? Json(nullptr) : Json(breach.line)},
           {"detail", breach.detail}});
    }
    list.push_back({{"id", identity.id},
                    {"statement", identity.statement},
                    {"status", identity.status == speed::IdentityStatus::kBroken
                                   ? "broken"
                                   : std::string(speed::to_string(identity.status))},
                    {"checked", identity.checked},
                    {"broken", identity.broken},
                    {"breaches", breaches}});
  }
  return list;
}

Json terms_json(const speed::StepTerms& terms) {
  return {{"draft_s", terms.draft},       {"verify_s", terms.verify}, {"accept_s", terms.accept},
          {"rollback_s", terms.rollback}, {"link_s", terms.link},     {"other_s", terms.other}};
}

Json decision_json(const speed::Decision& decision) {
  Json effects = Json::array(), lengths = Json::array();
  for (const auto& effect : decision.effects) {
    effects.push_back({{"term", effect.name},
                       {"seconds", effect.seconds},
                       {"decodes", effect.decodes},
                       {"speed_without", effect.speed_without}});
  }
  for (const auto& prediction : decision.predictions) {
    lengths.push_back({{"draft_length", prediction.draft_length},
                       {"committed", prediction.committed},
                       {"speed", prediction.speed},
                       {"cost", speed::to_string(prediction.kind)},
                       {"terms", terms_json(prediction.terms)}});
  }
  const auto& evidence = decision.evidence;
  const bool has_best = evidence && evidence->best;
  return {{"advice", speed::to_string(decision.advice)},
          {"term", decision.term},
          {"reason", decision.reason},
          {"speed", evidence ? json_of(std::optional(evidence->speed)) : Json(nullptr)},
          {"best_draft_length", has_best ? Json(evidence->best->draft_length) : Json(nullptr)},
          {"best_speed", evidence ? json_of(evidence->best_speed) : Json(nullptr)},
          {"break_even_committed", json_of(decision.break_even)},
          {"terms", effects},
          {"draft_lengths", lengths}};
}

Json committed_json(const CohortReport& cohort) {
  if (!cohort.committed) return nullptr;
  const CommittedThreeWays& ways = *cohort.committed;
  return {{"draft_length", ways.draft_length},
          {"draft_acceptance", ways.draft_acceptance},
          {"constant_conditional_acceptance", ways.constant_rate},
          {"closed_form", ways.closed_form},
          {"products", json_of(ways.products)},
          {"counted", ways.counted}};
}

Json tiles_json(const CohortReport& cohort) {
  Json list = Json::array();
  for (const TileLine& line : cohort.tiles) {
    list.push_back({{"rule", line.rule},
                    {"rows_per_position", line.rows_per_position},
                    {"tile", line.tile},
                    {"draft_length", line.draft_length},
                    {"rows", line.use.rows},
                    {"tiles", line.use.tiles},
                    {"fill", line.use.fill},
                    {"filling_draft_length", line.filling_length},
                    {"free_draft_length", line.free_length}});
  }
  return list;
}

Json roofline_json(const speed::VerifyTerms& terms, double total) {
  return {{"dense_weights_s", terms.dense_weights},
          {"experts_s", terms.experts},
          {"kv_s", terms.kv},
          {"arithmetic_s", terms.arithmetic},
          {"communication_s", terms.communication},
          {"total_s", total}};
}

Json cohort_json(const CohortReport& cohort) {
  return {{"cohort", cohort.name},
          {"requests", cohort.requests},
          {"speculative_calls", cohort.speculative_calls},
          {"baseline_calls", cohort.baseline_calls},
          {"committed_per_call", json_of(cohort.headline.committed_per_call)},
          {"itl_ratio", json_of(cohort.headline.itl_ratio)},
          {"decision", decision_json(cohort.decision)},
          {"metrics", metrics_json(cohort)},
          {"identities", identities_json(cohort)},
          {"committed", committed_json(cohort)},
          {"flat",
           {{"rho_measured", json_of(cohort.flat.rho_measured)},
            {"speed_by_measured", json_of(cohort.flat.by_measured)},
            {"rho_layers", json_of(cohort.flat.rho_layers)},
            {"speed_by_layers", json_of(cohort.flat.by_layers)}}},
          {"tiles", tiles_json(cohort)},
          {"verify",
           cohort.verify ? roofline_json(*cohort.verify, cohort.verify->total()) : Json(nullptr)},
          {"verify_slope",
           cohort.slope ? roofline_json(cohort.slope->terms, cohort.slope->total) : Json(nullptr)},
          {"remarks", cohort.remarks}};
}

Json admission_json(const std::optional<BatchAdmission>& batch) {
  if (!batch) return nullptr;
  Json lengths = Json::array();
  for (std::size_t c = 0; c < batch->cohorts.size(); ++c) {
    lengths.push_back(
        {{"cohort", batch->cohorts[c]}, {"draft_length", batch->admission.draft_lengths[c]}});
  }
  return {{"lambda", batch->admission.lambda},
          {"slot_s", batch->slot_seconds},
          {"draft_lengths", lengths}};
}

/// Quoted where a comma, a quote or a line break would end the field.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i)
    line += (i == 0 ? "" : ",") + csv_field(fields[i]);
  return line + "\n";
}

std::string number(double value) { return fmt::format("{}", value); }

}  // namespace

std::string speed_json(const SpeedReport& report) {
  Json cohorts = Json::array(), damaged = Json::array();
  for (const CohortReport& cohort : report.cohorts) cohorts.push_back(cohort_json(cohort));
  for (const auto& damage : report.damaged)
    damaged.push_back({{"line", damage.line}, {"reason", damage.reason}});
  const Json json = {{"schema_version", "draftproof/speed/1"},
                     {"trace", report.file},
                     {"confidence", report.confidence},
                     {"placement", speed::to_string(report.setup.placement)},
                     {"cohorts", cohorts},
                     {"admission", admission_json(report.admission)},
                     {"damaged", damaged}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string speed_csv(const SpeedReport& report) {
  std::string out = csv_line({"cohort", "kind", "id", "label", "value", "unit"});
  for (const CohortReport& cohort : report.cohorts) {
    const auto& decision = cohort.decision;
    const auto add = [&](const char* kind, const std::string& id, const std::string& label,
                         const std::string& value, const std::string& unit) {
      out += csv_line({cohort.name, kind, id, label, value, unit});
    };
    add("decision", "advice", "", std::string(speed::to_string(decision.advice)), "");
    add("decision", "term", "", decision.term, "");
    if (decision.evidence) {
      const auto& estimate = decision.evidence->speed;
      add("decision", "speed", "", number(estimate.value), "1");
      if (estimate.interval) {
        add("decision", "speed", "low", number(estimate.interval->low), "1");
        add("decision", "speed", "high", number(estimate.interval->high), "1");
      }
    }
    for (const auto& metric : cohort.metrics) {
      for (const auto& [label, value] : metric.values)
        add("metric", metric.id, label, number(value), metric.unit);
      if (!metric.is_reported()) add("metric", metric.id, "", "not reported", metric.unit);
    }
    for (const auto& identity : cohort.identities)
      add("identity", identity.id, "", std::string(speed::to_string(identity.status)), "");
    for (const auto& effect : decision.effects)
      add("term", effect.name, "", number(effect.seconds), "s");
    for (const auto& prediction : decision.predictions) {
      add("draft_length", std::to_string(prediction.draft_length),
          std::string(speed::to_string(prediction.kind)), number(prediction.speed), "1");
    }
  }
  for (const auto& damage : report.damaged)
    out += csv_line({"", "damaged", std::to_string(damage.line), "", damage.reason, ""});
  return out;
}

std::string examples_json(const std::vector<speed::WorkedExample>& examples) {
  Json list = Json::array();
  for (const auto& example : examples) {
    list.push_back({{"id", example.id},
                    {"source", example.source},
                    {"given", example.given},
                    {"quantity", example.quantity},
                    {"published", example.published},
                    {"decimals", example.decimals},
                    {"computed", example.computed},
                    {"low", example.low},
                    {"high", example.high},
                    {"agrees", example.agrees()}});
  }
  return Json({{"schema_version", "draftproof/speed-examples/1"}, {"examples", list}}).dump(2) +
         "\n";
}

std::string examples_csv(const std::vector<speed::WorkedExample>& examples) {
  std::string out =
      csv_line({"id", "published", "computed", "agrees", "given", "quantity", "source"});
  for (const auto& example : examples) {
    out += csv_line({example.id, fmt::format("{:.{}f}", example.published, example.decimals),
                     number(example.computed), example.agrees() ? "yes" : "no", example.given,
                     example.quantity, example.source});
  }
  return out;
}

}  // namespace draftproof::tools
