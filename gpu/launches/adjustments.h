// Adjustments: what launches that take them hold them against
// (gpu/kernels/arguments/adjustments.h).
#pragma once

#include <array>
#include <cstdint>

#include "gpu/kernels/arguments/adjustments.h"
#include "gpu/launches/checks.h"

namespace draftproof::gpu::launches {

/// A batch as far as its adjustments depend on it.
struct AdjustedBatch {
  std::uint64_t request_count = 0;
  std::uint64_t target_slots = 0;
  std::uint32_t vocab_size = 0;
};

/// Alignment and sizes. Good when there are no adjustments.
draftproof_result check(const draftproof_adjustments& adjustments, const AdjustedBatch& batch);

/// The arrays, read only. How long the lists are is known on the device only: their first word
/// stands for them. Precondition: check() says DRAFTPROOF_OK.
std::array<Extent, 5> extents_of(const draftproof_adjustments& adjustments,
                                 const AdjustedBatch& batch);

}  // namespace draftproof::gpu::launches
