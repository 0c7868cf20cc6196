// Commit of KV caches.
#include "gpu/torch/operators.h"
#include "gpu/torch/rows.h"
#include "gpu/torch/session.h"

namespace draftproof::gpu::torch {

using at::Tensor;
using std::int64_t;

void kv_commit(at::TensorList planes, const Tensor& tables, const Tensor& lengths,
               const Tensor& fed_counts, const Tensor& outcomes, const std::optional<Tensor>& nodes,
               int64_t leading_count, const Tensor& new_lengths, const Tensor& statuses,
               int64_t stream) {
  const int64_t batch = tables.size(0);
  const at::Device device = tables.device();
  TORCH_CHECK(!planes.empty() && planes.size() <= DRAFTPROOF_KV_PLANES_MAX,
              "draftproof: planes must be 1 .. ", DRAFTPROOF_KV_PLANES_MAX, " tensors");
  TORCH_CHECK(tables.dim() == 2 && tables.scalar_type() == at::kInt && tables.stride(1) == 1,
              "draftproof: tables must be int32 [batch, pages of a sequence]");
  for (const Tensor& each : {lengths, fed_counts, new_lengths, statuses})
    need_tensor(each, "lengths, fed_counts, new_lengths, statuses", at::kInt, {batch}, device);
  need_tensor(outcomes, "outcomes", at::kInt, {batch, 4}, device);

  Session session(device, stream);
  draftproof_kv_commit_arguments kv{};
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const Tensor& plane = planes[i];
    TORCH_CHECK(plane.dim() == 4 && plane.stride(3) == 1 && plane.device() == device &&
                    plane.size(0) == planes[0].size(0) && plane.size(1) == planes[0].size(1),
                "draftproof: planes must be [pages, page_size, heads, elements], pages alike");
    const int64_t bytes = plane.element_size();
    kv.pool.planes[i].base = session.written(plane, "plane");
    kv.pool.planes[i].page_stride = static_cast<uint64_t>(plane.stride(0) * bytes);
    kv.pool.planes[i].slot_stride = static_cast<uint64_t>(plane.stride(1) * bytes);
    kv.pool.planes[i].head_stride = static_cast<uint64_t>(plane.stride(2) * bytes);
    kv.pool.planes[i].head_count = static_cast<uint32_t>(plane.size(2));
    kv.pool.planes[i].head_bytes = static_cast<uint32_t>(plane.size(3) * bytes);
  }
  kv.pool.plane_count = static_cast<uint32_t>(planes.size());
  kv.pool.layer_count = 1;
  kv.pool.page_count = static_cast<uint32_t>(planes[0].size(0));
  kv.pool.page_size = static_cast<uint32_t>(planes[0].size(1));
  kv.sequences.tables = session.read(tables, "tables");
  kv.sequences.table_stride = static_cast<uint64_t>(tables.stride(0));
  kv.sequences.page_max = static_cast<uint32_t>(tables.size(1));
  kv.sequences.row_count = kv.sequences.sequence_count = static_cast<uint32_t>(batch);
  kv.sequences.lengths = session.read(lengths, "lengths");
  kv.sequences.fed_counts = session.read(fed_counts, "fed_counts");
  kv.kept.counts = session.read(outcomes, "outcomes");
  kv.kept.count_stride_bytes = sizeof(draftproof_outcome);
  kv.kept.kept_max = nodes.has_value() ? static_cast<uint32_t>(nodes->size(1)) : (1u << 24) - 1;
  kv.kept.leading_count = static_cast<uint32_t>(leading_count);
  if (nodes.has_value()) {
    need_tensor(*nodes, "nodes", at::kInt, {batch, nodes->size(1)}, device);
    kv.kept.nodes = session.read(*nodes, "nodes");
    kv.kept.node_stride = kv.kept.kept_max;
  }
  kv.new_lengths = session.written(new_lengths, "new_lengths");
  kv.statuses = session.written(statuses, "statuses");
  session.need_launch(draftproof_kv_commit_launch(session.library(), &kv, session.stream()));
  session.finish();
}

}  // namespace draftproof::gpu::torch
