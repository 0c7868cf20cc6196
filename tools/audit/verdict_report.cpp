#include "tools/audit/verdict_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "tools/audit/collector.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools::audit {
namespace {

using properties::Arm;
using properties::audits::AuditInfo;
using properties::audits::Check;
using properties::audits::Evidence;
using properties::audits::JudgeSettings;
using properties::audits::Matrix;
using report::CheckResult;

/// So many trials of a case are written beside a witness.
constexpr std::size_t kTrialsShown = 8;

const AuditInfo* info_of(const std::string& id) {
  for (const AuditInfo& info : properties::audits::audit_infos())
    if (info.id == id) return &info;
  return nullptr;
}

std::string target_of(const RunRecord& record) {
  if (!record.toy.empty())
    return fmt::format("the exact law of the toy {}, shaped as {} does", record.toy,
                       record.judge.contract);
  if (record.judge.has_baseline) return "the baseline arm: the same model without drafts";
  return "the engine's own rescoring: acceptance and state are judged, not the model";
}

/// The case that a witness's command shows: its last word.
std::string shown_case(const oracle::Witness& witness) {
  const std::string option = "--show ";
  const std::size_t at = witness.replay.rfind(option);
  return at == std::string::npos ? "" : witness.replay.substr(at + option.size());
}

nlohmann::ordered_json finding_json(const CheckResult& check, const Evidence& evidence,
                                    const CurlOf& curl) {
  using nlohmann::ordered_json;
  const oracle::Witness& witness = *check.verdict.witness;
  ordered_json json = {{"schema", "draftproof/finding/1"},
                       {"check", check.id},
                       {"claim", oracle::to_string(check.verdict.claim)},
                       {"setting", check.verdict.setting},
                       {"let", witness.let},
                       {"expected", witness.expected},
                       {"observed", witness.observed},
                       {"because", witness.because},
                       {"replay", witness.replay}};
  if (!witness.case_json.empty()) {
    ordered_json reduced = ordered_json::parse(witness.case_json, nullptr, false);
    json["case"] = reduced.is_discarded() ? ordered_json(witness.case_json) : reduced;
  }
  const std::string case_id = shown_case(witness);
  ordered_json requests = ordered_json::array(), transcripts = ordered_json::array();
  for (const Arm arm : {Arm::kBaseline, Arm::kSpeculative}) {
    std::size_t shown = 0;
    for (const auto& [trial, transcript] : evidence.of(case_id, arm)) {
      if (++shown > kTrialsShown) break;
      if (shown == 1 && curl) requests.push_back(curl(arm, transcript.request));
      transcripts.push_back(ordered_json::parse(properties::line_of(transcript)));
    }
  }
  json["curl"] = requests;
  json["transcripts"] = transcripts;
  return json;
}

}  // namespace

std::vector<CheckResult> check_results(const Matrix& matrix, const Evidence& evidence,
                                       const JudgeSettings& judge,
                                       const std::vector<std::size_t>& settings) {
  std::vector<std::size_t> judged = settings;
  if (judged.empty())
    for (std::size_t i = 0; i < matrix.settings.size(); ++i) judged.push_back(i);
  std::vector<CheckResult> results;
  for (const std::size_t setting : judged) {
    for (oracle::Verdict& verdict :
         properties::audits::judge_setting(matrix, evidence, judge, setting)) {
      CheckResult result;
      result.id = verdict.property + "/" + verdict.setting;
      if (const AuditInfo* info = info_of(verdict.property)) {
        result.statement = info->statement;
        result.citation = info->citation;
      }
      result.verdict = std::move(verdict);
      results.push_back(std::move(result));
    }
  }
  // A reader goes through the audits, not through the settings.
  std::vector<std::string> order;
  for (const AuditInfo& info : properties::audits::audit_infos()) order.push_back(info.id);
  const auto place = [&](const CheckResult& result) {
    return std::find(order.begin(), order.end(), result.verdict.property) - order.begin();
  };
  std::stable_sort(results.begin(), results.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return results;
}

std::vector<report::CheckExempted> exemptions(const Matrix& matrix, const JudgeSettings& judge) {
  std::vector<report::CheckExempted> list;
  for (const AuditInfo& info : properties::audits::audit_infos())
    if (const std::string why = properties::audits::absence_of(info, matrix, judge); !why.empty())
      list.push_back({info.id + "/all settings", why});
  return list;
}

std::vector<report::Fact> run_facts(const RunRecord& record, const Evidence& evidence) {
  std::vector<report::Fact> facts = {{"target", target_of(record)}};
  for (const auto& [name, words] : record.told) facts.push_back({name, words});
  std::size_t cold = 0;
  for (const Arm arm : {Arm::kBaseline, Arm::kSpeculative})
    for (const auto& setting : record.matrix.settings)
      cold += evidence.of(cold_case(setting), arm).size();
  facts.push_back(
      {"asked", fmt::format("{} settings, {} cases, {} answers", record.matrix.settings.size(),
                            record.matrix.cases.size(), evidence.size() - cold)});
  return facts;
}

void take_back(oracle::Verdict& verdict, const std::string& why) {
  verdict.kind = oracle::VerdictKind::kInconclusive;
  verdict.label = oracle::Label::kNone;
  verdict.evidence = "not judged: " + why;
  verdict.witness.reset();
  verdict.log_e_value.reset();
  verdict.effect.reset();
  verdict.bound.reset();
  verdict.smallest_visible_effect.clear();
}

void take_back(std::vector<CheckResult>& checks, const std::string& why) {
  for (CheckResult& check : checks) take_back(check.verdict, why);
}

void write_findings(const std::filesystem::path& folder, const std::vector<CheckResult>& checks,
                    const Evidence& evidence, const CurlOf& curl) {
  for (const CheckResult& check : checks) {
    if (!check.verdict.witness) continue;
    std::string name = check.id;
    std::replace(name.begin(), name.end(), '/', '-');
    store::write_atomically(
        folder / "cases" / (name + ".json"),
        finding_json(check, evidence, curl)
                .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
            "\n");
  }
}

}  // namespace draftproof::tools::audit
