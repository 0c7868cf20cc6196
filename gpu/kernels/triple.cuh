// Triple: unsigned 192-bit integers as three 64-bit words, for the one rule whose sums leave 128
// bits (block verification, numerics contract, section 3: residuals below 2^188), and the quotient
// that carries its prefix ratio. The overloads are those of gpu/kernels/wide.cuh, so that
// gpu/kernels/locate.cuh searches in either.
#pragma once

#include <cstdint>

#include "gpu/kernels/wide.cuh"

namespace draftproof::gpu::kernels {

struct Triple {
  std::uint64_t high;
  std::uint64_t middle;
  std::uint64_t low;
};

__device__ __forceinline__ bool less(Triple a, Triple b) {
  return a.high != b.high ? a.high < b.high : less(Wide{a.middle, a.low}, Wide{b.middle, b.low});
}

/// a + b. Precondition: it is below 2^192.
__device__ __forceinline__ Triple sum(Triple a, Triple b) {
  Triple result;
  asm("add.cc.u64 %0, %3, %6;\n\taddc.cc.u64 %1, %4, %7;\n\taddc.u64 %2, %5, %8;"
      : "=&l"(result.low), "=&l"(result.middle), "=l"(result.high)
      : "l"(a.low), "l"(a.middle), "l"(a.high), "l"(b.low), "l"(b.middle), "l"(b.high));
  return result;
}

/// a - b. Precondition: b <= a.
__device__ __forceinline__ Triple difference(Triple a, Triple b) {
  Triple result;
  asm("sub.cc.u64 %0, %3, %6;\n\tsubc.cc.u64 %1, %4, %7;\n\tsubc.u64 %2, %5, %8;"
      : "=&l"(result.low), "=&l"(result.middle), "=l"(result.high)
      : "l"(a.low), "l"(a.middle), "l"(a.high), "l"(b.low), "l"(b.middle), "l"(b.high));
  return result;
}

/// factor a, exactly.
__device__ __forceinline__ Triple triple_product(std::uint64_t factor, Wide a) {
  const Wide upper = sum(wide_product(factor, a.high), {0, __umul64hi(factor, a.low)});
  return {upper.high, upper.low, factor * a.low};
}

/// a 2^bits. Preconditions: 0 < bits < 64, the result is below 2^192.
__device__ __forceinline__ Triple raised(Triple a, std::uint32_t bits) {
  return {a.high << bits | a.middle >> (64 - bits), a.middle << bits | a.low >> (64 - bits),
          a.low << bits};
}

/// floor(coin a / 2^64).
__device__ __forceinline__ Triple scaled(std::uint64_t coin, Triple a) {
  const Triple upper = triple_product(coin, {a.high, a.middle});
  return sum(upper, {0, 0, __umul64hi(coin, a.low)});
}

__device__ __forceinline__ Triple exchange_up(Triple value, int distance) {
  return {exchange_up(value.high, distance), exchange_up(value.middle, distance),
          exchange_up(value.low, distance)};
}
__device__ __forceinline__ Triple exchange_across(Triple value, int mask) {
  return {exchange_across(value.high, mask), exchange_across(value.middle, mask),
          exchange_across(value.low, mask)};
}
__device__ __forceinline__ Triple exchange_from(Triple value, int lane) {
  return {exchange_from(value.high, lane), exchange_from(value.middle, lane),
          exchange_from(value.low, lane)};
}

/// Takes the next 32 binary digits off a long division: returns floor(rest / divisor) and leaves
/// the remainder. Preconditions: the divisor's highest bit is set, rest < divisor 2^32.
__device__ __forceinline__ std::uint64_t next_digits(Triple& rest, Wide divisor) {
  // By its leading digits the quotient comes out right or, since the divisor is normalised, too
  // large by two at most (Knuth, The Art of Computer Programming 2, 4.3.1, theorem B).
  const std::uint64_t head = rest.high << 32 | rest.middle >> 32;
  std::uint64_t digits = min(head / (divisor.high >> 32), std::uint64_t{0xffffffffu});
  Triple taken = triple_product(digits, divisor);
#pragma unroll 1
  for (; less(rest, taken); --digits) taken = difference(taken, {0, divisor.high, divisor.low});
  rest = difference(rest, taken);
  return digits;
}

/// floor(factor a / b). Preconditions: b > 0, factor a < 2^62 b, the product below 2^191.
__device__ __forceinline__ std::uint64_t scaled_quotient(std::uint64_t factor, Wide a, Wide b) {
  Triple product = triple_product(factor, a);
  // Raised until the divisor fills 128 bits, which the quotient does not notice; the dividend is
  // below 2^62 times the divisor, and so stays below 2^190.
  if (b.high == 0) {
    b = {b.low, 0};
    product = {product.middle, product.low, 0};
  }
  const std::uint32_t bits = static_cast<std::uint32_t>(__clzll(static_cast<long long>(b.high)));
  if (bits != 0) {
    b = {b.high << bits | b.low >> (64 - bits), b.low << bits};
    product = raised(product, bits);
  }
  Triple rest{product.high >> 32, product.high << 32 | product.middle >> 32,
              product.middle << 32 | product.low >> 32};
  const std::uint64_t upper = next_digits(rest, b);
  rest = raised(rest, 32);
  rest.low |= product.low & 0xffffffffu;
  return upper << 32 | next_digits(rest, b);
}

}  // namespace draftproof::gpu::kernels
