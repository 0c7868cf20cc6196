// What an engine and a request may ask for.
#include "reference/decode/engine_config.h"

#include <algorithm>
#include <string>

#include "reference/error.h"
#include "reference/verify/verifiers.h"

namespace draftproof::reference::decode {
namespace {

void require(bool is_good, const std::string& place, const std::string& message) {
  if (!is_good) throw Error(ErrorKind::kInput, message, place);
}

void require_at_least(int value, int least, const std::string& place) {
  require(value >= least, place,
          "is " + std::to_string(value) + ", must be " + std::to_string(least) + " or more");
}

void require_tokens(const std::vector<Token>& tokens, int vocab_size, const std::string& place) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    require(tokens[i] >= 0 && tokens[i] < vocab_size, place + "[" + std::to_string(i) + "]",
            "token " + std::to_string(tokens[i]) + " is outside the vocabulary of " +
                std::to_string(vocab_size));
}

/// Pages that a request of `tokens` needs at most, its temporary slots included.
int pages_of(const kv::CacheConfig& cache, int tokens) {
  return (tokens + cache.page_size - 1) / cache.page_size;
}

void require_stops(const RequestSpec& spec, int vocab_size) {
  for (std::size_t i = 0; i < spec.stops.size(); ++i) {
    const std::string place = "stops[" + std::to_string(i) + "]";
    require(!spec.stops[i].empty(), place, "is empty, and would end every request at once");
    require_tokens(spec.stops[i], vocab_size, place);
  }
}

}  // namespace

BudgetUse sum(const BudgetUse& first, const BudgetUse& second) {
  return {first.draft_tokens + second.draft_tokens,
          first.verify_rows + second.verify_rows,
          first.speculative_requests + second.speculative_requests,
          first.temporary_pages + second.temporary_pages,
          first.workspace_floats + second.workspace_floats,
          first.rollback_cells + second.rollback_cells};
}

BudgetUse largest(const BudgetUse& first, const BudgetUse& second) {
  return {std::max(first.draft_tokens, second.draft_tokens),
          std::max(first.verify_rows, second.verify_rows),
          std::max(first.speculative_requests, second.speculative_requests),
          std::max(first.temporary_pages, second.temporary_pages),
          std::max(first.workspace_floats, second.workspace_floats),
          std::max(first.rollback_cells, second.rollback_cells)};
}

bool is_within(const BudgetUse& use, const Budget& budget) {
  return use.draft_tokens <= budget.draft_tokens && use.verify_rows <= budget.verify_rows &&
         use.speculative_requests <= budget.speculative_requests &&
         use.temporary_pages <= budget.temporary_pages &&
         use.workspace_floats <= budget.workspace_floats &&
         use.rollback_cells <= budget.rollback_cells;
}

void validate(const EngineConfig& config) {
  require(config.target != nullptr, "target", "an engine needs a target model");
  require(config.draft_count >= 0 && config.draft_count < (1 << 16), "draft_count",
          "is " + std::to_string(config.draft_count) + ", must be in [0, 65536)");
  require_at_least(config.context_max, 2, "context_max");
  require_at_least(config.request_max, 1, "request_max");
  require_at_least(config.queue_max, 0, "queue_max");
  require_at_least(config.chunk_tokens, 1, "chunk_tokens");
  require_at_least(config.adapter_count, 1, "adapter_count");
  require_at_least(config.budget.verify_rows, 1, "budget.verify_rows");
  require_at_least(config.budget.draft_tokens, 0, "budget.draft_tokens");
  require_at_least(config.budget.speculative_requests, 0, "budget.speculative_requests");
  require_at_least(config.budget.temporary_pages, 0, "budget.temporary_pages");
  require_at_least(config.budget.rollback_cells, 0, "budget.rollback_cells");
  require(config.budget.workspace_floats >= config.target->vocab_size(), "budget.workspace_floats",
          "is " + std::to_string(config.budget.workspace_floats) + ", one row needs " +
              std::to_string(config.target->vocab_size()));
  for (const int size : config.graph_sizes) require_at_least(size, 1, "graph_sizes");
  require(std::is_sorted(config.graph_sizes.begin(), config.graph_sizes.end()), "graph_sizes",
          "must ascend");
  static_cast<void>(contract(config.contract));
  static_cast<void>(verify::make_verifier(config.rule));
  if (config.drafts && config.drafts->model())
    require(config.drafts->model()->vocab_size() == config.target->vocab_size(), "drafts",
            "drafts over " + std::to_string(config.drafts->model()->vocab_size()) +
                " tokens, the target has " + std::to_string(config.target->vocab_size()) +
                "; map the draft's vocabulary");
}

void validate(const RequestSpec& spec, const EngineConfig& config) {
  const int vocab_size = config.target->vocab_size();
  require(!spec.prompt.empty(), "prompt", "is empty; give at least one token");
  require(spec.prompt.size() < static_cast<std::size_t>(config.context_max), "prompt",
          "has " + std::to_string(spec.prompt.size()) + " tokens, and a context of " +
              std::to_string(config.context_max) + " leaves no room behind it");
  require_tokens(spec.prompt, vocab_size, "prompt");
  require_at_least(spec.max_tokens, 1, "max_tokens");
  if (spec.eos) require_tokens({*spec.eos}, vocab_size, "eos");
  if (spec.grammar_behind) require_tokens({*spec.grammar_behind}, vocab_size, "grammar_behind");
  require_stops(spec, vocab_size);
  require(!spec.grammar || spec.grammar->vocab_size() == static_cast<std::size_t>(vocab_size),
          "grammar", "is not over the vocabulary of " + std::to_string(vocab_size) + " tokens");
  require(!spec.grammar || contract(config.contract).grammar == GrammarUse::kMask, "grammar",
          "the contract " + config.contract +
              " draws first and asks its grammar then, which needs a second draw that this engine "
              "has not; use a contract that masks");
  require(!spec.adjustments.grammar_mask, "adjustments.grammar_mask",
          "is computed row by row; give a grammar");
  require(spec.adjustments.end_tokens.empty(), "adjustments.end_tokens",
          "are what eos says; leave them empty");
  validate(spec.sampling);
  Adjustments adjustments = spec.adjustments;
  if (spec.eos) adjustments.end_tokens = {*spec.eos};
  validate(adjustments, static_cast<std::size_t>(vocab_size));
  require(spec.adapter >= 0 && spec.adapter < config.adapter_count, "adapter",
          std::to_string(spec.adapter) + " is not there; this engine has adapters 0 to " +
              std::to_string(config.adapter_count - 1));
  require(spec.logprob_count >= -1 && spec.logprob_count <= vocab_size, "logprob_count",
          "is " + std::to_string(spec.logprob_count) + ", must be in [-1, " +
              std::to_string(vocab_size) + "]");
  const auto room =
      static_cast<std::int64_t>(config.context_max) - static_cast<std::int64_t>(spec.prompt.size());
  const int tokens = static_cast<int>(
      spec.prompt.size() + static_cast<std::size_t>(std::min<std::int64_t>(room, spec.max_tokens)));
  const auto fits = [&](const kv::CacheConfig& cache, const char* place) {
    require(pages_of(cache, tokens) <= cache.page_count, "max_tokens",
            std::to_string(tokens) + " tokens need " + std::to_string(pages_of(cache, tokens)) +
                " pages of the " + place + " cache, which has " + std::to_string(cache.page_count));
  };
  fits(config.target_cache, "target's");
  if (config.drafts && config.drafts->model()) fits(config.draft_cache, "draft's");
}

}  // namespace draftproof::reference::decode
