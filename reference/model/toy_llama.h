// A tiny Llama-architecture model in float64, every logit with a certified error: the truth that a
// target forward on a device is held against (gpu/kernels/model/toy_llama.cu).
//
// Why here: verification runs the target at M = draft length + 1 rows a step, decoding at M = 1,
// and what a verifier is given are the logits of such rows. A row is a token at a position that
// sees some cells; whatever forgets a rejected cell, or keeps its position, changes logits.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "reference/model/certified_error.h"
#include "reference/model/near_tie.h"
#include "reference/model/toy_llama_weights.h"
#include "reference/token.h"

namespace draftproof::reference::model {

/// One row of a step.
struct LlamaRow {
  Token token = 0;
  int position = 0;
  /// By cell, those of the cache first and then one for each row of this step: whether the row
  /// attends to it. Cells behind its end are not seen. A row sees itself whatever is said here, and
  /// no later row of the step.
  std::vector<bool> sees;
};

/// Keys and values of what was computed so far, with their errors: some 300 symbols a cell and
/// layer at the default sizes, so that this is for tens of cells. A value: copy it to look back.
class LlamaCache {
 public:
  int cell_count() const { return cells_.empty() ? 0 : static_cast<int>(cells_[0].size()); }
  /// Keeps these cells, in this order, and forgets the others. Precondition: indices below
  /// cell_count(), strictly increasing.
  void keep(std::span<const int> kept);

 private:
  friend class ToyLlama;
  std::vector<std::vector<CertifiedCell>> cells_;  ///< by layer
  NoiseSymbols known_;                             ///< of the cells
};

class ToyLlama {
 public:
  /// Throws Error(kInput) as validate() for a config that makes no model. Without an error model
  /// nothing is certified: errors are infinite, and logits come at a small part of the time.
  explicit ToyLlama(const ToyLlamaWeights& weights,
                    const std::optional<ErrorModel>& error_model = ErrorModel{});
  ToyLlama(ToyLlama&&) noexcept;
  ~ToyLlama();

  /// Logits of `rows`, whose cells are appended to the cache. Precondition: tokens in the
  /// vocabulary, positions of at least 0.
  std::vector<CertifiedRow> forward(std::span<const LlamaRow> rows, LlamaCache& cache) const;
  /// Logits behind every token of a sequence from position 0 on, each token seeing all before it.
  std::vector<CertifiedRow> forward_sequence(std::span<const Token> tokens) const;

 private:
  struct Matrices;
  std::unique_ptr<const Matrices> matrices_;
};

/// Rows that continue `cell_count` cells of a sequence in a chain: each sees everything before it.
std::vector<LlamaRow> chain_rows(std::span<const Token> tokens, int cell_count);

/// Rows of a draft tree behind `cell_count` cells: row i sees those, its ancestors and itself, and
/// its position is cell_count + its depth. `parents[i]` is a row before i, or -1 for a root.
std::vector<LlamaRow> tree_rows(std::span<const Token> tokens, std::span<const int> parents,
                                int cell_count);

}  // namespace draftproof::reference::model
