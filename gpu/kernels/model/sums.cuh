// Sums and exponentials in fp32 with every rounding written down, so that they have the same bits
// on any device.
#pragma once

#include <cstdint>

#include "gpu/kernels/arguments/model.h"

namespace draftproof::gpu::kernels::model {

inline constexpr std::uint32_t kLanes = 32;

/// An address of the arguments as what lies there.
template <class Element>
__device__ __forceinline__ Element* at(draftproof_pointer pointer) {
  return reinterpret_cast<Element*>(pointer);
}

__device__ __forceinline__ std::uint32_t row_count(const draftproof_model_rows& rows) {
  return rows.count == 0 ? rows.row_max : min(*at<const std::uint32_t>(rows.count), rows.row_max);
}

__device__ __forceinline__ std::uint32_t lane() { return threadIdx.x % kLanes; }
/// Which warp of the grid's first dimension this is.
__device__ __forceinline__ std::uint64_t warp_index() {
  return std::uint64_t{blockIdx.x} * (blockDim.x / kLanes) + threadIdx.x / kLanes;
}
__device__ __forceinline__ std::uint64_t warp_count() {
  return std::uint64_t{gridDim.x} * (blockDim.x / kLanes);
}

/// The sum over the lanes, the same bits in all of them: each addition is of two numbers that
/// both lanes have, and which comes first does not matter.
__device__ __forceinline__ float lane_sum(float value) {
#pragma unroll
  for (std::uint32_t distance = kLanes / 2; distance > 0; distance /= 2)
    value = __fadd_rn(value, __shfl_xor_sync(0xffffffffu, value, distance));
  return value;
}

/// exp(x) within 4 units of 2^-24: x = n ln 2 + r, |r| <= 0.347, in two steps (Cody and Waite),
/// then Taylor's polynomial of degree 7, whose remainder is below 2^-27. 0 below -87, infinity
/// above 88, NaN of NaN.
__device__ __forceinline__ float exponential(float x) {
  if (x < -87.0f) return 0.0f;
  if (!(x <= 88.0f)) return __fadd_rn(x, __uint_as_float(0x7f800000u));
  const float shifted = __fmaf_rn(x, 1.44269504f, 12582912.0f);
  const float n = __fsub_rn(shifted, 12582912.0f);
  // 0.693359375 has 9 significant bits, so that its product with n is exact.
  float r = __fmaf_rn(n, -0.693359375f, x);
  r = __fmaf_rn(n, 2.12194440e-4f, r);
  float y = __fmaf_rn(r, 1.0f / 5040.0f, 1.0f / 720.0f);
  y = __fmaf_rn(y, r, 1.0f / 120.0f);
  y = __fmaf_rn(y, r, 1.0f / 24.0f);
  y = __fmaf_rn(y, r, 1.0f / 6.0f);
  y = __fmaf_rn(y, r, 0.5f);
  y = __fmaf_rn(y, r, 1.0f);
  y = __fmaf_rn(y, r, 1.0f);
  const std::uint32_t exponent = (__float_as_uint(shifted) - 0x4b400000u) << 23;
  return __uint_as_float(__float_as_uint(y) + exponent);
}

}  // namespace draftproof::gpu::kernels::model
