#include "tools/serve/served_toy.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "reference/decode/draft_source.h"
#include "reference/error.h"
#include "reference/model/toys.h"
#include "reference/verify/verifiers.h"
#include "tools/engines/engine_bug.h"

namespace draftproof::tools::serve {
namespace {

namespace decode = reference::decode;
namespace model = reference::model;

constexpr std::size_t kRowsKept = 1 << 14;

/// Toys are shared by all servers of a process and keep their rows, so one server at a time asks.
class SharedModel : public decode::LanguageModel {
 public:
  explicit SharedModel(decode::LanguageModelPtr inner) : inner_(std::move(inner)) {}
  int vocab_size() const override { return inner_->vocab_size(); }
  bool is_recurrent() const override { return inner_->is_recurrent(); }
  void logits(const decode::Seen& seen, reference::Row& row) const override {
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    inner_->logits(seen, row);
  }

 private:
  decode::LanguageModelPtr inner_;
};

ServedModels hashed_models(int vocab_size) {
  decode::HashedModel target;
  target.vocab_size = vocab_size;
  target.seed = 7;
  decode::HashedModel draft = target;
  draft.seed = 11;
  draft.shared_parts = 12;
  draft.shared_seed = target.seed;
  return {decode::hashed_model(target), decode::hashed_model(draft)};
}

decode::DraftSourcePtr drafts_of(const ToySettings& settings, const ServedModels& models) {
  if (settings.drafts == "model") return decode::model_source(models.draft);
  if (settings.drafts == "greedy") return decode::greedy_model_source(models.draft);
  if (settings.drafts == "lookup") return decode::lookup_source(2);
  if (settings.drafts == "tree") {
    const int width = std::min(2, models.draft->vocab_size());
    return decode::tree_source(models.draft, {width, width, 1});
  }
  throw Error(ErrorKind::kInput,
              "there is no " + settings.drafts + "; known: model, greedy, lookup, tree",
              "--drafts");
}

model::Spelling spelling_of(const ToySettings& settings, int vocab_size) {
  const auto count = static_cast<std::size_t>(vocab_size);
  if (settings.eos && (*settings.eos < 0 || *settings.eos >= vocab_size))
    throw Error(ErrorKind::kInput,
                fmt::format("is {}; the model has ids 0 to {}", *settings.eos, vocab_size - 1),
                "--eos");
  std::vector<Token> special;
  if (settings.eos) special.push_back(*settings.eos);
  if (settings.spelling == "letters") return model::letters_spelling(count, special);
  if (settings.spelling != "json")
    throw Error(ErrorKind::kInput, "there is no " + settings.spelling + "; known: letters, json",
                "--spelling");
  try {
    return model::json_spelling(count, special);
  } catch (const Error& error) {
    throw Error(ErrorKind::kInput, std::string(error.what()) + "; take --toy hashed --vocab 64",
                "--spelling");
  }
}

/// The engine's hand-overs, or its cache, with the fault of this name.
void plant(const std::string& bug, HostOptions& host) {
  const fixtures::StateFault& fault = engine_bug(bug);
  if (fault.steps) host.steps = fault.steps();
  host.make_cache = fault.caches;
}

std::string rule_of(const ToySettings& settings) {
  const bool is_tree = settings.drafts == "tree";
  const std::string rule = !settings.rule.empty() ? settings.rule : is_tree ? "match" : "chain";
  try {
    static_cast<void>(reference::verify::make_verifier(rule));
  } catch (const Error& error) {
    throw Error(ErrorKind::kInput, error.message(), "--rule");
  }
  if (is_tree && (rule == "chain" || rule == "greedy" || rule == "block"))
    throw Error(ErrorKind::kInput, rule + " is a rule for chains; leave it out, or take match",
                "--rule");
  return rule;
}

void check_range(int value, int low, int high, const char* option) {
  if (value < low || value > high)
    throw Error(ErrorKind::kInput, fmt::format("is {}; it must be in [{}, {}]", value, low, high),
                option);
}

void check(const ToySettings& settings) {
  check_range(settings.draft_length, 1, 64, "--draft-length");
  check_range(settings.context_max, 2, 1 << 14, "--context");
  check_range(settings.request_max, 1, 1024, "--requests");
  check_range(settings.page_size, 1, 256, "--page-size");
  check_range(settings.vocab_size.value_or(8), 2, 4096, "--vocab");
}

}  // namespace

std::vector<std::string> served_toy_names() {
  std::vector<std::string> names = {"hashed"};
  for (const model::Toy& toy : model::toys()) names.push_back(toy.name);
  return names;
}

ServedModels served_models(const std::string& toy_name, std::optional<int> vocab_size) {
  const auto names = served_toy_names();
  if (std::find(names.begin(), names.end(), toy_name) == names.end())
    throw Error(ErrorKind::kInput,
                fmt::format("there is no {}; known: {}", toy_name, fmt::join(names, ", ")),
                "--toy");
  if (toy_name == "hashed") return hashed_models(vocab_size.value_or(8));
  if (vocab_size)
    throw Error(ErrorKind::kInput, "is for --toy hashed; other toys have their own", "--vocab");
  const model::Toy& toy = model::toy(toy_name);
  const auto shared = [](const model::ToyModelPtr& rows) {
    return std::make_shared<SharedModel>(decode::toy_language_model(rows, kRowsKept));
  };
  return {shared(toy.target), shared(toy.draft)};
}

ServiceOptions served_toy(const ToySettings& settings) {
  check(settings);
  const ServedModels models = served_models(settings.toy, settings.vocab_size);
  const decode::DraftSourcePtr drafts = drafts_of(settings, models);
  ServiceOptions options{
      .http = {},
      .dialect = dialect(settings.dialect),
      .host = {.config = {}, .spelling = spelling_of(settings, models.target->vocab_size())},
      .model = "toy-" + settings.toy,
      .eos = settings.eos};
  decode::EngineConfig& config = options.host.config;
  config.target = models.target;
  config.rule = rule_of(settings);
  config.draft_count = settings.is_speculative ? settings.draft_length : 0;
  if (settings.is_speculative) {
    config.drafts = drafts;
    options.draft_method = settings.drafts == "lookup" ? "ngram" : "draft_model";
  }
  config.context_max = settings.context_max;
  config.request_max = settings.request_max;
  config.is_asynchronous = settings.is_asynchronous;
  config.seed = settings.seed;
  // Room for every request at its longest, with its draft.
  const int slots = settings.context_max + settings.draft_length + 1;
  const int pages =
      settings.request_max * ((slots + settings.page_size - 1) / settings.page_size + 1);
  config.target_cache.page_size = config.draft_cache.page_size = settings.page_size;
  config.target_cache.page_count = config.draft_cache.page_count = pages;
  options.host.unfinished_max = settings.unfinished_max;
  if (!settings.bug.empty()) plant(settings.bug, options.host);
  decode::validate(config);
  return options;
}

}  // namespace draftproof::tools::serve
