#include "oracle/curand_stream.h"

namespace draftproof::oracle {
namespace {

constexpr int kRounds = 10;
// Philox4x32's multipliers and Weyl increments (Salmon et al., table 2).
constexpr std::uint64_t kMultiplier0 = 0xD2511F53u;
constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57u;
constexpr std::uint32_t kIncrement0 = 0x9E3779B9u;
constexpr std::uint32_t kIncrement1 = 0xBB67AE85u;

constexpr std::uint32_t high(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}
constexpr std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

}  // namespace

std::array<std::uint32_t, 4> CurandStream::block(std::uint64_t index) const {
  std::array<std::uint32_t, 4> state = {low(index), high(index), low(subsequence_),
                                        high(subsequence_)};
  std::uint32_t key0 = low(seed_);
  std::uint32_t key1 = high(seed_);
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = kMultiplier0 * state[0];
    const std::uint64_t product1 = kMultiplier1 * state[2];
    state = {high(product1) ^ state[1] ^ key0, low(product1), high(product0) ^ state[3] ^ key1,
             low(product0)};
    key0 += kIncrement0;
    key1 += kIncrement1;
  }
  return state;
}

std::uint32_t CurandStream::word(std::uint64_t index) const {
  const std::uint64_t place = offset_ + index;
  return block(place / 4)[place % 4];
}

float CurandStream::coin_of(std::uint32_t word) {
  // The product is exact, so whether a compiler fuses it with the addition makes no difference.
  return static_cast<float>(word) * 0x1p-32f + 0x1p-33f;
}

std::optional<std::uint64_t> CurandStream::find(std::uint32_t least, std::uint32_t greatest,
                                                std::uint64_t limit) const {
  const std::uint64_t end = offset_ + limit;
  for (std::uint64_t at = offset_ / 4; at * 4 < end; ++at) {
    const std::array<std::uint32_t, 4> words = block(at);
    for (std::uint64_t lane = 0; lane < 4; ++lane) {
      const std::uint64_t place = at * 4 + lane;
      if (words[lane] >= least && words[lane] <= greatest && place >= offset_ && place < end)
        return place - offset_;
    }
  }
  return std::nullopt;
}

}  // namespace draftproof::oracle
