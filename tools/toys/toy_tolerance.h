// Toy tolerance: how far an engine's arithmetic may take the law of a toy from the float64 one:
// what a judge has to grant before it calls a difference a fault. Derived where everything that is
// rounded is known; of attention, whose rounding has no useful bound, measured and multiplied.
#pragma once

#include <string>
#include <string_view>

#include "tools/toys/tensor.h"
#include "tools/toys/toy_spec.h"

namespace draftproof::tools::toys {

/// What the engine computes with. Weights of any format are the same numbers; what differs is what
/// the engine rounds states, caches and logits to.
struct EngineArithmetic {
  std::string engine;  ///< "llama.cpp", "openvino-genai", "transformers", "vllm", ...
  TensorFormat dtype = TensorFormat::kF32;  ///< of the toy's files
  TensorFormat cache = TensorFormat::kF32;  ///< of keys and values
};

struct ToyTolerance {
  /// Of the logarithm of a token's probability, at any token with more than 2^-20 of it.
  double nats = 0;
  /// Of the difference of two logits of one row between two runs of the engine: what is nearer is a
  /// near tie.
  double near_tie = 0;
  std::string because;  ///< one sentence
};

/// Temperatures below 1 widen what is rounded: logits are divided by them. Precondition:
/// temperature > 0.
ToyTolerance tolerance_of(const ToySpec& spec, const EngineArithmetic& arithmetic,
                          double temperature = 1);

}  // namespace draftproof::tools::toys
