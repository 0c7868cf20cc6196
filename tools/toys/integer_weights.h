// Weights of the integer toy: a transformer in which everything that reaches a logit is +-1 until
// the last matrix, whatever the order of summation, the block sizes or the batch.
//
//   states     64 channels that are always +-1, so that every RMS norm is exactly 1. Two are
//              constant, 12 hold the token's code, the others begin as +1 and are written over by
//              adding (value - 1): 0 or -2
//   attention  every head looks back a certain number of places, one of two, which a channel
//              selects. Its keys are constant: a score is a sum of cosines of angles that RoPE
//              makes proportional to the distance, and falls by more than 104 from the place it
//              looks at to any other, so that all other weights underflow to 0 in fp32 and the
//              place's is exactly 1. Nearer the beginning it looks at the first token
//   SwiGLU     gates are +-128: silu(128) is 128 and silu(-128) is 0 in fp32; two units together
//              are the product of two channels
//   logits     integers times a power of two: a multiple of M >= vocabulary size that the state
//              decides, plus the token's own number below M. No two are equal, and no sum of any
//              of them passes 2^24
//
// In exact arithmetic the same weights are within exp(-104) of this, which float64 does not see.
#pragma once

#include <array>
#include <vector>

#include "tools/toys/toy_spec.h"

namespace draftproof::tools::toys {

/// Where a head looks: so many places back, the first when its channel is +1.
struct IntegerHead {
  int back_if_plus = 1, back_if_minus = 1;
  int channel = 0;
  int from = 0, to = 0, count = 0;  ///< channels it reads there and writes here
};

/// Four heads in each of two layers, and products of channels behind each.
struct IntegerProduct {
  int left = 0, right = 0, to = 0;
};
struct IntegerLayer {
  std::array<IntegerHead, 4> heads;
  std::vector<IntegerProduct> products;
};
const std::array<IntegerLayer, 2>& integer_layers();

/// Amplitudes of the first rotated pairs: a linear program made the least fall of
/// sum A^2 cos(angle x distance) from any of the first 24 distances to the next, and to any beyond,
/// as large as it gets beside sum A^2.
inline constexpr std::array<int, 5> kLookAmplitudes = {48, 75, 34, 35, 247};
inline constexpr int kFarthestLook = 24;

/// Precondition: a valid spec of this kind.
reference::model::ToyLlamaWeights integer_weights(const ToySpec& spec);

}  // namespace draftproof::tools::toys
