// Attention over a paged K/V window with a mask of the places behind the committed ones: one warp a
// row and query head.
//
// Cells are walked in the order of their logical places, twice: for the largest score, and then for
// weights, their sum and the weighted values, one addition a cell. Unseen cells add nothing, not
// even a zero, so that a row has the same bits whether rejected cells lie between the ones that it
// sees or not: a node of a tree equals the decoded chain of its path.
#pragma once

#include <cstdint>

#include "gpu/kernels/model/anchor.cuh"
#include "gpu/kernels/model/sums.cuh"

namespace draftproof::gpu::kernels::model {

inline constexpr std::uint32_t kHeadDimMax = 256;
inline constexpr std::uint32_t kDimsPerLane = kHeadDimMax / kLanes;

/// One row and query head; all lanes of a warp hold the same but for their coordinates.
class RowAttention {
 public:
  __device__ __forceinline__ RowAttention(const draftproof_attention_arguments& arguments,
                                          std::uint32_t row, std::uint32_t head)
      : own_(arguments), row_(row), head_(head) {
    std::uint32_t kv_head = head / (own_.heads / own_.kv_heads);
    anchor::kv_head(kv_head, head);
    kv_offset_ = kv_head * own_.head_dim;
    const float* query = at<const float>(own_.queries) + row_ * own_.query_stride + offset();
#pragma unroll
    for (std::uint32_t i = 0; i < kDimsPerLane; ++i)
      query_[i] = has(i) ? query[lane() + i * kLanes] : 0.0f;
  }

  __device__ __forceinline__ void write() const {
    float largest = -__uint_as_float(0x7f800000u);
    bool sees_any = false;
    for_each_seen([&](std::uint64_t cell) {
      const float own = score(cell);
      sees_any = true;
      if (own > largest) largest = own;
    });
    float total = 0.0f, mixed[kDimsPerLane] = {};
    if (sees_any)
      for_each_seen([&](std::uint64_t cell) {
        const float weight = exponential(__fsub_rn(score(cell), largest));
        total = __fadd_rn(total, weight);
        const float* value = at<const float>(own_.value_cache) + cell + kv_offset_;
#pragma unroll
        for (std::uint32_t i = 0; i < kDimsPerLane; ++i)
          if (has(i)) mixed[i] = __fmaf_rn(weight, value[lane() + i * kLanes], mixed[i]);
      });
    float* output = at<float>(own_.output) + row_ * own_.output_stride + offset();
#pragma unroll
    for (std::uint32_t i = 0; i < kDimsPerLane; ++i)
      if (has(i)) output[lane() + i * kLanes] = sees_any ? __fdiv_rn(mixed[i], total) : 0.0f;
  }

 private:
  __device__ __forceinline__ std::uint64_t offset() const {
    return std::uint64_t{head_} * own_.head_dim;
  }
  /// Whether the lane's i-th coordinate is one of the head.
  __device__ __forceinline__ bool has(std::uint32_t i) const {
    return lane() + i * kLanes < own_.head_dim;
  }

  __device__ __forceinline__ float score(std::uint64_t cell) const {
    const float* key = at<const float>(own_.key_cache) + cell + kv_offset_;
    float sum = 0.0f;
#pragma unroll
    for (std::uint32_t i = 0; i < kDimsPerLane; ++i)
      if (has(i)) sum = __fmaf_rn(query_[i], key[lane() + i * kLanes], sum);
    return __fmul_rn(lane_sum(sum), own_.scale);
  }

  /// Calls visit(first element of the cell) for every cell that the row sees, in logical order.
  template <class Visit>
  __device__ __forceinline__ void for_each_seen(const Visit& visit) const {
    const std::int32_t sequence = at<const std::int32_t>(own_.sequences)[row_];
    if (sequence < 0 || static_cast<std::uint32_t>(sequence) >= own_.sequence_count) return;
    const std::int32_t* table = at<const std::int32_t>(own_.tables) +
                                static_cast<std::uint32_t>(sequence) * own_.table_stride;
    const std::uint64_t places = std::uint64_t{own_.page_max} * own_.page_size;
    const std::uint64_t length = min(
        static_cast<std::uint64_t>(max(at<const std::int32_t>(own_.lengths)[sequence], 0)), places);
    for (std::uint64_t place = 0; place < length; ++place) visit_place(table, place, visit);
    const std::uint64_t* masks =
        at<const std::uint64_t>(own_.masks) + std::uint64_t{row_} * own_.mask_words;
    for (std::uint32_t word = 0; word < own_.mask_words; ++word) {
      std::uint64_t bits = masks[word];
      anchor::mask_word(bits);
      for (; bits != 0; bits &= bits - 1) {
        const std::uint64_t place =
            length + word * 64 + static_cast<std::uint32_t>(__ffsll(static_cast<long long>(bits))) -
            1;
        if (place < places) visit_place(table, place, visit);
      }
    }
  }

  template <class Visit>
  __device__ __forceinline__ void visit_place(const std::int32_t* table, std::uint64_t place,
                                              const Visit& visit) const {
    const std::int32_t page = table[place / own_.page_size];
    if (page < 0 || static_cast<std::uint32_t>(page) >= own_.page_count) return;
    const std::uint64_t slot =
        static_cast<std::uint64_t>(page) * own_.page_size + place % own_.page_size;
    visit(slot * (std::uint64_t{own_.kv_heads} * own_.head_dim));
  }

  const draftproof_attention_arguments& own_;
  std::uint32_t row_;
  std::uint32_t head_;
  std::uint32_t kv_offset_;
  float query_[kDimsPerLane];
};

}  // namespace draftproof::gpu::kernels::model
