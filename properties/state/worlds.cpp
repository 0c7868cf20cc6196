// The catalogue of worlds (worlds.h). Sizes are the smallest that let the part in question go
// wrong: pages that a draft crosses, pools that two requests do not fit into, ends inside a draft.
#include "properties/state/worlds.h"

#include <string>

#include "properties/state/scripted_drafts.h"
#include "reference/error.h"
#include "reference/model/grammar.h"

namespace draftproof::properties::state {

namespace decode = reference::decode;
using reference::Token;

namespace {

constexpr int kVocabSize = 6;

decode::LanguageModelPtr target_model(bool is_recurrent = false) {
  return decode::hashed_model({.vocab_size = kVocabSize, .seed = 5, .is_recurrent = is_recurrent});
}

/// Says that there is a draft model; which one does not matter to scripted drafts.
decode::DraftSourcePtr with_draft_cache() {
  return decode::greedy_model_source(decode::hashed_model({.vocab_size = kVocabSize, .seed = 7}));
}

decode::RequestSpec request(std::vector<Token> prompt, int max_tokens) {
  decode::RequestSpec spec;
  spec.prompt = std::move(prompt);
  spec.sampling.temperature = 0;
  spec.max_tokens = max_tokens;
  return spec;
}

/// One request, pages of `page_size`, drafts of 3 without a cache of their own.
World plain(std::string name, std::string statement, int page_size, int max_tokens) {
  World world;
  world.name = std::move(name);
  world.statement = std::move(statement);
  world.config.target = target_model();
  world.config.drafts = decode::lookup_source(1);
  world.config.draft_count = 3;
  world.config.target_cache = {.page_size = page_size, .page_count = 16};
  world.config.draft_cache = {.page_size = page_size, .page_count = 16};
  world.config.context_max = 24;
  world.requests = {request({1, 2}, max_tokens)};
  world.has_evictions = false;
  return world;
}

World with_draft_pages(World world, int page_size) {
  world.config.drafts = with_draft_cache();
  world.config.draft_cache.page_size = page_size;
  return world;
}

/// A second request with its own prompt.
World of_two(World world, std::vector<Token> prompt, int max_tokens) {
  world.requests.push_back(request(std::move(prompt), max_tokens));
  world.config.draft_count = 2;
  return world;
}

void add_pages(std::vector<World>& list, int more) {
  const auto named = [](const char* name) { return std::string(name); };
  list.push_back(plain(named("pages-1"), "pages of one slot, drafts without a cache", 1, 7 + more));
  list.push_back(plain(named("pages-2"), "pages of two slots", 2, 7 + more));
  list.push_back(plain(named("pages-4"), "pages of four slots", 4, 9 + more));
  list.push_back(with_draft_pages(
      plain("pages-1-draft-2", "pages of one slot, of the draft's cache of two", 1, 6 + more), 2));
  list.push_back(with_draft_pages(
      plain("pages-2-draft-4", "pages of two slots, of the draft's cache of four", 2, 6 + more),
      4));
  list.push_back(with_draft_pages(
      plain("pages-4-draft-1", "pages of four slots, of the draft's cache of one", 4, 6 + more),
      1));
  World evictions = with_draft_pages(
      plain("evictions", "cached prefixes are given up at any time", 2, 4 + more), 2);
  evictions.has_evictions = true;
  list.push_back(std::move(evictions));
  World window =
      with_draft_pages(plain("window", "the last three tokens are visible", 2, 6 + more), 2);
  window.config.target_cache.window = 3;
  window.config.draft_cache.window = 4;
  list.push_back(std::move(window));
  World quantised =
      with_draft_pages(plain("quantised", "16 bits of a history a cell", 2, 6 + more), 2);
  quantised.config.target_cache.is_quantised = true;
  quantised.config.draft_cache.is_quantised = true;
  list.push_back(std::move(quantised));
  World chunks =
      with_draft_pages(plain("chunks", "a prompt of five tokens in chunks of two", 2, 4 + more), 2);
  chunks.requests.front().prompt = {1, 2, 3, 4, 0};
  chunks.config.chunk_tokens = 2;
  list.push_back(std::move(chunks));
  World graphs = plain("graphs", "rows are padded to graphs of 3 and 6", 2, 5 + more);
  graphs.config.graph_sizes = {3, 6};
  list.push_back(std::move(graphs));
}

void add_recurrent(std::vector<World>& list, int more) {
  for (const bool replays : {false, true}) {
    World world = with_draft_pages(plain(replays ? "recurrent-replay" : "recurrent-select",
                                         replays ? "recurrent state, accepted tokens are fed again"
                                                 : "recurrent state, the accepted one is selected",
                                         2, 6 + more),
                                   2);
    world.config.target = target_model(true);
    world.config.recurrent_rollback = replays ? reference::kv::RecurrentRollback::kReplayAccepted
                                              : reference::kv::RecurrentRollback::kSelect;
    list.push_back(std::move(world));
  }
}

void add_trees(std::vector<World>& list, int more) {
  for (const bool matches : {false, true}) {
    World world = with_draft_pages(
        plain(matches ? "tree-match" : "tree-greedy",
              matches ? "trees of five nodes, drawn and matched" : "trees of five nodes, greedy", 2,
              6 + more),
        2);
    world.config.rule = matches ? "match" : "tree-greedy";
    world.config.draft_count = 5;
    world.parents = {-1, -1, 0, 0, 1};
    if (matches) world.requests.front().sampling.temperature = 1;
    world.requests.front().seed = 11;
    list.push_back(std::move(world));
  }
  World chain = plain("match", "a chain, drawn and matched", 2, 7 + more);
  chain.config.rule = "match";
  chain.requests.front().sampling = {.temperature = 0.8, .top_k = 4, .top_p = 0.9, .min_p = 0};
  chain.requests.front().seed = 3;
  list.push_back(std::move(chain));
}

void add_ends(std::vector<World>& list, int more) {
  World eos = with_draft_pages(plain("eos", "the end token is the fourth", 2, 7 + more), 2);
  const std::vector<Token> output = serial_output(eos, 0, 1, 8);
  eos.requests.front().eos = output[3];
  list.push_back(std::move(eos));
  World stop =
      with_draft_pages(plain("stop", "a stop of two tokens behind the fourth", 2, 9 + more), 2);
  stop.requests.front().stops = {{output[4], output[3]}, {output[3], output[4]}};
  list.push_back(std::move(stop));
  for (int max_tokens = 1; max_tokens <= 5; ++max_tokens)
    list.push_back(with_draft_pages(
        plain("max-tokens-" + std::to_string(max_tokens),
              "drafts of three, and " + std::to_string(max_tokens) + " tokens wanted", 2,
              max_tokens),
        2));
  World context = with_draft_pages(plain("context", "the context ends inside a draft", 2, 16), 2);
  context.config.context_max = 7;
  list.push_back(std::move(context));
}

void add_adjustments(std::vector<World>& list, int more) {
  World minimum = plain("min-tokens", "the end token is likely, and barred for three", 2, 5 + more);
  const std::vector<Token> output = serial_output(minimum, 0, 1, 2);
  minimum.requests.front().eos = output[1];
  minimum.requests.front().adjustments.min_tokens = 3;
  list.push_back(std::move(minimum));
  World penalties = plain("penalties", "what was emitted becomes unlikely", 2, 6 + more);
  penalties.requests.front().adjustments.penalties = {
      .repetition = 1.5, .frequency = 0.5, .presence = 0.5, .last_n = std::nullopt};
  penalties.requests.front().adjustments.bad_words = {{3, 2}, {1, 4}};
  penalties.requests.front().logprob_count = 2;
  list.push_back(std::move(penalties));
  World grammar = plain("grammar", "even tokens and odd ones by turns behind a 3", 2, 6 + more);
  const int no = reference::model::Grammar::kRefused;
  grammar.requests.front().grammar = std::make_shared<const reference::model::Grammar>(
      std::vector<std::vector<int>>{{1, no, 1, no, 1, no}, {no, 0, no, 0, no, 0}});
  grammar.requests.front().grammar_behind = serial_output(grammar, 0, 1, 2)[1];
  list.push_back(std::move(grammar));
}

void add_asynchronous(std::vector<World>& list, int more) {
  World one = with_draft_pages(
      plain("asynchronous", "a frame is committed behind the launch of the next", 2, 5 + more), 2);
  one.config.is_asynchronous = true;
  one.config.draft_count = 2;
  list.push_back(one);
  World eos = one;
  eos.name = "asynchronous-eos";
  eos.statement = "the end token is in a frame behind which another was launched";
  eos.requests.front().eos = serial_output(eos, 0, 1, 4)[2];
  list.push_back(std::move(eos));
  World offload = one;
  offload.name = "asynchronous-offload";
  offload.statement = "preempted requests keep their cells in host memory";
  offload.config.offloads = true;
  list.push_back(std::move(offload));
  World two = of_two(one, {3}, 2);
  two.name = "asynchronous-two";
  two.statement = "two requests, one or two frames in flight";
  two.requests.front().max_tokens = 3;
  two.config.draft_count = more == 0 ? 1 : 2;
  two.has_cancels = false;
  list.push_back(std::move(two));
}

void add_two(std::vector<World>& list, int more) {
  World ragged = of_two(plain("two-ragged", "two requests, other drafts in one frame", 2, 3 + more),
                        {3, 4, 5}, 3 + more);
  ragged.has_cancels = false;
  list.push_back(std::move(ragged));
  World hits = with_draft_pages(
      of_two(plain("prefix-equal", "a second request with the prompt of the first", 2, 2 + more),
             {1, 2, 3, 4}, 2 + more),
      2);
  hits.requests.front().prompt = {1, 2, 3, 4};
  hits.has_evictions = true;
  hits.has_cancels = false;
  list.push_back(std::move(hits));
  World behind = of_two(
      plain("prefix-output", "a second request that goes on where the first is", 2, 4 + more),
      {1, 2}, 2);
  for (const Token token : serial_output(behind, 0, 1, 3))
    behind.requests.back().prompt.push_back(token);
  list.push_back(std::move(behind));
  // The first request's draft may have to go for the second one's pages, or the second one itself.
  World small = with_draft_pages(
      of_two(plain("small-pool", "pages for one and a half of two requests", 2, 9 + more),
             {3, 4, 5}, 2),
      1);
  small.config.draft_count = 3;
  small.config.target_cache.page_count = 6 + (more + 1) / 2;
  small.config.draft_cache.page_count = 12 + more;
  small.has_preemptions = small.has_cancels = false;
  list.push_back(std::move(small));
  World tight = of_two(plain("small-budget", "budgets that one draft of two exhausts", 2, 3 + more),
                       {3, 4}, 2 + more);
  tight.config.budget.draft_tokens = 3;
  tight.config.budget.verify_rows = 5;
  list.push_back(std::move(tight));
  World sampling =
      of_two(plain("two-seeds", "two requests of other sampling, drawn and matched", 2, 3 + more),
             {1, 2}, 2 + more);
  sampling.config.rule = "match";
  for (decode::RequestSpec& spec : sampling.requests) spec.sampling.temperature = 1.2;
  sampling.requests.back().sampling = {.temperature = 0.7, .top_k = 3, .top_p = 1, .min_p = 0};
  sampling.requests.front().seed = 5;
  sampling.requests.back().seed = 6;
  list.push_back(std::move(sampling));
}

}  // namespace

std::vector<World> worlds(WorldSize size) {
  const int more = size == WorldSize::kSmall ? 0 : 2;
  std::vector<World> list;
  add_pages(list, more);
  add_recurrent(list, more);
  add_trees(list, more);
  add_ends(list, more);
  add_adjustments(list, more);
  add_asynchronous(list, more);
  add_two(list, more);
  return list;
}

World world(std::string_view name, WorldSize size) {
  std::string known;
  for (World& world : worlds(size)) {
    if (world.name == name) return std::move(world);
    known += (known.empty() ? "" : ", ") + world.name;
  }
  throw Error(ErrorKind::kInput,
              "there is no world '" + std::string(name) + "'; there are " + known, "world");
}

std::vector<Token> serial_output(const World& world, int number, decode::RequestId id, int count) {
  DRAFTPROOF_CHECK(world.is_scripted, world.name);
  const ScriptedDrafts script(world);
  std::vector<Token> tokens = world.requests.at(static_cast<std::size_t>(number)).prompt;
  const auto prompt_count = static_cast<std::ptrdiff_t>(tokens.size());
  for (int i = 0; i < count; ++i) tokens.push_back(script.serial_next(number, id, tokens));
  return {tokens.begin() + prompt_count, tokens.end()};
}

}  // namespace draftproof::properties::state
