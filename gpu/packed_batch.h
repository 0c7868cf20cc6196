// PackedBatch: a batch in the bytes that our kernels read (gpu/kernels/layout.h), and back.
//
// Two layouts, so that both are exercised: without Execution::padded_draft_count rows lie one
// behind the other; with it there are as many slots as it says and rows are a few elements apart,
// so that they start at any alignment. Bytes between and behind the rows in use belong to nobody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/kernels/layout.h"
#include "reference/coin.h"
#include "reference/proposal.h"
#include "reference/verifier.h"

namespace draftproof::gpu {

/// The host's copy of a device buffer of which only some byte ranges mean something.
struct BufferImage {
  struct Range {
    std::size_t begin;
    std::size_t end;
  };
  std::vector<std::byte> bytes;
  std::vector<Range> used;  ///< ascending, not touching

  /// Appends to `used`, joining a range that touches the last one.
  void use(std::size_t begin, std::size_t end);
};

struct PackedBatch {
  std::uint32_t padded_draft_count = 0;
  std::uint32_t vocab_size = 0;
  std::uint64_t target_row_stride = 0;  ///< elements
  std::uint64_t draft_row_stride = 0;   ///< elements
  kernels::DraftLawKind draft_kind = kernels::DraftLawKind::kOneHot;
  BufferImage target_rows;
  BufferImage draft_rows;  ///< empty unless draft_kind has rows
  BufferImage draft_tokens;
  BufferImage parents;             ///< empty when every draft is a chain
  BufferImage parameters;          ///< kernels::RequestParameters
  std::uint32_t coin_columns = 0;  ///< a target slot
  BufferImage coins;               ///< empty when the coins are Philox, or none is read
  std::uint64_t seed = 0;          ///< of the Philox coins
};

/// Which of a batch's inputs a rule reads; whatever it does not read has no bytes, or bytes that
/// nobody has written.
struct PackingRule {
  bool reads_draft_rows = true;
  bool takes_trees = false;       ///< else the batch holds chains only
  bool is_greedy_always = false;  ///< every request is greedy, whatever its sampling says
  /// Bit c: column c of the coins (kernels::CoinColumn) is read.
  std::uint32_t coins = 7;
  std::uint32_t coin_columns = kernels::kCoinColumns;
  bool is_keyed_by_iteration = false;  ///< coins have the request's iteration, not 0
};

/// Preconditions: validate(batch) passes; target_kind is kLogits.
PackedBatch pack(const reference::Batch& batch, const reference::Coins& coins,
                 const reference::Execution& execution, const PackingRule& rule);

/// Puts what the input buffers hold now into `batch`, element by element, where it differs from
/// what they held: logits, probabilities, drafted tokens, parents, and what addresses coins. Of
/// other parameters, or coins, no batch can say what they are now: the request's temperature is NaN
/// then, which no request has.
void unpack_changes(const PackedBatch& before, const PackedBatch& after, reference::Batch& batch);

}  // namespace draftproof::gpu
