// cuRAND's Philox4_32_10 stream, written from its definition: Philox4x32 with 10 rounds (Salmon et
// al., SC 2011), key = seed, counter = (block of four words, subsequence), and the coin of a word
// as the header computes it. A kernel with its own random numbers is judged by replaying them, so
// this must not come from the code that the kernel includes, nor from the coins of the reference.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace draftproof::oracle {

/// The stream that curand_init(seed, subsequence, offset) starts.
class CurandStream {
 public:
  CurandStream(std::uint64_t seed, std::uint64_t subsequence, std::uint64_t offset)
      : seed_(seed), subsequence_(subsequence), offset_(offset) {}

  /// The index-th number that curand() returns, counted from 0.
  std::uint32_t word(std::uint64_t index) const;
  /// The index-th number that curand_uniform() returns: in [2^-33, 1].
  float coin(std::uint64_t index) const { return coin_of(word(index)); }

  /// fp32(fp32(word) 2^-32 + 2^-33): 1 for the 128 largest words, 2^-33 for word 0.
  static float coin_of(std::uint32_t word);

  /// The first index in [0, limit) whose word is in [least, greatest].
  std::optional<std::uint64_t> find(std::uint32_t least, std::uint32_t greatest,
                                    std::uint64_t limit) const;

 private:
  std::array<std::uint32_t, 4> block(std::uint64_t index) const;

  std::uint64_t seed_, subsequence_, offset_;
};

}  // namespace draftproof::oracle
