#include "tools/audit/config_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tools/audit/prompt_set.h"
#include "tools/audit/setting_grid.h"
#include "tools/audit/toy_law.h"

namespace draftproof::tools::audit {
namespace {

using properties::audits::AuditCase;
using properties::audits::Matrix;
using properties::audits::Seeding;
using properties::audits::Setting;

/// What a battery fills in. Text models have many thousands of tokens; with eight of them kept a
/// law has few cells, which is what makes it cheap to judge (statistics of power: oracle/power.h).
struct Breadth {
  std::vector<double> temperature;
  std::vector<std::int64_t> top_k;
  std::vector<double> top_p;
  std::vector<std::string> prompts;
  std::vector<std::int64_t> lengths;  ///< around pages of 16 and 32 tokens
  bool has_variations = false;
  /// Standard ones come to 200,000 tokens of a setting and more, which certifies a next-token law
  /// within 0.01; what is settled earlier ends earlier.
  std::uint64_t law_trials, shared_trials, greedy_trials;
};

Breadth breadth_of(const std::string& battery, bool is_toy) {
  const std::vector<std::string> cohorts = {"long_prompt_short_answer", "tool_call", "copy_edit",
                                            "rare_entity", "free_text"};
  if (battery == "smoke") {
    if (is_toy) return {{0, 1}, {0}, {1}, {"two_token", "repeat"}, {}, false, 1024, 32, 2};
    return {{0, 0.7}, {8}, {1}, {"sentence", "copy_edit"}, {}, false, 512, 16, 2};
  }
  const std::vector<std::string> toys = {"single", "two_token", "ramp", "repeat", "mixed"};
  std::vector<std::string> texts = {"sentence", "code"};
  texts.insert(texts.end(), cohorts.begin(), cohorts.end());
  if (battery == "standard") {
    if (is_toy) return {{0, 0.7, 1}, {0, 4}, {1}, toys, {15, 16, 17}, false, 2048, 128, 2};
    return {{0, 0.7, 1}, {8}, {1}, texts, {}, false, 1024, 64, 2};
  }
  if (is_toy)
    return {{0, 0.3, 0.7, 1, 1.5},
            {0, 4},
            {1, 0.8},
            toys,
            {15, 16, 17, 31, 32, 33},
            true,
            16384,
            512,
            4};
  texts.insert(texts.end(), {"list", "dialogue", "numbers"});
  return {{0, 0.3, 0.7, 1}, {8, 40}, {1, 0.9}, texts, {}, true, 8192, 256, 4};
}

std::vector<reference::Token> tokens_of(const std::vector<std::int64_t>& ids) {
  return {ids.begin(), ids.end()};
}

/// The typed list of a key, or what stands in for it.
template <typename To, typename From>
std::vector<To> listed(const ConfigValue* value, std::vector<From> ConfigValue::*member,
                       std::vector<To> otherwise) {
  if (value == nullptr) return otherwise;
  const std::vector<From>& typed = value->*member;
  return std::vector<To>(typed.begin(), typed.end());
}

std::vector<std::vector<reference::Token>> id_lists(const ConfigValue* value) {
  if (value == nullptr) return {{}};
  std::vector<std::vector<reference::Token>> lists;
  for (const auto& ids : value->id_lists) lists.push_back(tokens_of(ids));
  return lists;
}

SettingLists lists_of(const ConfigValues& values, const AuditConfig& config, const Breadth& breadth,
                      const std::optional<ToyVocabulary>& toy) {
  const auto numbers = [&](const std::string& name, std::vector<double> otherwise) {
    return listed(values.find("sampling." + name), &ConfigValue::numbers, std::move(otherwise));
  };
  const auto integers = [&](const std::string& name, std::vector<int> otherwise) {
    return listed(values.find("sampling." + name), &ConfigValue::integers, std::move(otherwise));
  };
  const auto flags = [&](const std::string& name) {
    return listed(values.find("sampling." + name), &ConfigValue::flags, std::vector<bool>{});
  };
  const auto texts = [&](const std::string& name) {
    return listed(values.find("sampling." + name), &ConfigValue::texts,
                  std::vector<std::string>{""});
  };
  SettingLists lists;
  lists.temperature = numbers("temperature", breadth.temperature);
  lists.top_k = listed(values.find("sampling.top_k"), &ConfigValue::integers, breadth.top_k);
  lists.top_p = numbers("top_p", breadth.top_p);
  lists.min_p = numbers("min_p", {});
  lists.repetition = numbers("repetition_penalty", {});
  lists.frequency = numbers("frequency_penalty", {});
  lists.presence = numbers("presence_penalty", {});
  lists.max_tokens = integers("max_tokens", {});
  lists.stop_token_ids = id_lists(values.find("sampling.stop_token_ids"));
  lists.allowed_ids = id_lists(values.find("sampling.allowed_ids"));
  lists.ignores_end = flags("ignore_eos");
  lists.logprob_count = integers("logprobs", {});
  lists.grammar = texts("grammar");
  lists.adapter = texts("adapter");
  lists.is_streamed = flags("stream");
  lists.uses_prefix_cache = flags("prefix_cache");
  lists.concurrency = integers("concurrency", {});
  lists.concurrency_default = config.concurrency;
  if (const auto length = values.integer("speculation.draft_length"))
    lists.draft_length = static_cast<int>(*length);
  lists.has_variations = values.is_typed("sampling.variations") ? values.flag("sampling.variations")
                                                                : breadth.has_variations;
  if (toy) lists.stop_candidate = toy->live.back();
  return lists;
}

class Prompts {
 public:
  Prompts(const ConfigValues& values, const AuditConfig& config, const Breadth& breadth,
          const std::optional<ToyVocabulary>& toy)
      : values_(values), config_(config), breadth_(breadth), toy_(toy) {}

  std::vector<NamedPrompt> take() {
    const bool names_others = values_.is_typed("prompts.file") || values_.is_typed("prompts.ids") ||
                              values_.is_typed("prompts.texts");
    std::vector<std::string> builtin = values_.texts("prompts.builtin");
    if (!values_.is_typed("prompts.builtin") && !names_others) builtin = breadth_.prompts;
    for (const std::string& name : builtin)
      add(builtin_prompt(name, toy_, config_.seed, values_.place("prompts.builtin")),
          "prompts.builtin");
    add_typed();
    add_lengths(names_others);
    if (all_.empty()) refuse(values_.place("prompts.builtin"), "[prompts] leaves no prompt to ask");
    return std::move(all_);
  }

 private:
  void add(NamedPrompt prompt, const std::string& key) {
    if (!names_.insert(prompt.name).second)
      refuse(values_.place(key), "two prompts are called '" + prompt.name + "'");
    all_.push_back(std::move(prompt));
  }

  void add_typed() {
    if (const ConfigValue* ids = values_.find("prompts.ids")) {
      for (std::size_t i = 0; i < ids->id_lists.size(); ++i) {
        if (ids->id_lists[i].empty()) refuse(ids->origin, "'prompts.ids' has an empty prompt");
        add({fmt::format("ids-{}", i + 1), tokens_of(ids->id_lists[i])}, "prompts.ids");
      }
    }
    const std::vector<std::string> texts = values_.texts("prompts.texts");
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (texts[i].empty())
        refuse(values_.place("prompts.texts"), "'prompts.texts' has an empty prompt");
      add({fmt::format("text-{}", i + 1), {}, texts[i]}, "prompts.texts");
    }
    const std::string form = values_.text("prompts.template");
    if (form != "plain" && form != "chatml" && form != "llama-3" && form != "messages")
      refuse(values_.place("prompts.template"),
             "there is no template '" + form + "'; known: plain, chatml, llama-3, messages");
    const auto limit = values_.integer("prompts.limit");
    for (const std::string& file : values_.texts("prompts.file")) {
      std::optional<std::size_t> count_max;
      if (limit) count_max = static_cast<std::size_t>(*limit);
      for (NamedPrompt& prompt : read_prompts(beside(file), form, count_max))
        add(std::move(prompt), "prompts.file");
    }
  }

  /// Files of the configuration are named from its folder.
  std::filesystem::path beside(const std::string& file) const {
    const bool is_of_file = !values_.find("prompts.file")->origin.starts_with("--");
    return is_of_file ? values_.file().parent_path() / file : std::filesystem::path(file);
  }

  void add_lengths(bool names_others) {
    std::vector<std::int64_t> lengths;
    if (const ConfigValue* typed = values_.find("prompts.lengths"))
      lengths = typed->integers;
    else if (toy_ && !names_others && !values_.is_typed("prompts.builtin"))
      lengths = breadth_.lengths;
    if (lengths.empty()) return;
    if (!toy_)
      refuse(values_.place("prompts.lengths"),
             "prompts of exact lengths are made of token ids; name a toy (target.toy), or how many "
             "ids there are (target.vocab)");
    for (const std::int64_t length : lengths)
      add(prompt_of_length(static_cast<int>(length), toy_->live, config_.seed), "prompts.lengths");
  }

  const ConfigValues& values_;
  const AuditConfig& config_;
  const Breadth& breadth_;
  const std::optional<ToyVocabulary>& toy_;
  std::vector<NamedPrompt> all_;
  std::set<std::string> names_;
};

void add_cases(const Setting& setting, std::size_t index, const NamedPrompt& prompt,
               const Breadth& breadth, Matrix& matrix) {
  AuditCase each;
  each.id = setting.id + "/" + prompt.name;
  each.setting = index;
  each.prompt_name = prompt.name;
  each.request = setting.request;
  each.request.prompt = prompt.ids;
  each.request.prompt_text = prompt.text;
  each.cohort = prompt.cohort;
  each.trial_max = setting.is_greedy() ? breadth.greedy_trials : breadth.law_trials;
  matrix.cases.push_back(each);
  if (setting.is_greedy()) return;
  each.id += "/shared";
  each.seeding = Seeding::kShared;
  each.trial_max = std::min(breadth.shared_trials, breadth.law_trials);
  matrix.cases.push_back(std::move(each));
}

/// What no setting has: a reader of a green report must not take it for audited.
std::vector<std::string> left_out(const std::vector<Setting>& settings,
                                  const std::vector<NamedPrompt>& prompts) {
  std::vector<std::string> lines;
  const auto none = [&](const auto& has, const std::string& line) {
    if (std::none_of(settings.begin(), settings.end(), has)) lines.push_back(line);
  };
  none([](const Setting& s) { return s.is_greedy(); }, "greedy decoding: no temperature 0");
  none([](const Setting& s) { return !s.is_greedy(); }, "laws: temperature 0 alone draws nothing");
  none([](const Setting& s) { return s.request.sampling.top_k > 0; }, "top_k");
  none([](const Setting& s) { return s.request.sampling.top_p < 1; }, "top_p");
  none([](const Setting& s) { return s.request.sampling.min_p > 0; }, "min_p");
  none(
      [](const Setting& s) {
        const reference::Penalties& each = s.request.adjustments.penalties;
        return each.repetition != 1 || each.frequency != 0 || each.presence != 0;
      },
      "penalties");
  none([](const Setting& s) { return !s.request.stop_token_ids.empty(); }, "stop tokens");
  none([](const Setting& s) { return !s.request.ignores_end; }, "the end token (ignore_eos)");
  none([](const Setting& s) { return s.request.logprob_count >= 0; }, "logprobs");
  none([](const Setting& s) { return !s.request.grammar.empty(); }, "grammars");
  none([](const Setting& s) { return !s.request.adapter.empty(); }, "adapters");
  none([](const Setting& s) { return s.request.is_streamed; }, "streaming");
  none([](const Setting& s) { return s.concurrency > 1; }, "requests that run together");
  const std::size_t longest = std::accumulate(
      prompts.begin(), prompts.end(), std::size_t{0},
      [](std::size_t most, const NamedPrompt& each) { return std::max(most, each.ids.size()); });
  const bool has_text = std::any_of(prompts.begin(), prompts.end(),
                                    [](const NamedPrompt& each) { return !each.text.empty(); });
  if (!has_text && longest < 64)
    lines.push_back(fmt::format("prompts of more than {} tokens", longest));
  return lines;
}

/// The law of config.toy, or the vocabulary alone.
struct Vocabulary {
  ToyLaw law;
  std::optional<ToyVocabulary> tokens;
};

Vocabulary vocabulary_of(const ConfigValues& values, const AuditConfig& config) {
  Vocabulary vocabulary;
  const auto count = values.integer("target.vocab");
  std::optional<int> vocab_size;
  if (count) vocab_size = static_cast<int>(*count);
  if (!config.toy.empty()) {
    vocabulary.law = toy_law(config.toy, config.contract, vocab_size, values.place("target.toy"));
    if (vocab_size && *vocab_size != vocabulary.law.target->vocab_size())
      refuse(values.place("target.vocab"),
             fmt::format("'target.vocab' is {}, and {} has {} ids", *vocab_size, config.toy,
                         vocabulary.law.target->vocab_size()));
    vocabulary.tokens = {vocabulary.law.live, vocabulary.law.target.get()};
    if (vocabulary.law.live.empty())
      refuse(values.place("target.toy"), "'" + config.toy + "' emits no token");
  } else if (vocab_size) {
    vocabulary.tokens.emplace();
    for (int token = 0; token < *vocab_size; ++token) vocabulary.tokens->live.push_back(token);
  }
  return vocabulary;
}

void check_ids(const ConfigValues& values, const AuditConfig& config, const Vocabulary& vocabulary,
               const std::vector<NamedPrompt>& prompts) {
  if (vocabulary.law.target == nullptr) return;
  const int count = vocabulary.law.target->vocab_size();
  for (const NamedPrompt& prompt : prompts)
    for (const reference::Token id : prompt.ids)
      if (id >= count)
        refuse(values.place(values.is_typed("prompts.ids") ? "prompts.ids" : "prompts.file"),
               fmt::format("prompt '{}' has the id {}; {} has ids 0 to {}", prompt.name, id,
                           config.toy, count - 1));
}

}  // namespace

ConfigMatrix config_matrix(const ConfigValues& values, const AuditConfig& config) {
  const Vocabulary vocabulary = vocabulary_of(values, config);
  Breadth breadth = breadth_of(config.battery, vocabulary.tokens.has_value());
  if (const auto trials = values.integer("run.trials"))
    breadth.law_trials = static_cast<std::uint64_t>(*trials);
  const std::string place = values.place("sampling.temperature");
  const std::vector<Setting> settings =
      settings_of(lists_of(values, config, breadth, vocabulary.tokens), place);
  const std::vector<NamedPrompt> prompts =
      Prompts(values, config, breadth, vocabulary.tokens).take();
  check_ids(values, config, vocabulary, prompts);
  ConfigMatrix result;
  result.matrix.seed = config.seed;
  result.matrix.settings = settings;
  result.matrix.first_look =
      static_cast<std::uint64_t>(values.integer("run.first_look").value_or(32));
  if (settings.size() * prompts.size() > 1000000)
    refuse(place, "the matrix has more than a million cases; ask less at a time");
  for (std::size_t i = 0; i < settings.size(); ++i)
    for (const NamedPrompt& prompt : prompts)
      add_cases(settings[i], i, prompt, breadth, result.matrix);
  result.not_exercised = left_out(settings, prompts);
  if (vocabulary.law.target != nullptr) {
    result.vocab_size = vocabulary.law.target->vocab_size();
  } else if (const auto count = values.integer("target.vocab")) {
    result.vocab_size = static_cast<int>(*count);
  }
  return result;
}

}  // namespace draftproof::tools::audit
