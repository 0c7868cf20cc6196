// Fused acceptance.
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <string>

#include "gpu/torch/operators.h"
#include "gpu/torch/rows.h"
#include "gpu/torch/session.h"

namespace draftproof::gpu::torch {
namespace {

using at::Tensor;
using std::int64_t;

/// Capacities and the division, which depend on the shapes and the device alone.
draftproof_acceptance_arguments divided(const draftproof_library* library, int64_t batch,
                                        int64_t drafts, int64_t vocabulary, std::uint32_t format,
                                        std::uint32_t draft_kind) {
  draftproof_acceptance_arguments arguments{};
  arguments.request_capacity = static_cast<std::uint32_t>(batch);
  arguments.padded_draft_count = static_cast<std::uint32_t>(drafts);
  arguments.vocab_size = static_cast<std::uint32_t>(vocabulary);
  arguments.format = format;
  arguments.draft_kind = draft_kind;
  need(draftproof_acceptance_divide(library, &arguments));
  need(draftproof_acceptance_workspace(&arguments, &arguments.workspace_bytes));
  return arguments;
}

draftproof_acceptance_arguments divided(const draftproof_library* library, const Rows& rows) {
  return divided(library, rows.batch, rows.drafts, rows.vocabulary, rows.format, rows.draft_kind);
}

}  // namespace

Tensor acceptance_workspace(const Tensor& target_rows, const OptionalTensor& draft_rows,
                            const std::string& draft_kind) {
  TORCH_CHECK(target_rows.dim() == 3, "draftproof: target_rows must be [batch, rows, vocabulary]");
  const at::TensorOptions on_device = at::TensorOptions().device(target_rows.device());
  const Tensor tokens =
      at::empty({target_rows.size(0), target_rows.size(1) - 1}, on_device.dtype(at::kInt));
  const Tensor records =
      at::empty({target_rows.size(0), static_cast<int64_t>(sizeof(draftproof_request))},
                on_device.dtype(at::kByte));
  const Rows rows(target_rows, draft_rows, tokens, records, draft_kind);
  const Session session(rows.device, 0);
  const auto bytes = static_cast<int64_t>(divided(session.library(), rows).workspace_bytes);
  return at::zeros({bytes}, on_device.dtype(at::kByte));
}

FourTensors accept(const Tensor& target_rows, const OptionalTensor& draft_rows,
                   const Tensor& draft_tokens, const Tensor& requests, const OptionalTensor& coins,
                   const OptionalTensor& kv_lengths, int64_t seed, const std::string& draft_kind,
                   const Tensor& workspace, int64_t stream) {
  const Rows rows(target_rows, draft_rows, draft_tokens, requests, draft_kind);
  rows.need_coins(coins, 3);
  need_tensor(kv_lengths, "kv_lengths", at::kInt, {rows.batch}, rows.device);
  need_tensor(workspace, "workspace", at::kByte, {workspace.numel()}, rows.device);
  const Tensor tokens = rows.output({rows.batch, rows.drafts + 1});
  const Tensor reasons = rows.output({rows.batch, rows.drafts + 1});
  const Tensor outcomes = rows.output({rows.batch, 4});
  const Tensor plans = rows.output({rows.batch, 4});

  Session session(rows.device, stream);
  draftproof_acceptance_arguments fused = divided(session.library(), rows);
  fused.target_rows = session.read(target_rows, "target_rows");
  fused.target_row_stride = rows.target_stride;
  fused.draft_rows = rows.has_draft_rows() ? session.read(draft_rows, "draft_rows") : 0;
  fused.draft_row_stride = rows.draft_stride;
  fused.draft_tokens = session.read(draft_tokens, "draft_tokens");
  fused.requests = session.read(requests, "requests");
  fused.coins = session.read(coins, "coins");
  fused.seed = static_cast<std::uint64_t>(seed);
  fused.kv_lengths = session.read(kv_lengths, "kv_lengths");
  fused.emitted_tokens = session.written(tokens, "emitted_tokens");
  fused.emitted_reasons = session.written(reasons, "emitted_reasons");
  fused.outcomes = session.written(outcomes, "outcomes");
  fused.kv_plans = session.written(plans, "kv_plans");
  fused.workspace = session.written(workspace, "workspace");
  fused.workspace_bytes = static_cast<std::uint64_t>(workspace.numel());
  session.need_launch(draftproof_acceptance_launch(session.library(), &fused, session.stream()));
  session.finish();
  return {tokens, reasons, outcomes, plans};
}

FourTensors accept_shapes(const Tensor& target_rows, const OptionalTensor&, const Tensor&,
                          const Tensor&, const OptionalTensor&, const OptionalTensor&, int64_t,
                          const std::string&, const Tensor&, int64_t) {
  const auto shaped = [&](c10::SymIntArrayRef sizes) {
    return at::empty_symint(sizes, target_rows.options().dtype(at::kInt));
  };
  const c10::SymInt batch = target_rows.sym_size(0), slots = target_rows.sym_size(1);
  return {shaped({batch, slots}), shaped({batch, slots}), shaped({batch, 4}), shaped({batch, 4})};
}

}  // namespace draftproof::gpu::torch
