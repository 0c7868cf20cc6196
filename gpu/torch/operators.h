// Operators: the C interface as PyTorch custom operators, torch.ops.draftproof.*. Nothing of CUDA
// is included: the stream comes as a number, and memory is torch's own, so that a captured graph
// can hold these calls. On CPU tensors they run on the emulated device (session.h).
//
// Shapes: target_rows [B, D + 1, V], draft_rows [B, D, V], rows as far apart as the tensor says,
// elements of a row together; draft_tokens int32 [B, D]; requests uint8 [B, 64], as the operator of
// that name makes them; coins int64 [B, D + 1, columns]; tokens and reasons int32 [B, D + 1];
// outcomes int32 [B, 4] as draftproof_outcome.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

namespace draftproof::gpu::torch {

using FourTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
using OptionalTensor = std::optional<at::Tensor>;

/// The records of a batch, on the CPU; `.to(device)` takes them there. temperature, top_p and min_p
/// are float64, the others int64, all [B].
at::Tensor requests(const at::Tensor& temperature, const at::Tensor& top_k, const at::Tensor& top_p,
                    const at::Tensor& min_p, const at::Tensor& draft_counts,
                    const at::Tensor& coin_requests, const at::Tensor& coin_positions,
                    const at::Tensor& coin_iterations, const std::string& preset,
                    std::int64_t vocab_size);

/// Shaping and a rule, two launches: tokens, reasons, outcomes, and accepted nodes [B, D] of a
/// tree.
FourTensors verify(const at::Tensor& target_rows, const OptionalTensor& draft_rows,
                   const at::Tensor& draft_tokens, const OptionalTensor& parents,
                   const at::Tensor& requests, const OptionalTensor& coins, std::int64_t seed,
                   const std::string& rule, const std::string& draft_kind, std::int64_t stream);
/// What verify would answer, for tensors without memory: tracing and compiling.
FourTensors verify_shapes(const at::Tensor& target_rows, const OptionalTensor& draft_rows,
                          const at::Tensor& draft_tokens, const OptionalTensor& parents,
                          const at::Tensor& requests, const OptionalTensor& coins,
                          std::int64_t seed, const std::string& rule, const std::string& draft_kind,
                          std::int64_t stream);

/// A zeroed workspace, uint8, for accept of tensors of these shapes. It serves one stream at a
/// time.
at::Tensor acceptance_workspace(const at::Tensor& target_rows, const OptionalTensor& draft_rows,
                                const std::string& draft_kind);
/// The chain rule, one launch: tokens, reasons, outcomes, and KV plans int32 [B, 4].
FourTensors accept(const at::Tensor& target_rows, const OptionalTensor& draft_rows,
                   const at::Tensor& draft_tokens, const at::Tensor& requests,
                   const OptionalTensor& coins, const OptionalTensor& kv_lengths, std::int64_t seed,
                   const std::string& draft_kind, const at::Tensor& workspace, std::int64_t stream);
FourTensors accept_shapes(const at::Tensor& target_rows, const OptionalTensor& draft_rows,
                          const at::Tensor& draft_tokens, const at::Tensor& requests,
                          const OptionalTensor& coins, const OptionalTensor& kv_lengths,
                          std::int64_t seed, const std::string& draft_kind,
                          const at::Tensor& workspace, std::int64_t stream);

/// Commits accepted cells of one layer, in place: planes [pages, page_size, heads, elements].
void kv_commit(at::TensorList planes, const at::Tensor& tables, const at::Tensor& lengths,
               const at::Tensor& fed_counts, const at::Tensor& outcomes,
               const OptionalTensor& nodes, std::int64_t leading_count,
               const at::Tensor& new_lengths, const at::Tensor& statuses, std::int64_t stream);

}  // namespace draftproof::gpu::torch
