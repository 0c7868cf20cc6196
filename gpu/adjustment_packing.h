// AdjustmentPacking: what requests do to their rows (reference/adjustments.h) as the sparse lists
// that kernels read (gpu/kernels/arguments/adjustments.h). It counts and sorts, and rounds every
// parameter to fp32 once; it shares no arithmetic with reference/, and applies nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/kernels/arguments/adjustments.h"
#include "reference/adjustments.h"
#include "reference/history.h"

namespace draftproof::gpu {

/// One request of a batch.
struct AdjustedRequest {
  reference::Adjustments adjustments;
  reference::History history;  ///< `drafted` is not looked at: kernels read the batch's drafts
  /// The grammar's masks, one a target row in use; empty: adjustments.grammar_mask for every row.
  std::vector<std::vector<bool>> row_masks;
  /// So many of the last committed tokens are packed as an engine appends them between two
  /// packings: in the tail, in no count. Results are the same.
  std::size_t appended_count = 0;
};

/// Every array as it goes into device memory.
struct PackedAdjustments {
  std::vector<draftproof_adjusted_request> requests;
  std::vector<draftproof_adjusted_token> entries;
  std::vector<draftproof_bad_word> words;
  std::vector<std::int32_t> tokens;
  std::vector<std::uint32_t> masks;  ///< empty when no request has any
  std::uint64_t mask_stride = 0;     ///< words
};

/// Packs a batch whose requests have padded_draft_count + 1 target slots each. Throws Error(kInput)
/// where reference::validate does, for a row mask of another size than the vocabulary, and when
/// there is more than 2^32 - 1 of anything.
PackedAdjustments pack_adjustments(std::span<const AdjustedRequest> requests,
                                   const reference::AdjustmentRule& rule, std::size_t vocab_size,
                                   std::size_t padded_draft_count);

}  // namespace draftproof::gpu
