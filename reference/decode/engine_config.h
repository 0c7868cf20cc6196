// Engine configuration: models, sizes, limits, and what speculation may cost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract.h"
#include "reference/decode/draft_source.h"
#include "reference/decode/language_model.h"
#include "reference/draft/length/gates.h"
#include "reference/kv/paged_cache.h"
#include "reference/kv/recurrent_slots.h"

namespace draftproof::reference::decode {

/// What one step may cost. Committed tokens are no measure of any of it: a step that emits one
/// token a request has drafted, verified, stored and rolled back many.
struct Budget {
  int draft_tokens = 1 << 20;          ///< drafted in one step, all requests together
  int verify_rows = 1 << 20;           ///< tokens or nodes fed to the target in one step
  int speculative_requests = 1 << 20;  ///< requests with a draft in one step
  int temporary_pages = 1 << 20;       ///< target and draft pages that only drafts need
  std::int64_t workspace_floats = std::int64_t{1} << 40;  ///< logits kept until they are judged
  int rollback_cells = 1 << 20;  ///< cells that would be given back if nothing were accepted

  friend bool operator==(const Budget&, const Budget&) = default;
};

/// What one step did cost, counted where it arises.
struct BudgetUse {
  int draft_tokens = 0;
  int verify_rows = 0;
  int speculative_requests = 0;
  int temporary_pages = 0;
  std::int64_t workspace_floats = 0;
  int rollback_cells = 0;

  friend bool operator==(const BudgetUse&, const BudgetUse&) = default;
};
BudgetUse sum(const BudgetUse& first, const BudgetUse& second);
/// Each cost on its own.
BudgetUse largest(const BudgetUse& first, const BudgetUse& second);
bool is_within(const BudgetUse& use, const Budget& budget);

struct EngineConfig {
  LanguageModelPtr target;
  DraftSourcePtr drafts;       ///< none: plain decoding
  std::string rule = "chain";  ///< of verify::rules(); trees need a rule that takes them
  int draft_count = 3;         ///< tokens or nodes, at most
  kv::CacheConfig target_cache = {};
  kv::CacheConfig draft_cache = {};
  kv::RecurrentRollback recurrent_rollback = kv::RecurrentRollback::kSelect;
  int context_max = 256;              ///< prompt and emitted tokens of a request, at most
  int request_max = 64;               ///< requests that run together
  int queue_max = 1 << 20;            ///< requests that wait; more are refused
  int chunk_tokens = 64;              ///< of a prompt, in one step
  std::vector<int> graph_sizes = {};  ///< rows of a step are padded to the next of these
  /// Preempted requests keep their cells, in host memory, and feed nothing again.
  bool offloads = false;
  bool is_asynchronous = false;  ///< step() commits a frame behind the launch of the next one
  Budget budget = {};
  draft::GateLimits gates = {};
  std::optional<int> draft_load_steps = {};       ///< steps until the drafter has been loaded
  std::vector<int> adapters_without_drafts = {};  ///< the drafter does not serve these
  int adapter_count = 1;                          ///< adapters 0 .. adapter_count - 1 exist
  std::uint64_t seed = 1;                         ///< of requests without one
  std::string contract = "default";
};

/// Throws Error(kInput) naming the field: no target; sizes below 1; draft_count outside [0, 2^16);
/// an unknown rule or contract; vocabularies of target and draft that differ; a tree source under a
/// rule for chains is found at its first draft.
void validate(const EngineConfig& config);
/// Throws Error(kInput) naming the field of the request: an empty prompt or one that leaves no room
/// in the context; ids outside the vocabulary; max_tokens < 1; an empty stop; a grammar or a mask
/// of another vocabulary; sampling, penalties, bias as their own validate(); an unknown adapter;
/// what needs more pages than the caches have.
void validate(const RequestSpec& spec, const EngineConfig& config);

}  // namespace draftproof::reference::decode
