// Coins on the device: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011), with the coin's address packed here and not by anything the reference uses.
//
// key = (seed low, seed high), counter = {position, slot, purpose | iteration << 8, request},
// coin = out[1] << 32 | out[0]. Rules that stop at the first failure (the chain, trees walked from
// the root) are prefix-adapted: their iteration is always 0.
#pragma once

#include <cstdint>

#include "gpu/kernels/layout.h"

namespace draftproof::gpu::kernels {

enum class CoinPurpose : std::uint32_t {
  kDraft = 0,
  kAccept = 1,
  kRecovered = 2,
  kBonus = 3,
  kTreeLevel = 4,
  kTreeSecond = 5,
};

/// Coin of (position, slot, purpose, iteration < 2^24, request) under `seed`.
__device__ __forceinline__ std::uint64_t philox_coin(std::uint64_t seed, std::uint32_t position,
                                                     std::uint32_t slot, CoinPurpose purpose,
                                                     std::uint32_t request,
                                                     std::uint32_t iteration = 0) {
  std::uint32_t word0 = position, word1 = slot;
  std::uint32_t word2 = static_cast<std::uint32_t>(purpose) | iteration << 8, word3 = request;
  std::uint32_t key0 = static_cast<std::uint32_t>(seed);
  std::uint32_t key1 = static_cast<std::uint32_t>(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = std::uint64_t{0xD2511F53u} * word0;
    const std::uint64_t odd = std::uint64_t{0xCD9E8D57u} * word2;
    word0 = static_cast<std::uint32_t>(odd >> 32) ^ word1 ^ key0;
    word1 = static_cast<std::uint32_t>(odd);
    word2 = static_cast<std::uint32_t>(even >> 32) ^ word3 ^ key1;
    word3 = static_cast<std::uint32_t>(even);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return std::uint64_t{word1} << 32 | word0;
}

/// Where a request's coins come from: a buffer when there is one (layout.h), else Philox.
struct CoinSource {
  const std::uint64_t* buffer;  ///< nullable
  std::uint64_t first_slot;     ///< request * (padded_draft_count + 1)
  std::uint64_t seed;
  std::uint32_t request;
  std::uint32_t position;
  std::uint32_t iteration = 0;
  std::uint32_t columns = kCoinColumns;

  /// Chains: the coin of the request's `index`-th position.
  __device__ __forceinline__ std::uint64_t coin(std::uint32_t index, CoinPurpose purpose,
                                                CoinColumn column) const {
    if (buffer != nullptr) return buffer[(first_slot + index) * columns + column];
    return philox_coin(seed, position + index, 0, purpose, request, iteration);
  }

  /// Trees: the coin that `node` is tested with, which is child number `sibling` (of those that are
  /// there) of a node that `depth` drafted tokens lead to.
  __device__ __forceinline__ std::uint64_t accept_coin_of(std::uint32_t node, std::uint32_t depth,
                                                          std::uint32_t sibling) const {
    if (buffer != nullptr) return buffer[(first_slot + node) * columns + kAcceptColumn];
    return philox_coin(seed, position + depth, sibling, CoinPurpose::kAccept, request, iteration);
  }

  /// Trees: the coin of another purpose of the target row that `depth` drafted tokens lead to.
  __device__ __forceinline__ std::uint64_t row_coin(std::uint32_t row, std::uint32_t depth,
                                                    CoinPurpose purpose) const {
    const std::uint32_t column = static_cast<std::uint32_t>(purpose) - 1;
    if (buffer != nullptr) return buffer[(first_slot + row) * columns + column];
    return philox_coin(seed, position + depth, 0, purpose, request, iteration);
  }
};
static_assert(kAcceptColumn + 1 == static_cast<std::uint32_t>(CoinPurpose::kAccept));
static_assert(kTreeSecondColumn + 1 == static_cast<std::uint32_t>(CoinPurpose::kTreeSecond));

}  // namespace draftproof::gpu::kernels
