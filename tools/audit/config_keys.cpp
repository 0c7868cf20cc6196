#include "tools/audit/config_keys.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace draftproof::tools::audit {
namespace {

using enum KeyType;

constexpr double kMany = 1e15;

std::vector<ConfigKey> run_keys() {
  return {
      {"run.seed", kInteger, "1", "every trial's seed derives from it", "--seed", 0, 9.3e18},
      {"run.battery", kText, "\"standard\"", "smoke, standard or deep: what is not given below",
       "--battery"},
      {"run.false_alarms", kNumber, "1e-6", "budget of the whole run, all audits together",
       "--false-alarms", 1e-300, 0.5},
      {"run.effect_tv", kNumber, "0.01", "the total variation that is worth an alarm",
       "--effect-tv", 1e-6, 0.5},
      {"run.time_limit", kDuration, "", "what is not settled by then is inconclusive",
       "--time-limit"},
      {"run.max_requests", kInteger, "", "of both arms together", "--max-requests", 1, kMany},
      {"run.trials", kInteger, "", "of a case, at most; default by battery", "--trials", 1, 1e9},
      {"run.first_look", kInteger, "32", "trials of a case; looks double from here on", "", 1, 1e9},
      {"run.concurrency", kInteger, "8", "requests in flight in an arm", "--concurrency", 1, 1024},
      {"run.fail_fast", kFlag, "false", "stop at the first violation", "--fail-fast"},
      {"target.toy", kText, "", "a toy's manifest, or a toy of `serve`: its law is known", "--toy"},
      {"target.contract", kText, "", "of `list engines`; default: the engine's", "--contract"},
      {"target.vocab", kInteger, "", "ids are below it, where neither toy nor engine says", "", 2,
       16777216},
      {"target.cache", kText, "\"f32\"", "the engine's keys and values: f32, f16 or bf16"},
      {"target.one_server", kFlag, "false", "no baseline: rescore on the same server",
       "--one-server"},
      {"target.scorer", kText, "",
       "one server drafts; this one, of the same weights, reads answers", "--scorer"},
  };
}

std::vector<ConfigKey> arm_keys(const std::string& arm) {
  const std::string of = "arm." + arm + ".";
  const std::string flag = "--" + arm;
  return {
      {of + "engine", kText, "\"auto\"", "a dialect; auto asks the server", "--engine"},
      {of + "url", kText, "", "http(s)://HOST:PORT; {port} where a command is given", flag},
      {of + "model", kText, "", "for servers of several", "--model"},
      {of + "api_key_env", kText, "", "name of the variable that holds the key", "--api-key-env"},
      {of + "command", kText, "", "a server that draftproof starts, watches and stops", ""},
      {of + "environment", kTable, "", "added to ours", ""},
      {of + "ready_url", kText, "", "answers 200 once it serves; {port} as above", ""},
      {of + "ready_timeout", kDuration, "\"300s\"", "until then it has to serve", ""},
      {of + "stop_timeout", kDuration, "\"10s\"", "SIGTERM, then SIGKILL", ""},
      {of + "log", kText, "", "what the server writes; default: in the run's folder", ""},
      {of + "runner", kText, "", "transformers, openvino-genai, xllamacpp, or a command", ""},
      {of + "runner_options", kTable, "", "of the runner: model, draft, ...", ""},
      {of + "connect_timeout", kDuration, "\"5s\"", "", ""},
      {of + "read_timeout", kDuration, "\"120s\"",
       "without a byte of an answer; ten times that in all", ""},
      {of + "rate_limit", kText, "", "100/m or 5/s", "--rate-limit"},
      {of + "retries", kInteger, "3", "of a request that found no server", "", 0, 100},
      {of + "no_drafts", kFlag, "false", "ask request by request not to draft, where that is known",
       ""},
      {of + "expect", kTable, "", "facts that the server must tell: engine, method, ...", ""},
      {of + "deployment", kTable, "", "what no server tells: revisions, adapter, dtype", ""},
  };
}

std::vector<ConfigKey> speculation_keys() {
  return {
      {"speculation.draft_length", kInteger, "", "drafted tokens, for the names of settings", "", 1,
       1024},
      {"speculation.promises_same_seed", kFlag, "false",
       "a seed gives the same tokens with and without drafts", ""},
      {"speculation.declared_lossy", kText, "", "the mode that gives the law up on purpose", ""},
  };
}

std::vector<ConfigKey> sampling_keys() {
  return {
      {"sampling.temperature", kNumbers, "", "0 is greedy", "--temperature", 0, 100},
      {"sampling.top_k", kIntegers, "", "0: off", "--top-k", 0, 16777216},
      {"sampling.top_p", kNumbers, "", "1: off", "--top-p", 1e-9, 1},
      {"sampling.min_p", kNumbers, "0", "0: off", "--min-p", 0, 1},
      {"sampling.repetition_penalty", kNumbers, "1", "1: off", "", 1e-3, 100},
      {"sampling.frequency_penalty", kNumbers, "0", "0: off", "", -100, 100},
      {"sampling.presence_penalty", kNumbers, "0", "0: off", "", -100, 100},
      {"sampling.max_tokens", kIntegers, "16", "", "--max-tokens", 1, 1048576},
      {"sampling.stop_token_ids", kIdLists, "", "each list is one setting's stops", ""},
      {"sampling.allowed_ids", kIdLists, "", "each list: the ids that alone may come", ""},
      {"sampling.ignore_eos", kFlags, "true", "false: the end token ends a request", ""},
      {"sampling.logprobs", kIntegers, "-1", "candidates a token; -1: none asked for", "", -1,
       16777216},
      {"sampling.grammar", kTexts, "", "a regular expression; \"\" is none", ""},
      {"sampling.adapter", kTexts, "", "a LoRA by the engine's name; \"\" is none", ""},
      {"sampling.stream", kFlags, "false", "tokens as they come, which gives them times", ""},
      {"sampling.prefix_cache", kFlags, "true", "false: ask not to reuse earlier requests", ""},
      {"sampling.concurrency", kIntegers, "", "in the place of run.concurrency", "", 1, 1024},
      {"sampling.variations", kFlag, "", "one setting more for each thing varied alone", ""},
      {"prompts.builtin", kTexts, "", "names of `draftproof list prompts`; [] for none",
       "--prompts"},
      {"prompts.file", kTexts, "", "JSON lines; Spec-Bench and SPEED-Bench too", "--prompt-file"},
      {"prompts.ids", kIdLists, "", "prompts as token ids", ""},
      {"prompts.texts", kTexts, "", "prompts as texts", ""},
      {"prompts.lengths", kIntegers, "", "one prompt of each length, for the edges of caches", "",
       1, 1048576},
      {"prompts.template", kText, "\"plain\"",
       "of messages: plain, chatml, llama-3, or messages for chats", ""},
      {"prompts.limit", kInteger, "", "so many of a file, from its start", "", 1, 1e9},
  };
}

std::vector<ConfigKey> result_keys() {
  return {
      {"audits.include", kTexts, "", "names of `draftproof list audits`; default: all that apply",
       "--audits"},
      {"gate.require", kTexts, "", "claims that have to be upheld", ""},
      {"gate.inconclusive", kText, "\"fail\"", "fail or pass", "--allow-inconclusive"},
      {"gate.approximate.tv", kNumber, "", "distance that a declared mode may have", "", 0, 1},
      {"gate.approximate.task_score_drop", kNumber, "", "how much lower its mean score may be", "",
       0, 1e9},
      {"gate.approximate.schema_valid", kNumber, "", "share of answers that must be valid", "", 0,
       1},
      {"gate.approximate.score_command", kText, "", "prints one number a sample", ""},
      {"gate.approximate.score_logs", kTexts, "", "lm-eval sample logs: baseline, speculative", ""},
      {"report.dir", kText, "\"draftproof-report\"", "", "--report-dir"},
      {"report.formats", kTexts, "[\"json\", \"md\"]", "json, junit, jsonl, md, github, or none",
       "--report"},
      {"speed.arrivals", kText, "", "poisson:RATE, or a file; default: a closed loop",
       "--arrivals"},
      {"speed.warm_up", kDuration, "\"0s\"", "left out of times", ""},
      {"speed.slo_ttft_ms", kNumber, "", "for goodput: to the first token, at most",
       "--slo-ttft-ms", 1e-3, 1e9},
      {"speed.slo_itl_ms", kNumber, "", "for goodput: between tokens, in the mean, at most",
       "--slo-itl-ms", 1e-3, 1e9},
      {"speed.rate", kNumber, "", "tokens a second of an arm, for plans", "--rate", 1e-3, kMany},
      {"speed.price_per_million_input", kNumber, "", "for plans", "", 0, 1e9},
      {"speed.price_per_million_output", kNumber, "", "for plans", "", 0, 1e9},
  };
}

std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t kept = diagonal + (left[i] == right[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({kept, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string_view last_part(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

}  // namespace

const std::vector<ConfigKey>& config_keys() {
  static const std::vector<ConfigKey> keys = [] {
    std::vector<ConfigKey> all;
    for (const auto& part : {run_keys(), arm_keys("baseline"), arm_keys("speculative"),
                             speculation_keys(), sampling_keys(), result_keys()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return keys;
}

const ConfigKey* config_key(std::string_view name) {
  for (const ConfigKey& key : config_keys())
    if (key.name == name) return &key;
  return nullptr;
}

std::string nearest_key(std::string_view name) {
  // In the wrong table, or with a slip: a slip costs its letters, the other table one.
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, last_part(name).size() / 3) + 1;
  for (const ConfigKey& key : config_keys()) {
    const std::size_t whole = edit_distance(name, key.name);
    const std::size_t part = edit_distance(last_part(name), last_part(key.name)) + 1;
    const std::size_t distance = std::min(whole, part);
    if (distance < best_distance) {
      best_distance = distance;
      best = key.name;
    }
  }
  return best;
}

}  // namespace draftproof::tools::audit
