// Input: one batch that every pipeline judges, ours and others', so that their costs can be held
// against each other. How many drafted tokens are accepted is built in, whatever the coins: in
// front of the rejection each token is the target's most probable one and the draft's least, and
// the rejected one has no target mass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reference/proposal.h"

namespace draftproof::tools::cost {

struct Shape {
  std::size_t vocab_size = 32000;
  std::size_t draft_length = 4;
  std::size_t requests = 1;
  bool has_filters = false;  ///< top-k 50, then top-p 0.95, at temperature 0.8
  reference::LogitFormat format = reference::LogitFormat::kFloat32;

  std::size_t accepted() const { return draft_length / 2; }
  std::size_t row_bytes() const;
  /// What acceptance from logits reads: the target's rows and one draft row of fp32, once. One that
  /// stops at a rejection stays below it.
  std::size_t floor_bytes() const;
  /// Elements of these rows.
  std::size_t elements() const { return requests * (draft_length + 2) * vocab_size; }
};

inline constexpr double kTemperature = 0.8;
inline constexpr int kTopK = 50;
inline constexpr double kTopP = 0.95;

struct Input {
  Shape shape;
  /// Draft rows are probabilities: final laws, which no pipeline shapes.
  reference::Batch batch;
};

/// Throws Error(kInput) for a vocabulary below 8, no request, or more than memory is good for.
Input make_input(const Shape& shape, std::uint64_t seed);

}  // namespace draftproof::tools::cost
