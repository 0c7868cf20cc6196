#include "tools/audit/launch_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "properties/json_nesting.h"
#include "reference/error.h"
#include "tools/audit/config_values.h"

namespace draftproof::tools::audit {
namespace {

using nlohmann::json;

const std::string kPlace = "--command";

/// "0.32.0+cpu" -> {0, 32, 0}; "b6012" -> {6012}.
std::vector<int> numbers_of(const std::string& version) {
  std::vector<int> numbers;
  const char* at = version.data();
  const char* const end = at + version.size();
  if (at != end && (*at == 'b' || *at == 'v')) ++at;
  while (at != end) {
    int number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) break;
    numbers.push_back(number);
    at = next;
    if (at == end || *at != '.') break;
    ++at;
  }
  return numbers;
}

std::string engine_of(const std::vector<std::string>& words) {
  static const std::vector<std::pair<std::string, std::string>> programs = {
      {"llama-server", "llama.cpp"},
      {"llama-cli", "llama.cpp"},
      {"llama_cpp", "llama.cpp"},
      {"xllamacpp", "llama.cpp"},
      {"sglang", "sglang"},
      {"vllm", "vllm"},
      {"text-generation-launcher", "tgi"},
      {"trtllm", "tensorrt-llm"},
      {"tensorrt_llm", "tensorrt-llm"},
      {"tritonserver", "tensorrt-llm"}};
  bool is_python = false;
  for (const std::string& word : words) {
    // Behind `python -m` comes the program.
    if (word == "-m" && is_python) continue;
    if (word.starts_with("-")) break;
    is_python = word.find("python") != std::string::npos;
    for (const auto& [program, engine] : programs)
      if (word.find(program) != std::string::npos) return engine;
  }
  refuse(kPlace,
         "starts no engine that is known here; name it: --engine llama.cpp, vllm, sglang, "
         "tgi or tensorrt-llm");
}

/// The snapshots on both sides of a version; equal when one speaks for it.
struct Between {
  const EngineSnapshot* older = nullptr;
  const EngineSnapshot* newer = nullptr;
};

Between snapshots_of(const std::string& engine, const std::string& version) {
  std::vector<const EngineSnapshot*> known;
  for (const EngineSnapshot& each : engine_snapshots())
    if (each.engine == engine) known.push_back(&each);
  if (known.empty()) refuse(kPlace, "of the options of " + engine + " nothing is known here");
  if (version.empty()) return {known.back(), known.back()};
  const std::vector<int> asked = numbers_of(version);
  if (asked.empty())
    refuse("--engine-version", "\"" + version + "\" is no version; write 11549, or 0.32.0");
  // What is newer than everything that was read is taken for the last of it, and so is what is
  // older for the first: the page names the snapshot.
  for (std::size_t i = 0; i < known.size(); ++i) {
    const std::vector<int> at = numbers_of(known[i]->version);
    if (asked == at) return {known[i], known[i]};
    if (asked < at) return {known[i == 0 ? 0 : i - 1], known[i]};
  }
  return {known.back(), known.back()};
}

const LaunchFlag* find(const EngineSnapshot& snapshot, const std::string& name) {
  for (const LaunchFlag& flag : snapshot.flags)
    if (std::find(flag.names.begin(), flag.names.end(), name) != flag.names.end()) return &flag;
  return nullptr;
}

bool is_about_speculation(const std::string& name) {
  for (const char* part : {"spec", "draft", "ngram", "lookup", "eagle", "medusa", "accept"})
    if (name.find(part) != std::string::npos) return true;
  return name == "-md" || name == "-sc";
}

struct Option {
  std::string name;
  std::string value;
};

/// Options with what follows them. Values that begin with '-' are numbers.
std::vector<Option> options_of(const std::vector<std::string>& words) {
  std::vector<Option> options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || word[0] != '-' || std::isdigit(static_cast<unsigned char>(word[1])) != 0)
      continue;
    const std::size_t equal = word.find('=');
    Option option{word.substr(0, equal), equal == std::string::npos ? "" : word.substr(equal + 1)};
    const bool has_next = i + 1 < words.size() && equal == std::string::npos;
    if (has_next && (words[i + 1].empty() || words[i + 1][0] != '-' ||
                     (words[i + 1].size() > 1 &&
                      std::isdigit(static_cast<unsigned char>(words[i + 1][1])) != 0)))
      option.value = words[i + 1];
    options.push_back(std::move(option));
  }
  return options;
}

bool is_one(const std::string& value) {
  double number = 0;
  const auto [next, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && next == value.data() + value.size() && number >= 1;
}

LaunchFinding judged(const LaunchFlag& flag, const EngineSnapshot& snapshot, const Option& option) {
  LaunchFinding finding{option.name, Standing::kHolds, flag.note, ""};
  if (flag.state != FlagState::kPresent) {
    finding.standing = Standing::kFails;
    finding.says = "this version has no such option" +
                   (snapshot.otherwise.empty() ? "" : ": " + snapshot.otherwise);
    finding.now = flag.now;
  } else if (flag.is_lossy && !(flag.lossy_unless == "1" && is_one(option.value))) {
    finding.standing = Standing::kLimited;
    finding.says = "LOSSY BY DESIGN: " + flag.note;
  }
  return finding;
}

LaunchFinding finding_of(const Between& between, const Option& option) {
  const LaunchFlag* newer = find(*between.newer, option.name);
  const LaunchFlag* older = find(*between.older, option.name);
  const bool agree = between.older == between.newer ||
                     (older != nullptr && newer != nullptr && older->state == newer->state);
  if (!agree && (older != nullptr || newer != nullptr)) {
    LaunchFinding finding{option.name, Standing::kNotKnown, "", ""};
    finding.says = fmt::format(
        "{} and {} differ in it, and nothing between them was read; ask the program: --help",
        between.older->source, between.newer->source);
    if (newer != nullptr) finding.now = newer->now;
    return finding;
  }
  if (newer != nullptr) return judged(*newer, *between.newer, option);
  return {option.name, Standing::kNotKnown, "not known here; the program's --help knows", ""};
}

/// Names in vLLM's JSON (SpeculativeConfig of 0.32.0).
const std::vector<std::string>& speculative_fields() {
  static const std::vector<std::string> names = {"method",
                                                 "model",
                                                 "num_speculative_tokens",
                                                 "draft_tensor_parallel_size",
                                                 "tensor_parallel_size",
                                                 "quantization",
                                                 "moe_backend",
                                                 "attention_backend",
                                                 "kv_cache_dtype",
                                                 "max_model_len",
                                                 "revision",
                                                 "code_revision",
                                                 "enforce_eager",
                                                 "disable_padded_drafter_batch",
                                                 "disable_eagle_block_drop",
                                                 "use_local_argmax_reduction",
                                                 "use_heterogeneous_vocab",
                                                 "prompt_lookup_max",
                                                 "prompt_lookup_min",
                                                 "parallel_drafting",
                                                 "num_speculative_tokens_per_batch_size",
                                                 "suffix_decoding_max_tree_depth",
                                                 "suffix_decoding_max_cached_requests",
                                                 "suffix_decoding_max_spec_factor",
                                                 "suffix_decoding_min_token_prob",
                                                 "draft_load_config",
                                                 "rejection_sample_method",
                                                 "synthetic_acceptance_rates",
                                                 "synthetic_acceptance_length",
                                                 "enable_adaptive_verification",
                                                 "draft_sample_method",
                                                 "dspark_draft_topk",
                                                 "index_share_for_mtp_iteration"};
  return names;
}

void read_speculative_json(const Option& option, LaunchReport& report) {
  const std::string of = option.name + " ";
  const auto config = properties::json_or_discarded<json>(option.value);
  if (config.is_discarded()) {
    report.findings.push_back({option.name, Standing::kFails,
                               "its value is no JSON: quote it for the shell",
                               option.name + " '{\"method\": \"ngram\", ...}'"});
    return;
  }
  if (!config.is_object()) {
    report.findings.push_back({option.name, Standing::kFails, "its value is no JSON object", ""});
    return;
  }
  for (const auto& [written, value] : config.items()) {
    std::string name = written;
    std::replace(name.begin(), name.end(), '-', '_');
    const auto& known = speculative_fields();
    if (std::find(known.begin(), known.end(), name) == known.end())
      report.findings.push_back({of + written, Standing::kNotKnown,
                                 "vLLM 0.32.0 has no such field; other versions were not read",
                                 ""});
    if ((name == "rejection_sample_method" && value == "synthetic") ||
        name.starts_with("synthetic_acceptance"))
      report.findings.push_back({of + written, Standing::kLimited,
                                 "LOSSY BY DESIGN: synthetic acceptance, for load tests", ""});
  }
  if (config.value("draft_sample_method", json("greedy")) == "greedy" &&
      config.value("method", json()) == "draft_model")
    report.findings.push_back({of + "draft_sample_method", Standing::kHolds,
                               "greedy, the default: each draft is its own law; lossless, with "
                               "lower acceptance than probabilistic",
                               ""});
}

/// What a line as a whole does that no option of it does.
void read_whole(const std::vector<Option>& options, LaunchReport& report) {
  const auto given = [&](std::initializer_list<const char*> names) {
    return std::any_of(options.begin(), options.end(), [&](const Option& option) {
      return std::any_of(names.begin(), names.end(),
                         [&](const char* name) { return option.name == name; });
    });
  };
  const auto value = [&](const char* name) {
    for (const Option& option : options)
      if (option.name == name) return option.value;
    return std::string();
  };
  if (report.engine == "llama.cpp") {
    const std::string type = value("--spec-type");
    report.starts_speculation =
        (!type.empty() && type != "none") ||
        given({"-md", "--model-draft", "--spec-draft-model", "--spec-draft-hf", "--spec-default"});
    const bool has_ngram = type.find("ngram") != std::string::npos;
    if (has_ngram && !given({"--spec-ngram-simple-size-n", "--spec-ngram-map-k-size-n",
                             "--spec-ngram-map-k4v-size-n", "--spec-ngram-mod-n-match"}))
      report.findings.push_back(
          {"--spec-type", Standing::kLimited,
           "n-grams of 12 (24 for ngram-mod) by default: on prompts that are shorter no draft is "
           "made, and nothing says so",
           "--spec-ngram-simple-size-n 2 (or that of the kind), for short prompts"});
    if (type.empty() && given({"-md", "--model-draft", "--spec-draft-model"}))
      report.findings.push_back({"--spec-type (absent)", Standing::kNotKnown,
                                 "whether a draft model alone switches drafts on is not known here",
                                 "--spec-type draft-simple, and let `draftproof doctor URL` look"});
  } else if (report.engine == "vllm") {
    report.starts_speculation =
        given({"--speculative-config", "-sc", "--spec-method", "--spec-model", "--spec-tokens",
               "--speculative-model", "--num-speculative-tokens"});
  } else if (report.engine == "sglang") {
    report.starts_speculation = given({"--speculative-algorithm"});
    const std::string branches = value("--speculative-eagle-topk");
    if (given({"--speculative-use-rejection-sampling"}) && !branches.empty() && branches != "1")
      report.findings.push_back({"--speculative-use-rejection-sampling", Standing::kFails,
                                 "it needs one branch", "--speculative-eagle-topk 1"});
  } else if (report.engine == "tgi") {
    report.starts_speculation = given({"--speculate"}) && value("--speculate") != "0";
  }
}

}  // namespace

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool has_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
      // At the end of a line it joins two lines.
      if (line[++i] == '\n') continue;
      word += line[i];
      has_word = true;
    } else if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      has_word = true;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      if (has_word) words.push_back(std::move(word));
      word.clear();
      has_word = false;
    } else {
      word += c;
      has_word = true;
    }
  }
  if (quote != 0) refuse(kPlace, fmt::format("has a {} that does not end", quote));
  if (has_word) words.push_back(std::move(word));
  return words;
}

LaunchReport read_launch_line(const std::string& line, const std::string& engine,
                              const std::string& version) {
  const std::vector<std::string> words = words_of(line);
  if (words.empty()) refuse(kPlace, "is empty; give the line that starts the engine");
  LaunchReport report;
  report.engine = engine.empty() || engine == "auto" ? engine_of(words) : engine;
  report.version = version;
  const Between between = snapshots_of(report.engine, version);
  report.source = between.newer->source;
  const std::vector<Option> options = options_of(words);
  for (const Option& option : options) {
    const bool is_known = find(*between.newer, option.name) != nullptr ||
                          find(*between.older, option.name) != nullptr;
    if (!is_known && !is_about_speculation(option.name)) {
      ++report.other_options;
      continue;
    }
    report.findings.push_back(finding_of(between, option));
    const bool is_json = option.name == "--speculative-config" || option.name == "-sc";
    if (is_json && report.engine == "vllm") read_speculative_json(option, report);
  }
  for (const std::string& word : words)
    if (report.engine == "tgi" && word.starts_with("SPECULATE=") && word != "SPECULATE=0")
      report.starts_speculation = true;
  const bool by_environment = report.starts_speculation;
  read_whole(options, report);
  report.starts_speculation = report.starts_speculation || by_environment;
  return report;
}

int exit_code_of(const LaunchReport& report) {
  int code = 0;
  for (const LaunchFinding& each : report.findings) {
    if (each.standing == Standing::kFails) return 3;
    if (each.standing != Standing::kHolds) code = 2;
  }
  return code;
}

}  // namespace draftproof::tools::audit
