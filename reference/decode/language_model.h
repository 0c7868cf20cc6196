// Language models as an engine runs them: a row of logits from what a cache shows. A model sees
// tokens through cells, so that a cell that is missing, moved, stale or computed in another history
// shows another token, and every fault of state becomes a fault of the law.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "reference/kv/paged_cache.h"
#include "reference/kv/recurrent_slots.h"
#include "reference/model/toy_model.h"
#include "reference/proposal.h"

namespace draftproof::reference::decode {

/// What one row is computed from.
struct Seen {
  /// Of every visible cell, oldest first, the row's own token last. Not empty.
  std::span<const Token> tokens;
  std::int32_t first_position = 0;  ///< of the first of them; above 0 behind a window only
  kv::RecurrentState state = 0;     ///< behind every token fed; models without recurrence ignore it
  int adapter = 0;                  ///< LoRA adapter of the row's request; 0: none
};

/// Rows are pure functions of what is seen. For use by one thread at a time.
class LanguageModel {
 public:
  virtual ~LanguageModel() = default;
  virtual int vocab_size() const = 0;
  virtual bool is_recurrent() const { return false; }
  /// vocab_size() logits, the greatest of them finite. Precondition: tokens are in range.
  virtual void logits(const Seen& seen, Row& row) const = 0;
  Row row(const Seen& seen) const;
};
using LanguageModelPtr = std::shared_ptr<const LanguageModel>;

struct HashedModel {
  int vocab_size = 8;
  std::uint64_t seed = 1;
  int order = 0;  ///< so many last tokens count; 0: all that are seen
  bool is_recurrent = false;
  /// Of 16 parts, how many of each weight come from the model with this other seed: a draft model
  /// is near its target when it shares most of them.
  int shared_parts = 0;
  std::uint64_t shared_seed = 0;
};

/// Weights 1 .. 256 a token that are a hash of (seed, first position, tokens, state, adapter);
/// logits are their logarithms, rounded to fp32. Cost: linear in the tokens seen.
LanguageModelPtr hashed_model(const HashedModel& model);

/// The toy's own rows: logit = fp32(ln probability), -inf for 0. State and adapter are ignored.
/// Logits are kept for at most `kept_max` contexts, and then forgotten with the toy's own rows.
LanguageModelPtr toy_language_model(model::ToyModelPtr toy, std::size_t kept_max = 1 << 16);

/// What a cache shows of one path, built up cell by cell.
class Sight {
 public:
  Sight(const kv::PagedCache& cache, int vocab_size) : cache_(&cache), vocab_size_(vocab_size) {}
  /// The next cell of the path, which should have been told `position`. Its token is seen as it is
  /// if the cell says so and its history is that of the cell before it and its own token; else as
  /// another token, a function of what the cell holds. The first cell behind a window is believed.
  void add(const kv::Cell& cell, std::int32_t position);
  /// Keeps only the last `window` cells.
  void slide(int window);

  const std::vector<Token>& tokens() const { return tokens_; }
  /// Of the last cell, as read; what the next cell's history is computed from.
  std::uint64_t history() const { return history_; }
  std::int32_t first_position() const { return first_position_; }
  bool has_poison() const { return has_poison_; }  ///< a cell that nobody wrote: the row is NaN

 private:
  const kv::PagedCache* cache_;
  int vocab_size_;
  std::vector<Token> tokens_;
  std::uint64_t history_ = kv::kEmptyHistory;
  std::int32_t first_position_ = 0;
  bool is_cut_ = false;
  bool has_poison_ = false;
};

/// Of a sequence's first `length` cells, those that a row behind them sees.
Sight sight_of(const kv::PagedCache& cache, kv::SequenceId sequence, int length, int vocab_size);

}  // namespace draftproof::reference::decode
