// Row place: which row of a batch a block works on, and where that row lies, taken apart from the
// arguments of a shape_rows launch (gpu/kernels/arguments/shaping.h). Target rows come first, then
// those of the draft side.
#pragma once

#include <cstdint>

#include "gpu/kernels/anchor.cuh"
#include "gpu/kernels/arguments/shaping.h"
#include "gpu/kernels/layout.h"
#include "gpu/kernels/row.cuh"
#include "gpu/kernels/shaping/row_shaper.cuh"

namespace draftproof::gpu::kernels::shaping {

struct RowPlace {
  bool is_target;
  bool is_used;  ///< false: the slot is not touched
  std::uint32_t request;
  std::uint32_t position;
  std::uint32_t slot;    ///< on its side
  std::uint64_t offset;  ///< of its first element

  /// A drafted token's row of probabilities.
  __device__ __forceinline__ bool has_probabilities(
      const draftproof_shape_rows_arguments& arguments) const {
    return !is_target &&
           arguments.draft_kind == static_cast<std::uint32_t>(DraftLawKind::kProbabilities);
  }
  template <class Element>
  __device__ __forceinline__ const Element* elements(
      const draftproof_shape_rows_arguments& arguments) const {
    return reinterpret_cast<const Element*>(is_target ? arguments.target_rows
                                                      : arguments.draft_rows) +
           offset;
  }
  __device__ __forceinline__ RowRecord* record(
      const draftproof_shape_rows_arguments& arguments) const {
    return reinterpret_cast<RowRecord*>(is_target ? arguments.target_records
                                                  : arguments.draft_records) +
           slot;
  }
  __device__ __forceinline__ const RequestParameters& parameters(
      const draftproof_shape_rows_arguments& arguments) const {
    return reinterpret_cast<const RequestParameters*>(arguments.requests)[request];
  }
};

/// The drafted tokens of a request; null when the launch has none.
__device__ __forceinline__ const std::int32_t* drafted_of(
    draftproof_pointer tokens, const draftproof_shape_rows_arguments& arguments,
    std::uint32_t request) {
  if (tokens == 0) return nullptr;
  return reinterpret_cast<const std::int32_t*>(tokens) +
         draft_slot(request, 0, arguments.padded_draft_count);
}

/// Row slots of the batch, used or not.
__device__ __forceinline__ std::uint32_t row_slots(
    const draftproof_shape_rows_arguments& arguments) {
  const bool has_draft_rows =
      arguments.draft_kind != static_cast<std::uint32_t>(DraftLawKind::kOneHot);
  return arguments.request_count * (arguments.padded_draft_count + 1) +
         (has_draft_rows ? arguments.request_count * arguments.padded_draft_count : 0);
}

/// The `index`-th row of the batch.
__device__ __forceinline__ RowPlace place_of_row(const draftproof_shape_rows_arguments& arguments,
                                                 std::uint32_t index) {
  const std::uint32_t padded = arguments.padded_draft_count;
  const std::uint32_t target_slots = arguments.request_count * (padded + 1);
  RowPlace place;
  place.is_target = index < target_slots;
  place.slot = place.is_target ? index : index - target_slots;
  const std::uint32_t slots = place.is_target ? padded + 1 : padded;
  place.request = place.slot / slots;
  place.position = place.slot % slots;
  const std::uint32_t row_count =
      min(place.parameters(arguments).draft_count, padded) + (place.is_target ? 1 : 0);
  // In a tree a placeholder ends its own branch and no other: every row is shaped.
  const std::int32_t* tokens = arguments.parents != 0
                                   ? nullptr
                                   : drafted_of(arguments.draft_tokens, arguments, place.request);
  place.is_used = row_is_used(tokens, row_count, place.position);
  place.offset = std::uint64_t{place.slot} *
                 (place.is_target ? arguments.target_row_stride : arguments.draft_row_stride);
  anchor::row_offset(place.offset);
  return place;
}

}  // namespace draftproof::gpu::kernels::shaping
