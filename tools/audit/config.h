// Config: draftproof.toml and the flags over it, as one value: what `audit`, `plan` and `doctor`
// read. Every value knows where it came from (default, file:line, flag), which --print-config
// shows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "properties/audits/matrix.h"
#include "tools/audit/traffic.h"
#include "tools/engines/client.h"
#include "tools/engines/runner.h"

namespace draftproof::tools::audit {

/// [arm.baseline], [arm.speculative]. One of url, command with url, or runner.
struct ArmConfig {
  engines::ClientOptions client = {};  ///< url may hold "{port}" when there is a command
  std::optional<engines::ProcessOptions> process = {};  ///< a server that we start
  std::string runner = {};  ///< a line client: its command, or one of our programs
  std::map<std::string, std::string> runner_options = {};
  std::map<std::string, std::string> expect = {};  ///< facts that must hold, or exit 3
  std::vector<std::pair<std::string, std::string>> deployment = {};  ///< revisions, adapter, dtype

  bool is_given() const { return !client.url.empty() || process || !runner.empty(); }
};

/// [gate.approximate]: what a mode that is declared lossy may cost.
struct ApproximateGate {
  std::optional<double> tv, task_score_drop, schema_valid;
  std::string score_command;                      ///< prints one number a sample
  std::vector<std::filesystem::path> score_logs;  ///< lm-eval sample logs: baseline, speculative
};

struct AuditConfig {
  std::filesystem::path file;     ///< empty: flags alone
  std::string battery = "smoke";  ///< smoke, standard or deep: breadth and trials where not given
  std::uint64_t seed = 1;
  double false_alarms = 1e-6;
  double effect_tv = 0.01;
  std::optional<double> time_limit_s;
  std::optional<std::uint64_t> request_max;
  int concurrency = 8;
  ArmConfig baseline, speculative;
  bool is_one_server = false;          ///< only the speculative arm: its answers are rescored
  engines::ClientOptions scorer = {};  ///< who reads them; url empty: the server itself
  bool promises_same_seed = false;
  std::string toy;  ///< the law is known: a manifest (tools/toys), or a toy that `serve` serves
  std::optional<int> vocab_size;    ///< of the toy, or as typed
  std::string contract = "";        ///< of reference::contracts(); empty: the engine's
  std::string cache_dtype = "f32";  ///< what the engine keeps keys and values in: f32, f16, bf16
  std::optional<std::string> declared_lossy;
  /// Settings x prompts, expanded. Prompts given as text have no ids yet: a request with an empty
  /// `prompt` and a `prompt_text` is cut by the engine's own tokenizer before it is asked.
  properties::audits::Matrix matrix;
  std::vector<std::string> not_exercised;    ///< what this matrix leaves out, a line each
  std::vector<std::string> audits;           ///< empty: all that apply
  std::vector<std::string> required_claims;  ///< [gate] require
  bool inconclusive_is_failure = true;       ///< [gate] inconclusive = "fail"
  bool stops_at_violation = false;
  std::optional<ApproximateGate> approximate;
  Traffic traffic;
  double warm_up_s = 0;
  std::optional<double> tokens_per_second;  ///< of an arm, for plans
  std::optional<double> price_per_million_input, price_per_million_output;
  std::string report_dir = "draftproof-report";
  std::string reports = "json,md";
};

/// One value with its origin, for --print-config.
struct ConfigLine {
  std::string name;    ///< "run.seed"
  std::string value;   ///< as TOML
  std::string origin;  ///< "default", "draftproof.toml:4", "--seed"
};

struct LoadedConfig {
  AuditConfig config;
  std::vector<ConfigLine> lines;
};

/// Flags as typed: dotted name -> TOML value ("run.seed" -> "7"). They outrank the file. `file`
/// empty: draftproof.toml of this folder when there is one. Throws Error(kInput) at "FILE:LINE" or
/// the flag: unknown keys (with the nearest known one), wrong types, values out of range,
/// combinations that ask for nothing. "${NAME}" in texts is replaced by the environment's.
LoadedConfig load_config(const std::filesystem::path& file,
                         const std::map<std::string, std::string>& flags);

/// Throws Error(kInput) that says how to name them when the speculative arm, or (unless one server
/// is audited by rescoring) the baseline, is not given.
void need_arms(const AuditConfig& config);

/// The lines as a table that --print-config shows; no value of the environment is in it.
std::string page_of(const std::vector<ConfigLine>& lines);

}  // namespace draftproof::tools::audit
