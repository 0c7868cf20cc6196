// Rows: what shaping, rules and fused acceptance are all told of a batch, taken from its tensors
// and checked: types, sizes, devices, and whether a row's elements lie together.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "gpu/draftproof_kernels.h"

namespace draftproof::gpu::torch {

/// Raises unless `tensor` is contiguous, of this type and sizes, and on `device`.
void need_tensor(const at::Tensor& tensor, const char* name, at::ScalarType type,
                 at::IntArrayRef sizes, const at::Device& device);
/// The same of a tensor that may be missing.
void need_tensor(const std::optional<at::Tensor>& tensor, const char* name, at::ScalarType type,
                 at::IntArrayRef sizes, const at::Device& device);

struct Rows {
  /// `draft_kind`: "logits", "probabilities" or "one-hot".
  Rows(const at::Tensor& target_rows, const std::optional<at::Tensor>& draft_rows,
       const at::Tensor& draft_tokens, const at::Tensor& requests, const std::string& draft_kind);

  /// An unwritten tensor on the rows' device.
  at::Tensor output(at::IntArrayRef sizes, at::ScalarType type = at::kInt) const;
  /// Raises unless coins are missing or int64 [B, D + 1, columns].
  void need_coins(const std::optional<at::Tensor>& coins, std::int64_t columns) const;
  /// False where there is nothing to read.
  bool has_draft_rows() const { return draft_kind != DRAFTPROOF_DRAFT_ONE_HOT; }

  std::int64_t batch = 0, drafts = 0, vocabulary = 0;
  at::Device device;
  std::uint64_t target_stride = 0;  ///< elements
  std::uint64_t draft_stride = 0;
  std::uint32_t format = DRAFTPROOF_FLOAT32;
  std::uint32_t draft_kind = DRAFTPROOF_DRAFT_ONE_HOT;
};

}  // namespace draftproof::gpu::torch
