// Requests: what an acceptance rule sees of one request, taken apart from the arguments of a launch
// (gpu/kernels/arguments/verify.h). Shared by the rules; block r of a launch judges request r.
#pragma once

#include <cstdint>

#include "gpu/kernels/anchor.cuh"
#include "gpu/kernels/arguments/verify.h"
#include "gpu/kernels/coin.cuh"
#include "gpu/kernels/row.cuh"
#include "gpu/kernels/verify/walk.cuh"

namespace draftproof::gpu::kernels::verify {

/// The address as a pointer of this type.
template <class T>
__device__ __forceinline__ T* at(draftproof_pointer pointer) {
  return reinterpret_cast<T*>(pointer);
}

/// The parameters of request `index`.
__device__ __forceinline__ const RequestParameters& parameters_of(
    const draftproof_verify_arguments& arguments, std::uint32_t index) {
  return at<const RequestParameters>(arguments.requests)[index];
}

/// The drafted tokens of request `index`, as many as it says: for those who refuse too many.
__device__ __forceinline__ Drafts drafts_told(const draftproof_verify_arguments& arguments,
                                              std::uint32_t index) {
  return {at<const std::int32_t>(arguments.draft_tokens) +
              draft_slot(index, 0, arguments.padded_draft_count),
          parameters_of(arguments, index).draft_count, arguments.vocab_size};
}

/// The drafted tokens of request `index`, no more than it has slots for.
__device__ __forceinline__ Drafts drafts_of(const draftproof_verify_arguments& arguments,
                                            std::uint32_t index) {
  Drafts drafts = drafts_told(arguments, index);
  drafts.count = min(drafts.count, arguments.padded_draft_count);
  return drafts;
}

/// Where the outcome of request `index` goes.
__device__ __forceinline__ Output output_of(const draftproof_verify_arguments& arguments,
                                            std::uint32_t index) {
  const std::uint64_t first = target_slot(index, 0, arguments.padded_draft_count);
  return {at<std::int32_t>(arguments.emitted_tokens) + first,
          at<std::int32_t>(arguments.emitted_reasons) + first,
          at<OutcomeRecord>(arguments.outcomes) + index, arguments.padded_draft_count + 1};
}

/// The coins of request `index`: iteration 0, the columns of chains.
__device__ __forceinline__ CoinSource coins_of(const draftproof_verify_arguments& arguments,
                                               std::uint32_t index) {
  const RequestParameters& parameters = parameters_of(arguments, index);
  return {at<const std::uint64_t>(arguments.coins),
          target_slot(index, 0, arguments.padded_draft_count), arguments.seed,
          parameters.coin_request, parameters.coin_position};
}

/// The rows of one request and their records; slots are the request's own, from 0 on.
template <class Element>
struct Rows {
  const Element* target_rows;  ///< of the whole batch, as are all rows and records below
  std::uint64_t target_row_stride;
  const void* draft_rows;
  std::uint64_t draft_row_stride;
  const RowRecord* target_records;
  const RowRecord* draft_records;
  DraftLawKind draft_kind;
  std::uint64_t first_target_slot;
  std::uint64_t first_draft_slot;
  std::uint32_t fraction_bits;

  __device__ __forceinline__ Rows(const draftproof_verify_arguments& arguments,
                                  std::uint32_t request)
      : target_rows(at<const Element>(arguments.target_rows)),
        target_row_stride(arguments.target_row_stride),
        draft_rows(at<const void>(arguments.draft_rows)),
        draft_row_stride(arguments.draft_row_stride),
        target_records(at<const RowRecord>(arguments.target_records)),
        draft_records(at<const RowRecord>(arguments.draft_records)),
        draft_kind(static_cast<DraftLawKind>(arguments.draft_kind)),
        first_target_slot(target_slot(request, 0, arguments.padded_draft_count)),
        first_draft_slot(draft_slot(request, 0, arguments.padded_draft_count)),
        fraction_bits(fraction_bits_for(arguments.vocab_size)) {}

  __device__ __forceinline__ const RowRecord& target_record(std::uint32_t row) const {
    return target_records[first_target_slot + row];
  }

  /// The law of target row `row`, its logits read as `logits` reads them.
  template <class Logits = RawLogits>
  __device__ __forceinline__ LogitLaw<Element, Logits> target_law(std::uint32_t row,
                                                                  const RowRecord& record,
                                                                  const Logits& logits = {}) const {
    const std::uint64_t slot = first_target_slot + row;
    return LogitLaw<Element, Logits>(target_rows + slot * target_row_stride, record, fraction_bits,
                                     logits);
  }

  /// The draft side's record; all mass, 1, on the token itself when the draft has no rows.
  __device__ __forceinline__ RowRecord draft_record(std::uint32_t node) const {
    if (draft_kind == DraftLawKind::kOneHot)
      return {1, 0.0f, 0.0f, 0, 0, 0, static_cast<std::uint32_t>(LawKind::kOneHot)};
    return draft_records[first_draft_slot + node];
  }

  __device__ __forceinline__ DraftLaw<Element> draft_law(std::uint32_t node,
                                                         const RowRecord& record,
                                                         std::uint32_t token) const {
    std::uint64_t slot = first_draft_slot + node;
    anchor::draft_row_slot(slot);
    const std::uint64_t offset = slot * draft_row_stride;
    return {
        draft_kind,
        LogitLaw<Element>(static_cast<const Element*>(draft_rows) + offset, record, fraction_bits),
        static_cast<const float*>(draft_rows) + offset, fraction_bits, token};
  }
};

}  // namespace draftproof::gpu::kernels::verify
