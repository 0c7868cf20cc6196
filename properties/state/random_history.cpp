// Random worlds and histories (random_history.h).
#include "properties/state/random_history.h"

#include <algorithm>
#include <array>

#include "reference/model/grammar.h"

namespace draftproof::properties::state {

namespace decode = reference::decode;
using reference::Token;

namespace {

class Choices {
 public:
  explicit Choices(std::span<const std::uint32_t> numbers) : numbers_(numbers) {}
  /// In [0, count).
  int pick(int count) {
    if (next_ >= numbers_.size()) return 0;
    return static_cast<int>(numbers_[next_++] % static_cast<std::uint32_t>(count));
  }
  template <typename Value, std::size_t count>
  Value of(const std::array<Value, count>& values) {
    return values[static_cast<std::size_t>(pick(static_cast<int>(count)))];
  }
  /// One time in `count`.
  bool is_one_in(int count) { return pick(count) == count - 1; }

 private:
  std::span<const std::uint32_t> numbers_;
  std::size_t next_ = 0;
};

constexpr int kVocabSize = 6;

void choose_drafts(World& world, Choices& choices) {
  decode::EngineConfig& config = world.config;
  const auto model = decode::hashed_model(
      {.vocab_size = kVocabSize, .seed = 7, .order = 3, .shared_parts = 12, .shared_seed = 5});
  config.draft_count = choices.of(std::array{3, 1, 2, 0, 5});
  config.drafts = decode::lookup_source(1);
  switch (choices.pick(10)) {
    case 1:
      config.drafts = decode::greedy_model_source(model);
      break;
    case 2:
      config.rule = "match";
      break;
    case 3:
      config.rule = "match";
      config.drafts = decode::greedy_model_source(model);
      world.parents = {-1, -1, 0, 0, 1};
      break;
    case 4:
      config.rule = "tree-greedy";
      config.drafts = decode::greedy_model_source(model);
      world.parents = {-1, 0, 0, -1, 2};
      break;
    case 5:
      world.is_scripted = false;
      break;
    case 6:
      world.is_scripted = false;
      config.drafts = decode::model_source(model);
      break;
    case 7:
      world.is_scripted = false;
      config.rule = "block";
      config.drafts = decode::model_source(model);
      break;
    case 8:
      world.is_scripted = false;
      config.rule = choices.of(std::array<const char*, 3>{"target-only", "match", "tree-greedy"});
      config.drafts = decode::tree_source(model, {2, 1});
      break;
    case 9:
      world.is_scripted = false;
      config.rule = choices.of(std::array<const char*, 2>{"without-replacement", "traversal"});
      config.drafts = decode::sampled_tree_source(model, {2, 1});
      break;
    default:
      break;
  }
}

void choose_engine(World& world, Choices& choices) {
  decode::EngineConfig& config = world.config;
  const bool is_recurrent = choices.is_one_in(5);
  config.target =
      decode::hashed_model({.vocab_size = kVocabSize, .seed = 5, .is_recurrent = is_recurrent});
  config.recurrent_rollback = choices.is_one_in(2)
                                  ? reference::kv::RecurrentRollback::kReplayAccepted
                                  : reference::kv::RecurrentRollback::kSelect;
  choose_drafts(world, choices);
  config.target_cache.page_size = choices.of(std::array{2, 1, 4, 3, 8});
  config.draft_cache.page_size = choices.of(std::array{2, 4, 1, 3});
  config.target_cache.window = choices.of(std::array{0, 0, 0, 3, 5});
  config.draft_cache.window = choices.of(std::array{0, 0, 0, 4});
  config.target_cache.is_quantised = choices.is_one_in(4);
  config.draft_cache.is_quantised = choices.is_one_in(4);
  config.target_cache.keeps_prefixes = !choices.is_one_in(6);
  config.is_asynchronous = choices.is_one_in(3);
  config.offloads = choices.is_one_in(4);
  config.chunk_tokens = choices.of(std::array{64, 2, 3, 1});
  if (choices.is_one_in(4)) config.graph_sizes = {2, 5, 9};
  config.request_max = choices.of(std::array{64, 64, 2, 1});
  config.context_max = choices.of(std::array{32, 32, 14, 10});
  if (choices.is_one_in(4)) config.budget.draft_tokens = 4;
  if (choices.is_one_in(4)) config.budget.verify_rows = 6;
  if (choices.is_one_in(4)) config.budget.temporary_pages = 2;
  if (choices.is_one_in(4)) config.budget.rollback_cells = 3;
  if (choices.is_one_in(6)) config.budget.workspace_floats = 4 * kVocabSize;
  if (choices.is_one_in(6)) config.budget.speculative_requests = 1;
  if (choices.is_one_in(5)) config.gates.accepted_min = 1;
  if (choices.is_one_in(6)) config.gates.free_blocks_min = 3;
  if (choices.is_one_in(6)) config.gates.running_max = 1;
  if (choices.is_one_in(6)) config.draft_load_steps = 3;
  config.adapter_count = 2;
  if (choices.is_one_in(6)) config.adapters_without_drafts = {1};
}

decode::RequestSpec choose_request(const World& world, Choices& choices) {
  decode::RequestSpec spec;
  spec.prompt = {1, 2};
  for (int more = choices.of(std::array{0, 0, 2, 4}); more > 0; --more)
    spec.prompt.push_back(static_cast<Token>(more % kVocabSize));
  if (choices.is_one_in(4)) spec.prompt.front() = 3;
  spec.max_tokens = choices.of(std::array{6, 1, 2, 3, 4, 9, 16});
  const bool is_by_target = world.is_scripted && world.config.rule != "match";
  spec.sampling.temperature = is_by_target ? 0 : choices.of(std::array<double, 3>{1, 0, 0.6});
  if (choices.is_one_in(4)) spec.sampling.top_k = 3;
  if (choices.is_one_in(4)) spec.sampling.top_p = 0.8;
  if (choices.is_one_in(3)) spec.seed = 17;
  if (choices.is_one_in(3)) spec.eos = 4;
  if (choices.is_one_in(4)) spec.stops = {{2, 3}, {5}};
  if (spec.eos && choices.is_one_in(3)) spec.adjustments.min_tokens = 3;
  if (choices.is_one_in(4))
    spec.adjustments.penalties = {
        .repetition = 1.3, .frequency = 0.4, .presence = 0.2, .last_n = std::nullopt};
  if (choices.is_one_in(5)) spec.adjustments.bad_words = {{1, 0}, {2, 2, 5}};
  if (choices.is_one_in(5)) {
    const int no = reference::model::Grammar::kRefused;
    spec.grammar = std::make_shared<const reference::model::Grammar>(
        std::vector<std::vector<int>>{{1, no, 1, no, 1, 0}, {no, 0, no, 0, 1, 0}});
    if (choices.is_one_in(2)) spec.grammar_behind = 3;
  }
  if (choices.is_one_in(5)) spec.adapter = 1;
  if (choices.is_one_in(6)) spec.is_speculative = false;
  spec.logprob_count = choices.of(std::array{-1, 0, 2});
  return spec;
}

/// Pages for the largest request and `spare` more.
int page_count(const World& world, int page_size, int spare) {
  int most = 0;
  for (const decode::RequestSpec& spec : world.requests)
    most = std::max(most, std::min(world.config.context_max,
                                   static_cast<int>(spec.prompt.size()) + spec.max_tokens));
  return (most + page_size - 1) / page_size + spare;
}

}  // namespace

World world_of(std::span<const std::uint32_t> numbers) {
  Choices choices(numbers);
  World world;
  world.name = "random";
  world.requests.resize(static_cast<std::size_t>(1 + choices.pick(3)));
  choose_engine(world, choices);
  decode::EngineConfig& config = world.config;
  const int spare = choices.of(std::array{40, 0, 1, 2, 4});
  for (decode::RequestSpec& spec : world.requests) spec = choose_request(world, choices);
  config.target_cache.page_count = page_count(world, config.target_cache.page_size, spare);
  config.draft_cache.page_count = page_count(world, config.draft_cache.page_size, spare);
  return world;
}

StateHistory history_of(const World& world, std::span<const std::uint32_t> numbers) {
  static constexpr std::array kKinds = {
      ActionKind::kDraft,  ActionKind::kVerify, ActionKind::kCommit,  ActionKind::kSubmit,
      ActionKind::kDraft,  ActionKind::kVerify, ActionKind::kCommit,  ActionKind::kDraft,
      ActionKind::kVerify, ActionKind::kCommit, ActionKind::kPreempt, ActionKind::kSubmit,
      ActionKind::kEvict,  ActionKind::kDraft,  ActionKind::kCommit,  ActionKind::kCancel};
  const auto request_count = static_cast<std::uint32_t>(world.requests.size());
  const auto places =
      static_cast<std::uint32_t>(std::max<std::size_t>(world.parents.size(), 5)) + 1;
  StateHistory history;
  if (!numbers.empty()) history.push_back({ActionKind::kSubmit, 0});
  for (std::uint32_t number : numbers) {
    const auto take = [&](std::uint32_t count) {
      const std::uint32_t taken = number % count;
      number /= count;
      return static_cast<int>(taken);
    };
    Action action{kKinds[static_cast<std::size_t>(take(kKinds.size()))]};
    // A cancelled request never comes back, so few are.
    if (action.kind == ActionKind::kCancel && take(4) != 0) action.kind = ActionKind::kVerify;
    if (action.kind == ActionKind::kDraft) {
      for (std::uint32_t request = 0; request < request_count; ++request) {
        const int count = take(places);
        action.plans.push_back({count, take(static_cast<std::uint32_t>(count) + 1)});
      }
    } else {
      action.request = take(request_count);
    }
    history.push_back(std::move(action));
  }
  return history;
}

std::string words(const World& world) {
  const decode::EngineConfig& config = world.config;
  std::string text = "rule " + config.rule + ", drafts of " + std::to_string(config.draft_count) +
                     (world.is_scripted ? " scripted" : " by " + config.drafts->name()) +
                     (config.drafts->model() ? " with a cache" : " without a cache");
  const auto add = [&](bool is_said, const std::string& more) {
    if (is_said) text += ", " + more;
  };
  const auto cache = [&](const reference::kv::CacheConfig& of, const std::string& name) {
    text += ", " + name + " " + std::to_string(of.page_count) + " pages of " +
            std::to_string(of.page_size);
    add(of.window > 0, "window " + std::to_string(of.window));
    add(of.is_quantised, "quantised");
    add(!of.keeps_prefixes, "no prefixes");
  };
  cache(config.target_cache, "target");
  if (config.drafts->model()) cache(config.draft_cache, "draft");
  add(config.target->is_recurrent(), "recurrent");
  add(config.is_asynchronous, "asynchronous");
  add(config.offloads, "offloads");
  add(config.chunk_tokens < 64, "chunks of " + std::to_string(config.chunk_tokens));
  add(config.request_max < 64, "at most " + std::to_string(config.request_max) + " run");
  add(config.context_max < 32, "context " + std::to_string(config.context_max));
  add(!(config.budget == decode::Budget{}), "a small budget");
  add(config.gates.accepted_min > 0 || config.gates.free_blocks_min > 0 ||
          config.gates.running_max == 1 || config.draft_load_steps,
      "gates");
  for (const decode::RequestSpec& spec : world.requests) {
    text += "; a prompt of " + std::to_string(spec.prompt.size()) + " for " +
            std::to_string(spec.max_tokens);
    add(spec.sampling.temperature > 0, "drawn");
    add(spec.eos.has_value(), "end token");
    add(!spec.stops.empty(), "stops");
    add(!(spec.adjustments == reference::Adjustments{}), "adjusted");
    add(spec.grammar != nullptr, "grammar");
    add(spec.adapter > 0, "adapter");
  }
  return text;
}

}  // namespace draftproof::properties::state
