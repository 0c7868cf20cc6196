// Coins on the device: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011), with the coin's address packed here and not by anything the reference uses.
//
// key = (seed low, seed high), counter = {position, slot, purpose | iteration << 8, request},
// coin = out[1] << 32 | out[0]. The chain is prefix-adapted, so its iteration is always 0.
#pragma once

#include <cstdint>

#include "gpu/kernels/layout.h"

namespace draftproof::gpu::kernels {

enum class CoinPurpose : std::uint32_t { kDraft = 0, kAccept = 1, kRecovered = 2, kBonus = 3 };

/// Coin of (position, slot, purpose, iteration 0, request) under `seed`.
__device__ __forceinline__ std::uint64_t philox_coin(std::uint64_t seed, std::uint32_t position,
                                                     std::uint32_t slot, CoinPurpose purpose,
                                                     std::uint32_t request) {
  std::uint32_t word0 = position, word1 = slot;
  std::uint32_t word2 = static_cast<std::uint32_t>(purpose), word3 = request;
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

/// Where a request's coins come from: a buffer when there is one, else Philox.
struct CoinSource {
  const std::uint64_t* buffer;  ///< nullable
  std::uint64_t first_slot;     ///< request * (padded_draft_count + 1)
  std::uint64_t seed;
  std::uint32_t request;
  std::uint32_t position;

  /// The coin of the request's `index`-th position.
  __device__ __forceinline__ std::uint64_t coin(std::uint32_t index, CoinPurpose purpose,
                                                CoinColumn column) const {
    if (buffer != nullptr) return buffer[(first_slot + index) * kCoinColumns + column];
    return philox_coin(seed, position + index, 0, purpose, request);
  }
};

}  // namespace draftproof::gpu::kernels
