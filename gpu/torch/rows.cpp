#include "gpu/torch/rows.h"

#include <ATen/ops/empty.h>

namespace draftproof::gpu::torch {
namespace {

using at::Tensor;

std::uint32_t format_of(const Tensor& rows) {
  if (rows.scalar_type() == at::kFloat) return DRAFTPROOF_FLOAT32;
  if (rows.scalar_type() == at::kBFloat16) return DRAFTPROOF_BFLOAT16;
  TORCH_CHECK(rows.scalar_type() == at::kHalf,
              "draftproof: logits must be float32, bfloat16 or float16");
  return DRAFTPROOF_FLOAT16;
}

std::uint32_t draft_kind_of(const std::string& kind) {
  if (kind == "logits") return DRAFTPROOF_DRAFT_LOGITS;
  if (kind == "probabilities") return DRAFTPROOF_DRAFT_PROBABILITIES;
  TORCH_CHECK(kind == "one-hot",
              "draftproof: draft_kind must be 'logits', 'probabilities' or 'one-hot'");
  return DRAFTPROOF_DRAFT_ONE_HOT;
}

/// Elements from row to row of [B, rows, V].
std::uint64_t row_stride(const Tensor& rows, const char* name) {
  TORCH_CHECK(rows.dim() == 3, "draftproof: ", name, " must be [batch, rows, vocabulary]");
  TORCH_CHECK(rows.size(2) == 1 || rows.stride(2) == 1, "draftproof: the elements of a row of ",
              name, " must lie together");
  const std::int64_t stride = rows.size(1) == 1 ? rows.stride(0) : rows.stride(1);
  TORCH_CHECK(rows.numel() == 0 || rows.size(0) <= 1 || rows.stride(0) == stride * rows.size(1),
              "draftproof: the rows of ", name, " must be equally far apart across requests");
  return static_cast<std::uint64_t>(stride);
}

}  // namespace

void need_tensor(const Tensor& tensor, const char* name, at::ScalarType type, at::IntArrayRef sizes,
                 const at::Device& device) {
  TORCH_CHECK(tensor.scalar_type() == type && tensor.sizes() == sizes && tensor.is_contiguous() &&
                  tensor.device() == device,
              "draftproof: ", name, " must be a contiguous ", type, " tensor of sizes ", sizes,
              " on ", device);
}
void need_tensor(const std::optional<Tensor>& tensor, const char* name, at::ScalarType type,
                 at::IntArrayRef sizes, const at::Device& device) {
  if (tensor.has_value()) need_tensor(*tensor, name, type, sizes, device);
}

Rows::Rows(const Tensor& target_rows, const std::optional<Tensor>& draft_rows,
           const Tensor& draft_tokens, const Tensor& requests, const std::string& kind)
    : device(target_rows.device()),
      target_stride(row_stride(target_rows, "target_rows")),
      format(format_of(target_rows)),
      draft_kind(draft_kind_of(kind)) {
  batch = target_rows.size(0);
  drafts = target_rows.size(1) - 1;
  vocabulary = target_rows.size(2);
  TORCH_CHECK(batch >= 1 && batch <= 0x7fffffff && drafts >= 0 && drafts <= 1 << 16 &&
                  vocabulary >= 1 && vocabulary <= 1 << 20,
              "draftproof: target_rows must be [1 .. 2^31 - 1, 1 .. 65537, 1 .. 2^20]");
  TORCH_CHECK(draft_rows.has_value() == has_draft_rows(),
              "draftproof: draft_rows are given exactly when draft_kind is not 'one-hot'");
  need_tensor(draft_tokens, "draft_tokens", at::kInt, {batch, drafts}, device);
  need_tensor(requests, "requests", at::kByte,
              {batch, static_cast<std::int64_t>(sizeof(draftproof_request))}, device);
  if (!draft_rows.has_value()) return;
  draft_stride = row_stride(*draft_rows, "draft_rows");
  TORCH_CHECK(draft_rows->sizes() == at::IntArrayRef({batch, drafts, vocabulary}) &&
                  draft_rows->device() == device,
              "draftproof: draft_rows must be [batch, drafts, vocabulary] on the target's device");
  const auto type = draft_kind == DRAFTPROOF_DRAFT_LOGITS ? target_rows.scalar_type() : at::kFloat;
  TORCH_CHECK(draft_rows->scalar_type() == type, "draftproof: draft_rows must be ", type);
  // Rows of no drafts: there is nothing to read, whatever they are.
  if (drafts == 0) draft_kind = DRAFTPROOF_DRAFT_ONE_HOT;
  if (drafts == 0) draft_stride = 0;
}

Tensor Rows::output(at::IntArrayRef sizes, at::ScalarType type) const {
  return at::empty(sizes, at::TensorOptions().device(device).dtype(type));
}

void Rows::need_coins(const std::optional<Tensor>& coins, std::int64_t columns) const {
  TORCH_CHECK(columns != 0 || !coins.has_value(), "draftproof: the rule reads no coins");
  need_tensor(coins, "coins", at::kLong, {batch, drafts + 1, columns}, device);
}

}  // namespace draftproof::gpu::torch
