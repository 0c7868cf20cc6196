// Draft sources: how an engine's drafts arise. A source sees what the engine kept for it (tokens,
// its own cache, its own memory) and reports the law that each token was drawn from.
//
// Coins. A drafted token of depth d that is number s of its depth reads the coin {coin_request,
// position + d - 1, kDraft, s, iteration}: no two tokens of a draft share one, which leaf-first
// rules (traversal) need, and no two verified drafts do, which theorem C of reference/README.md
// asks for under block and traversal, and under every rule of a source that learns from tokens that
// were not kept. Under chain and the rules that walk a tree from its root a source without memory
// may be given iteration 0 throughout; its noise is then keyed by position. A draft that was
// dropped before it was verified may be drawn again from the same coins, as nothing was decided
// upon them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "reference/coin.h"
#include "reference/decode/language_model.h"
#include "reference/decode/request.h"
#include "reference/draft/drafter.h"
#include "reference/kv/paged_cache.h"
#include "reference/proposal.h"
#include "reference/shaping.h"

namespace draftproof::reference::decode {

/// A draft that waits for its verification.
struct Draft {
  Proposal proposal;
  RowKind kind = RowKind::kOneHot;
  /// Of every temporary slot of the draft cache, in order, the node whose cell it holds. The last
  /// token of a chain is drafted and not fed, so it has none.
  std::vector<int> fed_nodes;
  /// Tokens of the request when it was made: another number later means that it is stale.
  int context_length = 0;

  friend bool operator==(const Draft&, const Draft&) = default;
};

/// What a source is asked for. `tokens` are prompt and emitted ones; with a cache, all of them have
/// been fed, and `visible` is what the cache shows of them.
struct DraftTask {
  RequestId coin_request = 0;   ///< `request` of the coin addresses
  std::uint32_t position = 0;   ///< of the first drafted token's coin
  std::uint32_t iteration = 0;  ///< another one for every verification of the request, ever
  std::span<const Token> tokens;
  int draft_count_max = 0;  ///< > 0
  Sampling sampling = {};
  Preset preset = {};
  const Coins* coins = nullptr;
  kv::PagedCache* cache = nullptr;  ///< reserved: draft_count_max slots; none for lookups
  kv::SequenceId sequence = 0;
  const Sight* visible = nullptr;
  int cell_position = 0;  ///< what the first drafted token's cell is told
};

class DraftSource {
 public:
  virtual ~DraftSource() = default;
  virtual std::string name() const = 0;
  /// The model whose cells the draft cache holds; none: no draft cache.
  virtual LanguageModelPtr model() const { return nullptr; }
  /// False: it never looks at a coin, and iterations of requests mean nothing to it.
  virtual bool draws() const { return true; }
  /// What a request's memory and the memory of all are at first.
  virtual law::Memory initial_memory() const { return {}; }
  /// At most draft_count_max tokens; may be none. Writes the cells of `fed_nodes`.
  virtual Draft draft(const DraftTask& task, law::Memory& own, law::Memory& shared) const = 0;
  /// Learns what was kept; `tokens` are prompt and emitted. Never draws.
  virtual void commit(const Draft&, std::span<const int> /*accepted_nodes*/,
                      std::span<const Token> /*tokens*/, law::Memory& /*own*/,
                      law::Memory& /*shared*/) const {}
};
using DraftSourcePtr = std::shared_ptr<const DraftSource>;

/// A chain, autoregressively, drawn from the model's rows shaped as the request asks; rows are
/// reported as logits, as the model gave them. Stops at nothing but a row that cannot be judged.
DraftSourcePtr model_source(LanguageModelPtr model);
/// A chain of the model's first maxima, reported as one-hot.
DraftSourcePtr greedy_model_source(LanguageModelPtr model);
/// A tree of `widths[d]` children at depth d, the highest logits first, reported as one-hot; only
/// nodes with children are fed. Cut to draft_count_max nodes in breadth-first order.
DraftSourcePtr tree_source(LanguageModelPtr model, std::vector<int> widths);
/// Siblings drawn without replacement: each from the model's row behind its parent, with the logits
/// of the siblings before it at -inf, shaped as the request asks; fewer where no probability is
/// left. That row is reported, as logits. Cut as tree_source.
DraftSourcePtr sampled_tree_source(LanguageModelPtr model, std::vector<int> widths);
/// What followed the last occurrence of the last `match_size` tokens; one-hot. No cache.
DraftSourcePtr lookup_source(int match_size);
/// Scripted: the draft is a function of the request's tokens, for explorers. One-hot. No cache
/// unless `model` is given: then what the script continues is fed (all of a chain but its last).
using DraftScript = std::function<Proposal(std::span<const Token> tokens, int draft_count_max)>;
DraftSourcePtr scripted_source(DraftScript script, LanguageModelPtr model = nullptr);

}  // namespace draftproof::reference::decode
