// Doctor's report as pages, what follows from it for audits, and reading it back.
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "reference/contract.h"
#include "tools/audit/doctor_bench.h"
#include "tools/audit/toy_law.h"
#include "tools/report/table.h"

namespace draftproof::tools::audit {
namespace {

using nlohmann::json;
using properties::Arm;
using properties::LogprobKind;
using report::Table;

constexpr std::string_view kSchema = "draftproof/doctor/1";

std::string yes(bool value) { return value ? "yes" : "no"; }

std::string kind_of(LogprobKind kind) {
  return kind == LogprobKind::kNone ? "none" : kind == LogprobKind::kRaw ? "raw" : "processed";
}

template <typename Value>
std::string told(const std::optional<Value>& value) {
  return value ? fmt::format("{}", *value) : "not told";
}

std::string told(const std::string& text) { return text.empty() ? "not told" : text; }

/// Name -> a value of one arm.
std::vector<std::pair<std::string, std::string>> rows_of(const ArmRecord& record) {
  const engines::ArmFacts& facts = record.facts;
  const properties::Capabilities& can = record.capabilities;
  std::vector<std::pair<std::string, std::string>> rows = {
      {"address", record.address},
      {"engine", told(facts.engine)},
      {"build", told(facts.version)},
      {"model", told(facts.model)},
      {"vocabulary", told(facts.vocab_size)},
      {"context", told(facts.context_max)},
      {"requests together", told(facts.slot_count)},
      {"speculates, it says", facts.is_speculative ? yes(*facts.is_speculative) : "not told"},
      {"drafts by", told(facts.method)},
      {"draft length", told(facts.draft_count)},
      {"lossy mode", facts.lossy_mode.value_or("none told")},
      {"tokenizer",
       record.tokenizer_hash.empty() ? "does not cut texts" : record.tokenizer_hash.substr(0, 16)},
      {"chat template",
       record.template_hash.empty() ? "not told" : record.template_hash.substr(0, 16)},
      {"takes token ids", yes(can.takes_token_ids)},
      {"returns token ids", yes(can.returns_token_ids)},
      {"takes seeds", yes(can.takes_seed)},
      {"counts drafts", yes(can.reports_counters)},
      {"logprobs", kind_of(can.logprobs)},
      {"tokens a second", record.tokens_per_second
                              ? fmt::format("{:.0f}", *record.tokens_per_second)
                              : "not measured"},
  };
  for (const auto& [name, value] : record.deployment) rows.emplace_back(name, value);
  return rows;
}

Table arm_table(const DoctorReport& report) {
  std::vector<report::Column> columns = {{""}};
  for (const ArmRecord& each : report.arms)
    columns.push_back({to_string(each.arm), report::Align::kLeft, 48});
  Table table(columns);
  const auto first = rows_of(report.arms.front());
  const auto last = rows_of(report.arms.back());
  for (const auto& [name, value] : first) {
    std::vector<std::string> cells = {name, value};
    if (report.arms.size() > 1) {
      std::string other;
      for (const auto& row : last)
        if (row.first == name) other = row.second;
      cells.push_back(other);
    }
    table.add(cells);
  }
  if (report.arms.size() > 1) {
    // What is said of the second arm alone.
    for (const auto& [name, value] : last) {
      bool is_there = false;
      for (const auto& row : first) is_there = is_there || row.first == name;
      if (!is_there) table.add({name, "", value});
    }
  }
  return table;
}

Table finding_table(const DoctorReport& report) {
  Table table({{"arm"}, {"question"}, {"answer"}, {"evidence", report::Align::kLeft, 72}});
  for (const Finding& each : report.findings)
    table.add({each.subject, each.question, std::string(to_string(each.standing)), each.says});
  return table;
}

std::string last_line(const DoctorReport& report) {
  switch (exit_code_of(report)) {
    case 0:
      return "ready: everything that an audit rests on was shown";
    case 2:
      return "not all of it was shown: an audit may come out inconclusive, or judge less";
    default:
      return "not ready: an audit would judge the wrong thing";
  }
}

std::string prose_page(const DoctorReport& report, bool is_markdown) {
  const auto shown = [&](const Table& table) {
    return is_markdown ? table.markdown() : table.text();
  };
  const std::string bullet = is_markdown ? "* " : "  ";
  const auto heading = [&](const std::string& text) {
    return is_markdown ? "\n## " + text + "\n\n" : "\n" + text + "\n";
  };
  std::string page = shown(arm_table(report)) + "\n" + shown(finding_table(report));
  std::string remedies;
  for (const Finding& each : report.findings)
    if (!each.remedy.empty())
      remedies += bullet + each.subject + ", " + each.question + ": " + each.remedy + "\n";
  if (!remedies.empty()) page += heading("Remedies") + remedies;
  if (!report.cannot_audit.empty()) {
    page += heading("Cannot be audited here");
    for (const std::string& line : report.cannot_audit) page += bullet + line + "\n";
  }
  return page + fmt::format("\n{} ({} requests)\n", last_line(report), report.requests);
}

template <typename Value>
json optional_json(const std::optional<Value>& value) {
  return value ? json(*value) : json(nullptr);
}

json json_of(const ArmRecord& record) {
  const engines::ArmFacts& facts = record.facts;
  const properties::Capabilities& can = record.capabilities;
  json deployment = json::object();
  for (const auto& [name, value] : record.deployment) deployment[name] = value;
  return {{"arm", to_string(record.arm)},
          {"address", record.address},
          {"engine", facts.engine},
          {"version", facts.version},
          {"model", facts.model},
          {"vocab_size", optional_json(facts.vocab_size)},
          {"context_max", optional_json(facts.context_max)},
          {"slot_count", optional_json(facts.slot_count)},
          {"is_speculative", optional_json(facts.is_speculative)},
          {"method", facts.method},
          {"draft_count", optional_json(facts.draft_count)},
          {"lossy_mode", optional_json(facts.lossy_mode)},
          {"tokenizer_hash", record.tokenizer_hash},
          {"template_hash", record.template_hash},
          {"deployment", std::move(deployment)},
          {"capabilities",
           {{"name", can.name},
            {"vocab_size", can.vocab_size},
            {"draft_count", can.draft_count},
            {"can_draw", can.can_draw},
            {"reports_counters", can.reports_counters},
            {"logprobs", kind_of(can.logprobs)},
            {"takes_token_ids", can.takes_token_ids},
            {"returns_token_ids", can.returns_token_ids},
            {"takes_seed", can.takes_seed}}},
          {"tokens_per_second", optional_json(record.tokens_per_second)}};
}

std::string json_page(const DoctorReport& report) {
  json arms = json::array();
  for (const ArmRecord& each : report.arms) arms.push_back(json_of(each));
  json findings = json::array();
  for (const Finding& each : report.findings)
    findings.push_back({{"subject", each.subject},
                        {"question", each.question},
                        {"standing", to_string(each.standing)},
                        {"says", each.says},
                        {"remedy", each.remedy},
                        {"is_needed", each.is_needed}});
  const json page = {{"schema_version", kSchema},       {"arms", std::move(arms)},
                     {"findings", std::move(findings)}, {"cannot_audit", report.cannot_audit},
                     {"requests", report.requests},     {"exit_code", exit_code_of(report)}};
  return page.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

ArmRecord record_of(const json& arm) {
  ArmRecord record;
  record.arm = arm.at("arm") == "baseline" ? Arm::kBaseline : Arm::kSpeculative;
  record.address = arm.at("address");
  record.facts.engine = arm.at("engine");
  const json& can = arm.at("capabilities");
  properties::Capabilities& into = record.capabilities;
  into.name = can.at("name");
  into.vocab_size = can.at("vocab_size");
  into.draft_count = can.at("draft_count");
  into.can_draw = can.at("can_draw");
  into.reports_counters = can.at("reports_counters");
  const std::string kind = can.at("logprobs");
  into.logprobs = kind == "raw"    ? LogprobKind::kRaw
                  : kind == "none" ? LogprobKind::kNone
                                   : LogprobKind::kProcessed;
  into.takes_token_ids = can.at("takes_token_ids");
  into.returns_token_ids = can.at("returns_token_ids");
  into.takes_seed = can.at("takes_seed");
  if (!arm.at("tokens_per_second").is_null())
    record.tokens_per_second = arm.at("tokens_per_second").get<double>();
  return record;
}

void conclude_arm(Bench& bench, const Patient& patient) {
  const properties::Capabilities& can = patient.record.capabilities;
  const std::string of = " (" + to_string(patient.arm) + " arm)";
  if (!can.can_draw) bench.cannot("laws: it decodes greedily" + of);
  if (!can.takes_seed) bench.cannot("seeds: its protocol carries none" + of);
  if (!can.reports_counters)
    bench.cannot("counters, and what drafts gain by them: it reports none for a request" + of);
  if (can.logprobs == LogprobKind::kNone) bench.cannot("logprobs: it reports none" + of);
  if (!can.returns_token_ids)
    bench.cannot("tokens: answers are texts, cut again by us; the weaker claim is about texts" +
                 of);
}

}  // namespace

void conclude(Bench& bench, const DoctorReport& report) {
  for (const Patient& patient : bench.patients()) conclude_arm(bench, patient);
  const Patient& last = bench.patients().back();
  const std::string contract = contract_of_engine(last.record.facts.engine);
  if (contract != "default") {
    const reference::Contract& engine = reference::contract(contract);
    for (const auto parameter : engine.lacks)
      bench.cannot(fmt::format("{}: {} takes no notice of it", reference::to_string(parameter),
                               engine.name));
    for (const auto parameter : engine.refuses)
      bench.cannot(fmt::format("{}: {} refuses it", reference::to_string(parameter), engine.name));
  }
  for (const Finding& each : report.findings) {
    if (each.question == "scores prompts" && each.standing != Standing::kHolds)
      bench.cannot("one server by rescoring: the " + each.subject + " arm gives no usable scores");
    if (each.question == "obeys seeds" && each.standing == Standing::kLimited)
      bench.cannot("seed-stable, same-seed identity: the " + each.subject +
                   " arm does not repeat itself");
    if (each.question == "reports logprobs" && each.standing == Standing::kLimited)
      bench.cannot("logprob-truthful of the " + each.subject + " arm: " + each.says);
  }
  if (bench.settings().target == nullptr)
    bench.cannot(
        "laws against a known one: nobody knows this model's; arms are held against each "
        "other");
  if (bench.patients().size() == 1) bench.cannot("anything that needs both arms: one was named");
}

std::string page_of(const DoctorReport& report, DoctorForm form) {
  if (form == DoctorForm::kJson) return json_page(report);
  return prose_page(report, form == DoctorForm::kMarkdown);
}

std::filesystem::path doctor_file(const std::filesystem::path& report_dir, bool is_pair) {
  return report_dir / (is_pair ? "doctor.json" : "doctor-one.json");
}

std::vector<ArmRecord> read_doctor_record(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) return {};
  try {
    const json page = json::parse(stream);
    if (page.at("schema_version") != kSchema) return {};
    std::vector<ArmRecord> records;
    for (const json& arm : page.at("arms")) records.push_back(record_of(arm));
    return records;
  } catch (const json::exception&) {
    return {};
  }
}

}  // namespace draftproof::tools::audit
