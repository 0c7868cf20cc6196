// Wide: unsigned 128-bit integers as two 64-bit halves, as far as the acceptance rule needs them
// (numerics contract, section 1: products below 2^108, sums below 2^126).
//
// The accumulators of gpu/kernels/locate.cuh are either Wide or plain 64-bit words; the overloads
// at the end give both the same vocabulary.
#pragma once

#include <cstdint>

namespace draftproof::gpu::kernels {

struct Wide {
  std::uint64_t high;
  std::uint64_t low;
};

__device__ __forceinline__ Wide wide_product(std::uint64_t a, std::uint64_t b) {
  return {__umul64hi(a, b), a * b};
}

__device__ __forceinline__ bool less(Wide a, Wide b) {
  return a.high != b.high ? a.high < b.high : a.low < b.low;
}

__device__ __forceinline__ Wide sum(Wide a, Wide b) {
  const std::uint64_t low = a.low + b.low;
  return {a.high + b.high + (low < a.low ? 1u : 0u), low};
}

/// a - b. Precondition: b <= a.
__device__ __forceinline__ Wide difference(Wide a, Wide b) {
  return {a.high - b.high - (a.low < b.low ? 1u : 0u), a.low - b.low};
}

/// floor(coin * a / 2^64). Precondition: a < 2^127.
__device__ __forceinline__ Wide scaled(std::uint64_t coin, Wide a) {
  return sum(wide_product(coin, a.high), {0, __umul64hi(coin, a.low)});
}

/// floor(coin * a / 2^64).
__device__ __forceinline__ std::uint64_t scaled(std::uint64_t coin, std::uint64_t a) {
  return __umul64hi(coin, a);
}

__device__ __forceinline__ bool less(std::uint64_t a, std::uint64_t b) { return a < b; }
__device__ __forceinline__ std::uint64_t sum(std::uint64_t a, std::uint64_t b) { return a + b; }
__device__ __forceinline__ std::uint64_t difference(std::uint64_t a, std::uint64_t b) {
  return a - b;
}

__device__ __forceinline__ std::uint64_t exchange_up(std::uint64_t value, int distance) {
  return __shfl_up_sync(0xffffffffu, value, distance);
}
__device__ __forceinline__ std::uint64_t exchange_across(std::uint64_t value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}
__device__ __forceinline__ std::uint64_t exchange_from(std::uint64_t value, int lane) {
  return __shfl_sync(0xffffffffu, value, lane);
}
__device__ __forceinline__ Wide exchange_up(Wide value, int distance) {
  return {exchange_up(value.high, distance), exchange_up(value.low, distance)};
}
__device__ __forceinline__ Wide exchange_across(Wide value, int mask) {
  return {exchange_across(value.high, mask), exchange_across(value.low, mask)};
}
__device__ __forceinline__ Wide exchange_from(Wide value, int lane) {
  return {exchange_from(value.high, lane), exchange_from(value.low, lane)};
}

}  // namespace draftproof::gpu::kernels
