// Methods that look things up: each engine's lookup over toys, with small sizes so that it fires on
// short texts, verified by the rule and under the coin addresses that the engine uses.
#include "reference/draft/expected.h"
#include "reference/draft/lookup/lookahead.h"
#include "reference/draft/lookup/ngram_cache.h"
#include "reference/draft/lookup/ngram_map.h"
#include "reference/draft/lookup/ngram_mod.h"
#include "reference/draft/lookup/ngram_pool.h"
#include "reference/draft/lookup/ngram_simple.h"
#include "reference/draft/lookup/prompt_lookup.h"
#include "reference/draft/lookup/suffix_match.h"
#include "reference/draft/lookup/suffix_speculation.h"
#include "reference/draft/lookup/token_trie.h"
#include "reference/draft/method.h"
#include "reference/draft/method_parts.h"
#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

/// Every node of a tree as the path to it.
std::vector<std::vector<Token>> paths_of(const law::DraftTree& tree) {
  std::vector<std::vector<Token>> paths;
  for (int node = 0; node < tree.size(); ++node) paths.push_back(tree.tokens_to(node));
  return paths;
}

/// What distinguishes one lookup from another.
struct LookupCase {
  std::string name;
  std::string statement;
  std::string citation;
  std::string rule;
  std::string coins;  ///< as the engine addresses them
  std::string state;
  std::string engines;
  TreeLookup lookup;
  Remembers remembers = Remembers::kNothing;
};

TreeLookup chain_lookup(ChainLookup lookup) {
  return [lookup = std::move(lookup)](const Question& question) {
    return chain_of(first_tokens(lookup(question), question.draft_count));
  };
}

/// The first iteration's draft does not depend on coins, so the expected length is a sum over its
/// paths.
Method method_of(const LookupCase& entry) {
  Method method;
  method.name = entry.name;
  method.statement = entry.statement;
  method.citation = entry.citation;
  method.reads = "tokens of the history";
  method.reported = "one-hot";
  method.rule = entry.rule;
  method.conditions = "any table, however stale, colliding or shared: it does not see the coins";
  method.provenance = {entry.state,  entry.engines,
                       "",           "a search on the CPU: no draft time to hide",
                       "not needed", "not needed"};
  method.toys = {"copying", "markov", "full-memory", "zeros", "two-tokens"};
  method.make = [entry](const model::Toy& toy) {
    law::Decoding decoding;
    decoding.target = toy.target;
    decoding.scorer = law::model_scorer(toy.target);
    decoding.drafter = lookup_drafter(entry.lookup, entry.remembers);
    decoding.rule = law::law_rule(entry.rule).make(law::checked(law::law_rule(entry.rule), {}));
    decoding.draft_count = kDraftCount;
    decoding.coins = law::coin_scheme(entry.coins);
    decoding.prompt = prompt_of(toy);
    return decoding;
  };
  method.expected_emitted = [lookup = entry.lookup](const model::Toy& toy) {
    const Context prompt = prompt_of(toy);
    const LookupEvents events = {{LookupEvent::Kind::kAsked, 0, 0, prompt}};
    return expected_on_paths(*toy.target, prompt, paths_of(lookup({events, kDraftCount})));
  };
  return method;
}

LookupCase ngram_vllm() {
  return {"ngram-vllm",
          "what followed the earliest occurrence of the longest suffix of 1 to 2 tokens",
          "vLLM ngram, vllm/v1/spec_decode/ngram_proposer.py @016e8ede; 2026-08",
          "chain",
          "position-keyed",
          "none: a function of the history, from which rejected drafts have to be kept out",
          "vLLM method \"ngram\", defaults prompt_lookup_min = max = 5 (2026-08)",
          chain_lookup([](const Question& question) {
            return suffix_match(question.history(), {1, 2, {}}, question.draft_count);
          })};
}

LookupCase prompt_lookup_case() {
  return {"prompt-lookup",
          "what followed the first occurrence of the last 2 tokens, or else of the last",
          "transformers PromptLookupCandidateGenerator 4.57.1; 2026-02; A. Saxena 2023",
          "match",
          "fresh",
          "none: a function of the history",
          "transformers prompt_lookup_num_tokens (2026-02), default n-gram 2, 10 tokens; OpenVINO "
          "GenAI prompt_lookup (2026.4)",
          chain_lookup([](const Question& question) {
            return prompt_lookup(question.history(), {}, question.draft_count);
          })};
}

LookupCase ngram_pool_case() {
  NgramPoolOptions options;
  options.draft_count_max = kDraftCount;
  return {
      "ngram-trtllm",
      "a pool of patterns of 1 to 2 tokens and what was first seen to follow them",
      "TensorRT-LLM NGRAM, _torch/speculative/ngram.py @02499765",
      "match",
      "fresh",
      "the pool, shared by all requests; grows only, never rolled back",
      "TensorRT-LLM NGramDecodingConfig, is_keep_all, is_use_oldest, is_public_pool @02499765",
      chain_lookup([options](const Question& question) { return ngram_pool(question, options); }),
      Remembers::kEveryone};
}

LookupCase ngram_simple_case() {
  return {"ngram-simple",
          "what followed the latest earlier occurrence of the last token, 2 tokens",
          "llama.cpp common/ngram-map.cpp, ngram-simple; 2026-04",
          "match",
          "position-keyed",
          "none: a function of the history",
          "llama.cpp --spec-type ngram-simple, size-n 12, size-m 48 (2026-04)",
          chain_lookup([](const Question& question) {
            return ngram_simple(question.history(), {1, 2});
          })};
}

LookupCase ngram_map_case(bool counts_values) {
  NgramMapOptions options;
  options.key_size = 1;
  options.value_size = 1;
  options.counts_values = counts_values;
  return {
      counts_values ? "ngram-map-k4v" : "ngram-map-k",
      counts_values
          ? "a hash of the last token to a position, if one of up to 4 continuations prevails"
          : "a hash of the last token to the position where it was first entered",
      "llama.cpp common/ngram-map.cpp @6870ab7e; build 11434 (2026)",
      "match",
      "position-keyed",
      "hash table, keys with counts and last accepted length; grows only",
      counts_values ? "llama.cpp --spec-type ngram-map-k4v (2026-04)"
                    : "llama.cpp --spec-type ngram-map-k (2026-04)",
      chain_lookup([options](const Question& question) { return ngram_map(question, options); }),
      Remembers::kOwn};
}

LookupCase ngram_mod_case() {
  NgramModOptions options;
  options.key_size = 1;
  options.draft_min = 1;
  options.draft_max = kDraftCount;
  options.table_size = 2;  // so that keys collide
  options.learned_at_once = 0;
  options.occupied_max = 1;
  return {
      "ngram-mod",
      "a table of 2 slots from the hash of the last token to one next token, last write wins",
      "llama.cpp common/ngram-mod.cpp, speculative.cpp, build 11434 (2026)",
      "match",
      "position-keyed",
      "the table, shared by all requests, and a count of poor rounds; never rolled back",
      "llama.cpp --spec-type ngram-mod, n-match 24, n-min 48, n-max 64 (build 11434)",
      chain_lookup([options](const Question& question) { return ngram_mod(question, options); }),
      Remembers::kEveryone};
}

LookupCase ngram_cache_case() {
  NgramCacheOptions options;
  options.size_max = 2;
  return {
      "ngram-cache",
      "counts of what follows 1 to 2 tokens, drafted where frequent enough",
      "llama.cpp common/ngram-cache.cpp @5c5f166e; build 11434 (2026)",
      "match",
      "position-keyed",
      "the context cache and how much of the history it has counted; grows only",
      "llama.cpp --spec-type ngram-cache, lax 2,2,1,1 / 66,50,50,50 (2026-04)",
      chain_lookup([options](const Question& question) { return ngram_cache(question, options); }),
      Remembers::kOwn};
}

LookupCase token_trie_case() {
  TokenTrieOptions options;
  options.depth_max = 4;
  options.breadth_max = 2;
  options.node_count = 3;
  return {"ngram-sglang",
          "a trie of what all requests emitted, the longest matches continued into 3 nodes",
          "SGLang cpp_ngram/trie.cpp @0d1d60f5, ngram_worker.py @0037c142",
          "target-only",
          "fresh",
          "the trie, shared by all requests, evicted by last use; never rolled back",
          "SGLang --speculative-algorithm NGRAM, BFS 1..10 or PROB, capacity 1e7 (2026-07)",
          [options](const Question& question) {
            return token_trie(question, options, {{0, 1, 0, 1, 1, 0, 1, 0}});
          },
          Remembers::kEveryone};
}

LookupCase suffix_case() {
  return {"suffix",
          "the most frequent continuation in a suffix tree, scored by its relative frequencies",
          "Oliaro et al., NeurIPS 2025; ArcticInference @9d464388 (2026-06-29)",
          "chain",
          "position-keyed",
          "suffix trees of the request and of all outputs; only emitted tokens are added",
          "vLLM method \"suffix\": depth 24, factor 1, min_token_prob .1 (2026-08); "
          "ArcticInference (2026-06)",
          chain_lookup([](const Question& question) { return suffix_speculation(question, {}); }),
          Remembers::kEveryone};
}

constexpr LookaheadOptions kLookahead = {3, 2, 2, true};

/// No bonus follows a whole guess, so only shorter paths add to the length.
Method lookahead_method() {
  LookupCase entry;
  entry.name = "lookahead";
  entry.statement = "n-grams of 3 from a window of 2 trajectories that the target itself advances";
  entry.citation = "Fu et al., ICML 2024; lade/decoding.py @0e9f02d4 (2025-03)";
  entry.rule = "lookahead";
  entry.coins = "fresh";
  entry.state = "the window and the pool, least recently seen out first; guesses' K/V is dropped";
  entry.engines =
      "LookaheadDecoding (2025-03); TensorRT-LLM lookahead, llama.cpp example: date not "
      "known";
  entry.lookup = [](const Question&) { return law::DraftTree{}; };
  Method method = method_of(entry);
  method.reads = "tokens of the history; the target's argmax behind guessed tokens";
  method.conditions = "any guesses of one length: the window is advanced by argmax, not by coins";
  method.provenance.cost_model = "one target pass over (levels - 1) x (window + guesses) tokens";
  method.make = [base = method.make](const model::Toy& toy) {
    law::Decoding decoding = base(toy);
    decoding.drafter = lookahead_drafter(toy.target, kLookahead);
    return decoding;
  };
  method.expected_emitted = [](const model::Toy& toy) {
    const Context prompt = prompt_of(toy);
    const auto guesses = initial_state(*toy.target, prompt, kLookahead).pool[prompt.back()];
    std::vector<std::vector<Token>> paths;
    for (const Guess& guess : guesses)
      for (std::size_t length = 1; length < guess.size(); ++length)
        paths.emplace_back(guess.begin(), guess.begin() + static_cast<std::ptrdiff_t>(length));
    return expected_on_paths(*toy.target, prompt, paths);
  };
  return method;
}

}  // namespace

Context prompt_of(const model::Toy& toy) {
  if (toy.target->vocab_size() < 2)
    throw Error(ErrorKind::kInput,
                "the prompt of this method has 2 tokens; take a toy that has too");
  return toy.prompt.empty() ? Context{0, 1, 0, 1, 1, 0, 1, 0} : toy.prompt;
}

std::vector<Method> lookup_methods() {
  std::vector<Method> list;
  for (const LookupCase& entry :
       {ngram_vllm(), prompt_lookup_case(), ngram_pool_case(), ngram_simple_case(),
        ngram_map_case(false), ngram_map_case(true), ngram_mod_case(), ngram_cache_case(),
        token_trie_case(), suffix_case()})
    list.push_back(method_of(entry));
  list.push_back(lookahead_method());
  return list;
}

}  // namespace draftproof::reference::draft
