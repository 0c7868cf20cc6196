// A Llama-architecture target forward (Touvron et al., arXiv:2302.13971) over a paged K/V window, a
// stage a launch; what each computes is said in gpu/kernels/arguments/model.h. Why here: the logits
// that verification reads depend on cells, slots, positions and masks, so that a wrong commit shows
// in logits, on any device that runs PTX.
//
// Determinism: gpu_to_gpu. Each sum belongs to one warp, or to one thread, in an order that depends
// on its length alone; every operation is IEEE and written with its rounding, nothing is fused but
// where it says fma. Hence a row's bits do not depend on how many rows are computed with it (batch
// invariance, M = 1 against M = draft length + 1), on the block size (a multiple of 32 up to 1,024)
// or on the schedule.
#include <cstdint>

#include "gpu/kernels/arguments/model.h"
#include "gpu/kernels/model/anchor.cuh"
#include "gpu/kernels/model/attention.cuh"
#include "gpu/kernels/model/sums.cuh"
#include "gpu/kernels/row.cuh"

namespace draftproof::gpu::kernels::model {

/// Calls visit(row, i) for every row of the step and i < width, each once, over the whole grid.
template <class Visit>
__device__ __forceinline__ void for_each_element(const draftproof_model_rows& rows,
                                                 std::uint32_t width, const Visit& visit) {
  const std::uint32_t count = row_count(rows);
  for (std::uint64_t row = blockIdx.y; row < count; row += gridDim.y)
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < width;
         i += std::uint64_t{gridDim.x} * blockDim.x)
      visit(static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(i));
}

template <class Element>
__device__ __forceinline__ void embed(const draftproof_embed_arguments& own) {
  for_each_element(own.rows, own.width, [&](std::uint32_t row, std::uint32_t i) {
    const std::int32_t token = at<const std::int32_t>(own.tokens)[row];
    const bool is_known = token >= 0 && static_cast<std::uint32_t>(token) < own.vocab_size;
    at<float>(own.output)[row * own.output_stride + i] =
        is_known ? widened(at<const Element>(
                       own.embedding)[static_cast<std::uint32_t>(token) * own.embedding_stride + i])
                 : 0.0f;
  });
}

__device__ __forceinline__ void rms_norm(const draftproof_rms_norm_arguments& own) {
  const std::uint32_t count = row_count(own.rows);
  for (std::uint64_t row = warp_index(); row < count; row += warp_count()) {
    const float* input = at<const float>(own.input) + row * own.input_stride;
    float* output = at<float>(own.output) + row * own.output_stride;
    float sum = 0.0f;
    for (std::uint32_t i = lane(); i < own.width; i += kLanes)
      sum = __fmaf_rn(input[i], input[i], sum);
    float divisor = static_cast<float>(own.width), epsilon = own.epsilon;
    anchor::norm_divisor(divisor, epsilon);
    const float mean = __fadd_rn(__fdiv_rn(lane_sum(sum), divisor), epsilon);
    const float root = __fdiv_rn(1.0f, __fsqrt_rn(mean));
    for (std::uint32_t i = lane(); i < own.width; i += kLanes)
      output[i] = __fmul_rn(__fmul_rn(input[i], root), at<const float>(own.weight)[i]);
  }
}

/// Rows that a warp multiplies with one row of weights, so that each weight is read once for them.
inline constexpr std::uint32_t kRowsAtOnce = 8;

template <class Element>
__device__ __forceinline__ void gemm(const draftproof_gemm_arguments& own) {
  const std::uint32_t count = row_count(own.rows);
  std::uint32_t width = own.input_width;
  anchor::input_width(width);
  for (std::uint64_t n = warp_index(); n < own.output_width; n += warp_count()) {
    const Element* weight = at<const Element>(own.weight) + n * own.weight_stride;
    for (std::uint64_t first = std::uint64_t{blockIdx.y} * kRowsAtOnce; first < count;
         first += std::uint64_t{gridDim.y} * kRowsAtOnce) {
      const float* input = at<const float>(own.input) + first * own.input_stride;
      const std::uint32_t present =
          static_cast<std::uint32_t>(min(std::uint64_t{kRowsAtOnce}, count - first));
      float sums[kRowsAtOnce] = {};
      for (std::uint32_t k = lane(); k < width; k += kLanes) {
        const float factor = widened(weight[k]);
#pragma unroll
        for (std::uint32_t m = 0; m < kRowsAtOnce; ++m)
          if (m < present) sums[m] = __fmaf_rn(factor, input[m * own.input_stride + k], sums[m]);
      }
      float* output = at<float>(own.output) + first * own.output_stride + n;
#pragma unroll
      for (std::uint32_t m = 0; m < kRowsAtOnce; ++m) {
        if (m >= present) break;
        const float total = lane_sum(sums[m]);
        if (lane() == 0) output[m * own.output_stride] = total;
      }
    }
  }
}

/// One pair of coordinates of one head, turned.
struct Pair {
  float low, high;
};

__device__ __forceinline__ Pair turned(Pair pair, float cosine, float sine) {
  return {__fsub_rn(__fmul_rn(pair.low, cosine), __fmul_rn(pair.high, sine)),
          __fadd_rn(__fmul_rn(pair.high, cosine), __fmul_rn(pair.low, sine))};
}

__device__ __forceinline__ void rope_scatter(const draftproof_rope_scatter_arguments& own) {
  const std::uint32_t half = own.head_dim / 2;
  const std::uint32_t pairs = (own.heads + 2 * own.kv_heads) * half;
  for_each_element(own.rows, pairs, [&](std::uint32_t row, std::uint32_t pair) {
    const std::uint32_t head = pair / half, i = pair % half;
    std::int32_t position = at<const std::int32_t>(own.positions)[row];
    if (position < 0 || static_cast<std::uint32_t>(position) >= own.position_count) return;
    anchor::rope_position(position);
    float* low = at<float>(own.qkv) + row * own.qkv_stride + std::uint64_t{head} * own.head_dim + i;
    Pair values{low[0], low[half]};
    if (head < own.heads + own.kv_heads) {
      const std::uint64_t angle = std::uint64_t{static_cast<std::uint32_t>(position)} * half + i;
      values =
          turned(values, at<const float>(own.cosines)[angle], at<const float>(own.sines)[angle]);
    }
    if (head < own.heads) {
      low[0] = values.low;
      low[half] = values.high;
      return;
    }
    std::int64_t slot = at<const std::int64_t>(own.slots)[row];
    anchor::slot(slot);
    if (slot < 0 || static_cast<std::uint64_t>(slot) >= own.slot_count) return;
    const bool is_key = head < own.heads + own.kv_heads;
    const std::uint32_t kv_head = head - own.heads - (is_key ? 0 : own.kv_heads);
    float* cell = at<float>(is_key ? own.key_cache : own.value_cache) +
                  (static_cast<std::uint64_t>(slot) * own.kv_heads + kv_head) * own.head_dim + i;
    cell[0] = values.low;
    cell[half] = values.high;
  });
}

__device__ __forceinline__ void attention(const draftproof_attention_arguments& own) {
  const std::uint64_t count = std::uint64_t{row_count(own.rows)} * own.heads;
  for (std::uint64_t i = warp_index(); i < count; i += warp_count())
    RowAttention(own, static_cast<std::uint32_t>(i / own.heads),
                 static_cast<std::uint32_t>(i % own.heads))
        .write();
}

__device__ __forceinline__ void swiglu(const draftproof_swiglu_arguments& own) {
  for_each_element(own.rows, own.width, [&](std::uint32_t row, std::uint32_t i) {
    const float* both = at<const float>(own.gate_up) + row * own.gate_up_stride;
    const float gate = both[i];
    const float gated = __fdiv_rn(gate, __fadd_rn(1.0f, exponential(-gate)));
    at<float>(own.output)[row * own.output_stride + i] = __fmul_rn(gated, both[own.width + i]);
  });
}

__device__ __forceinline__ void residual_add(const draftproof_residual_add_arguments& own) {
  for_each_element(own.rows, own.width, [&](std::uint32_t row, std::uint32_t i) {
    float* sum = at<float>(own.sum) + row * own.sum_stride + i;
    *sum = __fadd_rn(*sum, at<const float>(own.addend)[row * own.addend_stride + i]);
  });
}

}  // namespace draftproof::gpu::kernels::model

#define DRAFTPROOF_MODEL_ENTRY(name, stage, call)                        \
  extern "C" __global__ void __launch_bounds__(1024, 1)                  \
      name(const __grid_constant__ draftproof_##stage##_arguments own) { \
    draftproof::gpu::kernels::model::call(own);                          \
  }

DRAFTPROOF_MODEL_ENTRY(draftproof_embed_f32, embed, embed<draftproof::gpu::kernels::Float32>)
DRAFTPROOF_MODEL_ENTRY(draftproof_embed_bf16, embed, embed<draftproof::gpu::kernels::Bfloat16>)
DRAFTPROOF_MODEL_ENTRY(draftproof_rms_norm, rms_norm, rms_norm)
DRAFTPROOF_MODEL_ENTRY(draftproof_gemm_f32, gemm, gemm<draftproof::gpu::kernels::Float32>)
DRAFTPROOF_MODEL_ENTRY(draftproof_gemm_bf16, gemm, gemm<draftproof::gpu::kernels::Bfloat16>)
DRAFTPROOF_MODEL_ENTRY(draftproof_rope_scatter, rope_scatter, rope_scatter)
DRAFTPROOF_MODEL_ENTRY(draftproof_attention, attention, attention)
DRAFTPROOF_MODEL_ENTRY(draftproof_swiglu, swiglu, swiglu)
DRAFTPROOF_MODEL_ENTRY(draftproof_residual_add, residual_add, residual_add)
