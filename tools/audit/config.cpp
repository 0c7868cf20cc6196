#include "tools/audit/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "oracle/claim.h"
#include "properties/audits/judge.h"
#include "reference/contract.h"
#include "reference/error.h"
#include "tools/audit/config_matrix.h"
#include "tools/audit/config_values.h"
#include "tools/audit/expectations.h"
#include "tools/audit/toy_law.h"

namespace draftproof::tools::audit {
namespace {

constexpr std::string_view kUsualFile = "draftproof.toml";

/// Throws unless the text of `name` is one of `known`.
void one_of(const ConfigValues& values, const std::string& name, const std::string& text,
            const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), text) != known.end()) return;
  refuse(values.place(name),
         fmt::format("'{}' is {}; it must be one of {}", name, text, fmt::join(known, ", ")));
}

/// "100/m" in requests a second.
double rate_of(const ConfigValues& values, const std::string& name) {
  const std::string text = values.text(name);
  if (text.empty()) return 0;
  double count = 0;
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, count);
  const std::string unit(next, end);
  if (error != std::errc() || !(count > 0) || !std::isfinite(count) ||
      (unit != "/s" && unit != "/m" && unit != "/h"))
    refuse(values.place(name), "\"" + text + "\" is no rate; write 5/s, 100/m or 1000/h");
  return count / (unit == "/s" ? 1 : unit == "/m" ? 60 : 3600);
}

void check_url(const ConfigValues& values, const std::string& name, const std::string& url,
               bool has_command) {
  const bool is_http = url.starts_with("http://") || url.starts_with("https://");
  if (!is_http || url.find("//") + 2 >= url.size())
    refuse(values.place(name), "\"" + url + "\" is no address; write http://HOST:PORT");
  if (url.find('@') != std::string::npos)
    refuse(values.place(name),
           "keys do not belong in an address; name the variable that holds the "
           "key: --api-key-env NAME");
  if (!has_command && url.find("{port}") != std::string::npos)
    refuse(values.place(name), "{port} is for servers that draftproof starts: give 'command'");
}

void read_process(const ConfigValues& values, const std::string& of, ArmConfig& arm) {
  const std::string command = values.text(of + "command");
  if (command.empty()) return;
  arm.process.emplace();
  arm.process->command = command;
  if (const ConfigValue* environment = values.find(of + "environment"))
    arm.process->environment = environment->table;
  arm.process->log = values.text(of + "log");
  arm.process->ready_url = values.text(of + "ready_url");
  arm.process->ready_timeout_s = *values.number(of + "ready_timeout");
  arm.process->stop_timeout_s = *values.number(of + "stop_timeout");
  if (arm.client.url.empty()) arm.client.url = "http://127.0.0.1:{port}";
  // Servers take connections while their model loads; these say when it has.
  const std::string& engine = arm.client.engine;
  const bool has_health =
      engine == "llama.cpp" || engine == "vllm" || engine == "sglang" || engine == "tgi";
  if (arm.process->ready_url.empty() && has_health)
    arm.process->ready_url = arm.client.url + "/health";
}

std::map<std::string, std::string> table_of(const ConfigValues& values, const std::string& name) {
  const ConfigValue* value = values.find(name);
  if (value == nullptr) return {};
  return {value->table.begin(), value->table.end()};
}

ArmConfig arm_of(const ConfigValues& values, const std::string& name) {
  const std::string of = "arm." + name + ".";
  ArmConfig arm;
  engines::ClientOptions& client = arm.client;
  client.url = values.text(of + "url");
  client.engine = values.text(of + "engine");
  client.model = values.text(of + "model");
  client.api_key_env = values.text(of + "api_key_env");
  client.connect_timeout_s = *values.number(of + "connect_timeout");
  client.read_timeout_s = *values.number(of + "read_timeout");
  client.requests_per_second_max = rate_of(values, of + "rate_limit");
  client.retry.attempt_max = static_cast<int>(*values.integer(of + "retries")) + 1;
  client.asks_for_no_drafts = values.flag(of + "no_drafts");
  std::vector<std::string> known = {"auto"};
  for (const engines::DialectInfo& each : engines::dialect_infos()) known.push_back(each.name);
  one_of(values, of + "engine", client.engine, known);
  read_process(values, of, arm);
  arm.runner = values.text(of + "runner");
  arm.runner_options = table_of(values, of + "runner_options");
  if (!arm.runner.empty() && !client.url.empty())
    refuse(values.place(of + "runner"), "an arm has a url (or command), or a runner, not both");
  if (!client.url.empty()) check_url(values, of + "url", client.url, arm.process.has_value());
  arm.expect = table_of(values, of + "expect");
  for (const auto& [fact, wanted] : arm.expect) {
    const auto& names = expectation_names();
    if (std::find(names.begin(), names.end(), fact) == names.end())
      refuse(values.place(of + "expect"),
             fmt::format("'{}' is no fact that an arm tells; known: {}", fact,
                         fmt::join(names, ", ")));
  }
  if (const ConfigValue* deployment = values.find(of + "deployment"))
    arm.deployment = deployment->table;
  return arm;
}

/// "greedy-parity" and "greedy_parity" are one name.
std::vector<std::string> audits_of(const ConfigValues& values) {
  std::vector<std::string> known;
  for (const auto& info : properties::audits::audit_infos()) known.push_back(info.id);
  std::vector<std::string> names = values.texts("audits.include");
  for (std::string& name : names) {
    std::replace(name.begin(), name.end(), '-', '_');
    one_of(values, "audits.include", name, known);
  }
  return names;
}

std::vector<std::string> claims_of(const ConfigValues& values) {
  std::vector<std::string> known;
  for (const oracle::Claim claim : oracle::all_claims())
    known.emplace_back(oracle::to_string(claim));
  const std::vector<std::string> names = values.texts("gate.require");
  for (const std::string& name : names) one_of(values, "gate.require", name, known);
  return names;
}

void read_approximate(const ConfigValues& values, AuditConfig& config) {
  const std::string of = "gate.approximate.";
  ApproximateGate gate{.tv = values.number(of + "tv"),
                       .task_score_drop = values.number(of + "task_score_drop"),
                       .schema_valid = values.number(of + "schema_valid"),
                       .score_command = values.text(of + "score_command"),
                       .score_logs = {}};
  for (const std::string& file : values.texts(of + "score_logs")) gate.score_logs.push_back(file);
  // Bounds of a sample never reach what only all answers there can be would show.
  if (gate.schema_valid && *gate.schema_valid >= 1)
    refuse(values.place(of + "schema_valid"),
           "no sample shows that all answers are valid; give a share below 1, as 0.999");
  if (gate.tv && *gate.tv <= 0)
    refuse(values.place(of + "tv"),
           "no sample shows a distance of 0: what is lossless is not declared lossy; give one "
           "above 0, or take declared_lossy away");
  const bool has_scores = !gate.score_command.empty() || !gate.score_logs.empty();
  if (!gate.score_logs.empty() && gate.score_logs.size() != 2)
    refuse(values.place(of + "score_logs"), "needs two files: baseline, speculative");
  if (gate.task_score_drop && !has_scores)
    refuse(values.place(of + "task_score_drop"),
           "nobody says the scores; give score_command or score_logs");
  if (has_scores && !gate.task_score_drop)
    refuse(values.place(of + (gate.score_command.empty() ? "score_logs" : "score_command")),
           "nobody says what they may cost; give task_score_drop");
  if (gate.tv || gate.task_score_drop || gate.schema_valid || has_scores) config.approximate = gate;
}

void check_arrivals(const ConfigValues& values, const std::string& arrivals) {
  if (arrivals.empty()) return;
  const std::string poisson = "poisson:";
  if (!arrivals.starts_with(poisson)) {
    if (!std::filesystem::is_regular_file(arrivals))
      refuse(values.place("speed.arrivals"),
             "\"" + arrivals + "\" is neither poisson:RATE nor a file that can be read");
    return;
  }
  double rate = 0;
  const char* const begin = arrivals.data() + poisson.size();
  const char* const end = arrivals.data() + arrivals.size();
  const auto [next, error] = std::from_chars(begin, end, rate);
  if (error != std::errc() || next != end || !(rate > 0) || !std::isfinite(rate))
    refuse(values.place("speed.arrivals"),
           "\"" + arrivals + "\" has no rate; write poisson:5 for five requests a second");
}

void read_results(const ConfigValues& values, AuditConfig& config) {
  config.audits = audits_of(values);
  config.required_claims = claims_of(values);
  const std::string inconclusive = values.text("gate.inconclusive");
  one_of(values, "gate.inconclusive", inconclusive, {"fail", "pass"});
  config.inconclusive_is_failure = inconclusive == "fail";
  read_approximate(values, config);
  config.report_dir = values.text("report.dir");
  if (config.report_dir.empty()) refuse(values.place("report.dir"), "'report.dir' is empty");
  const std::vector<std::string> formats = values.texts("report.formats");
  for (const std::string& each : formats)
    one_of(values, "report.formats", each, {"json", "junit", "github", "md", "jsonl", "none"});
  config.reports = fmt::format("{}", fmt::join(formats, ","));
  config.traffic.arrivals = values.text("speed.arrivals");
  check_arrivals(values, config.traffic.arrivals);
  config.warm_up_s = values.number("speed.warm_up").value_or(0);
  if (const auto ttft = values.number("speed.slo_ttft_ms"))
    config.traffic.level.ttft = *ttft / 1000;
  if (const auto itl = values.number("speed.slo_itl_ms")) config.traffic.level.itl = *itl / 1000;
  config.tokens_per_second = values.number("speed.rate");
  config.price_per_million_input = values.number("speed.price_per_million_input");
  config.price_per_million_output = values.number("speed.price_per_million_output");
}

void read_run(const ConfigValues& values, AuditConfig& config) {
  config.battery = values.text("run.battery");
  one_of(values, "run.battery", config.battery, {"smoke", "standard", "deep"});
  config.seed = static_cast<std::uint64_t>(*values.integer("run.seed"));
  config.false_alarms = *values.number("run.false_alarms");
  config.effect_tv = *values.number("run.effect_tv");
  config.time_limit_s = values.number("run.time_limit");
  if (const auto count = values.integer("run.max_requests"))
    config.request_max = static_cast<std::uint64_t>(*count);
  config.concurrency = static_cast<int>(*values.integer("run.concurrency"));
  config.stops_at_violation = values.flag("run.fail_fast");
  config.promises_same_seed = values.flag("speculation.promises_same_seed");
  const std::string lossy = values.text("speculation.declared_lossy");
  if (!lossy.empty()) config.declared_lossy = lossy;
  config.scorer.url = values.text("target.scorer");
  if (!config.scorer.url.empty()) check_url(values, "target.scorer", config.scorer.url, false);
  config.is_one_server = values.flag("target.one_server") || !config.scorer.url.empty();
  config.toy = values.text("target.toy");
  // A manifest of the file is named from its folder.
  if (config.toy.ends_with(".json") && !values.file().empty() &&
      !values.find("target.toy")->origin.starts_with("--"))
    config.toy = (values.file().parent_path() / config.toy).string();
}

/// The contract as named, or the one of the engine that both arms are said to be.
std::string contract_of(const ConfigValues& values, const AuditConfig& config) {
  const std::string named = values.text("target.contract");
  if (named.empty()) return contract_of_engine(config.speculative.client.engine);
  std::vector<std::string> known;
  for (const reference::Contract& each : reference::contracts()) known.push_back(each.name);
  one_of(values, "target.contract", named, known);
  return named;
}

void check_arms(const ConfigValues& values, const AuditConfig& config) {
  const ArmConfig& baseline = config.baseline;
  const ArmConfig& speculative = config.speculative;
  if (config.is_one_server && baseline.is_given())
    refuse(values.place(config.scorer.url.empty() ? "target.one_server" : "target.scorer"),
           "one server has no baseline; leave one of them out");
  const bool same = !baseline.client.url.empty() && !baseline.process &&
                    !baseline.client.asks_for_no_drafts &&
                    baseline.client.url == speculative.client.url;
  if (same)
    refuse(values.place("arm.speculative.url"),
           "both arms are the same server, which drafts or does not; start a second one, or audit "
           "this one by rescoring (--one-server)");
}

}  // namespace

LoadedConfig load_config(const std::filesystem::path& file,
                         const std::map<std::string, std::string>& flags) {
  std::filesystem::path found = file;
  if (found.empty() && std::filesystem::exists(kUsualFile)) found = kUsualFile;
  const ConfigValues values(found, flags);
  LoadedConfig loaded;
  AuditConfig& config = loaded.config;
  config.file = found;
  read_run(values, config);
  config.baseline = arm_of(values, "baseline");
  config.speculative = arm_of(values, "speculative");
  check_arms(values, config);
  const std::string named = values.text("target.contract");
  config.contract = contract_of(values, config);
  config.cache_dtype = values.text("target.cache");
  one_of(values, "target.cache", config.cache_dtype, {"f32", "f16", "bf16"});
  read_results(values, config);
  ConfigMatrix expanded = config_matrix(values, config);
  config.matrix = std::move(expanded.matrix);
  config.not_exercised = std::move(expanded.not_exercised);
  config.vocab_size = expanded.vocab_size;
  // What the server says it is decides at the first contact.
  if (named.empty() && config.speculative.client.engine == "auto") config.contract.clear();
  for (const ConfigKey& key : config_keys()) {
    const ConfigValue* value = values.find(key.name);
    if (value != nullptr) loaded.lines.push_back({key.name, value->typed, value->origin});
  }
  return loaded;
}

void need_arms(const AuditConfig& config) {
  const std::string place = config.file.empty() ? "arms" : config.file.string();
  if (!config.speculative.is_given())
    refuse(place,
           "no engine to ask: give --speculative URL, or [arm.speculative] with url, command "
           "or runner");
  if (!config.baseline.is_given() && !config.is_one_server)
    refuse(place,
           "no baseline: give --baseline URL (the same engine and model without drafts), or "
           "--one-server to judge by rescoring");
}

std::string page_of(const std::vector<ConfigLine>& lines) {
  std::size_t name_width = 0;
  std::size_t value_width = 0;
  for (const ConfigLine& line : lines) {
    name_width = std::max(name_width, line.name.size());
    value_width = std::max(value_width, std::min<std::size_t>(line.value.size(), 48));
  }
  std::string page;
  for (const ConfigLine& line : lines)
    page += fmt::format("{:{}} = {:{}}  # {}\n", line.name, name_width, line.value, value_width,
                        line.origin);
  return page;
}

}  // namespace draftproof::tools::audit
