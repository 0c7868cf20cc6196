// Operators: the C interface as PyTorch custom operators, torch.ops.draftproof.*. Nothing of CUDA
// is included: the stream comes as a number, and memory is torch's own, so that a captured graph
// can hold these calls. On CPU tensors they run on the emulated device (session.h).
//
// Shapes: target_rows [B, D + 1, V], draft_rows [B, D, V], rows as far apart as the tensor says,
// elements of a row together; draft_tokens int32 [B, D]; requests uint8 [B, 64], as the operator of
// that name makes them; outcomes int32 [B, 4] as draftproof_outcome.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <cstring>
#include <optional>
#include <string>
#include <tuple>

#include "gpu/draftproof_kernels.h"
#include "gpu/torch/session.h"

namespace draftproof::gpu::torch {
namespace {

using at::Tensor;
using std::int64_t;

uint32_t format_of(const Tensor& rows) {
  if (rows.scalar_type() == at::kFloat) return DRAFTPROOF_FLOAT32;
  if (rows.scalar_type() == at::kBFloat16) return DRAFTPROOF_BFLOAT16;
  TORCH_CHECK(rows.scalar_type() == at::kHalf,
              "draftproof: logits must be float32, bfloat16 or float16");
  return DRAFTPROOF_FLOAT16;
}

uint32_t draft_kind_of(const std::string& kind) {
  if (kind == "logits") return DRAFTPROOF_DRAFT_LOGITS;
  if (kind == "probabilities") return DRAFTPROOF_DRAFT_PROBABILITIES;
  TORCH_CHECK(kind == "one-hot",
              "draftproof: draft_kind must be 'logits', 'probabilities' or 'one-hot'");
  return DRAFTPROOF_DRAFT_ONE_HOT;
}

/// Elements from row to row of [B, rows, V].
uint64_t row_stride(const Tensor& rows, const char* name) {
  TORCH_CHECK(rows.dim() == 3, "draftproof: ", name, " must be [batch, rows, vocabulary]");
  TORCH_CHECK(rows.size(2) == 1 || rows.stride(2) == 1, "draftproof: the elements of a row of ",
              name, " must lie together");
  const int64_t stride = rows.size(1) == 1 ? rows.stride(0) : rows.stride(1);
  TORCH_CHECK(rows.size(0) <= 1 || rows.stride(0) == stride * rows.size(1),
              "draftproof: the rows of ", name, " must be equally far apart across requests");
  return static_cast<uint64_t>(stride);
}

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

/// What shaping, rules and fused acceptance are all told of a batch.
struct Rows {
  int64_t batch, drafts, vocabulary;
  at::Device device;
  uint64_t target_stride, draft_stride = 0;
  uint32_t format, draft_kind;

  Rows(const Tensor& target_rows, const std::optional<Tensor>& draft_rows,
       const Tensor& draft_tokens, const Tensor& requests, const std::string& kind)
      : batch(target_rows.size(0)),
        drafts(target_rows.size(1) - 1),
        vocabulary(target_rows.size(2)),
        device(target_rows.device()),
        target_stride(row_stride(target_rows, "target_rows")),
        format(format_of(target_rows)),
        draft_kind(draft_kind_of(kind)) {
    TORCH_CHECK(drafts >= 0, "draftproof: target_rows must have a row behind every draft");
    TORCH_CHECK(draft_rows.has_value() == (draft_kind != DRAFTPROOF_DRAFT_ONE_HOT),
                "draftproof: draft_rows are given exactly when draft_kind is not 'one-hot'");
    need_tensor(draft_tokens, "draft_tokens", at::kInt, {batch, drafts}, device);
    need_tensor(requests, "requests", at::kByte,
                {batch, static_cast<int64_t>(sizeof(draftproof_request))}, device);
    if (!draft_rows.has_value()) return;
    draft_stride = row_stride(*draft_rows, "draft_rows");
    TORCH_CHECK(
        draft_rows->sizes() == at::IntArrayRef({batch, drafts, vocabulary}) &&
            draft_rows->device() == device,
        "draftproof: draft_rows must be [batch, drafts, vocabulary] on the target's device");
    const auto type =
        draft_kind == DRAFTPROOF_DRAFT_LOGITS ? target_rows.scalar_type() : at::kFloat;
    TORCH_CHECK(draft_rows->scalar_type() == type, "draftproof: draft_rows must be ", type);
  }

  Tensor output(at::IntArrayRef sizes, at::ScalarType type = at::kInt) const {
    return at::empty(sizes, at::TensorOptions().device(device).dtype(type));
  }
  Tensor records(int64_t rows) const {
    return output({batch, rows, static_cast<int64_t>(sizeof(draftproof_row_record))}, at::kByte);
  }
};

draftproof_rule rule_of(const std::string& name) {
  draftproof_rule rule{};
  for (uint32_t i = 0; draftproof_verify_rule(i, &rule).code == DRAFTPROOF_OK; ++i)
    if (name == rule.name) return rule;
  TORCH_CHECK(false, "draftproof: there is no rule '", name, "'");
}

/// requests(...): the records of a batch, on the CPU; `.to(device)` takes them there. top_k, drafts
/// and coins are int64, the others float64, all [B].
Tensor requests(const Tensor& temperature, const Tensor& top_k, const Tensor& top_p,
                const Tensor& min_p, const Tensor& draft_counts, const Tensor& coin_requests,
                const Tensor& coin_positions, const Tensor& coin_iterations,
                const std::string& preset, int64_t vocab_size) {
  TORCH_CHECK(vocab_size >= 1 && vocab_size <= 1 << 20, "draftproof: vocab_size must be 1 .. 2^20");
  const int64_t batch = temperature.numel();
  const at::Device cpu(at::kCPU);
  for (const Tensor& each : {temperature, top_p, min_p})
    need_tensor(each, "temperature, top_p, min_p", at::kDouble, {batch}, cpu);
  for (const Tensor& each : {top_k, draft_counts, coin_requests, coin_positions, coin_iterations})
    need_tensor(each, "top_k, draft_counts, coin_*", at::kLong, {batch}, cpu);
  const auto word = [](const Tensor& tensor, int64_t index) {
    const int64_t value = tensor.data_ptr<int64_t>()[index];
    TORCH_CHECK(value >= 0 && value <= 0xffffffff,
                "draftproof: draft_counts and coin_* must be "
                "0 .. 2^32 - 1");
    return static_cast<uint32_t>(value);
  };
  Tensor made = at::empty({batch, static_cast<int64_t>(sizeof(draftproof_request))},
                          at::TensorOptions().dtype(at::kByte));
  auto* const records = reinterpret_cast<draftproof_request*>(made.data_ptr());
  for (int64_t i = 0; i < batch; ++i) {
    const draftproof_sampling sampling{temperature.data_ptr<double>()[i],
                                       top_k.data_ptr<int64_t>()[i], top_p.data_ptr<double>()[i],
                                       min_p.data_ptr<double>()[i], preset.c_str()};
    need(draftproof_request_init(&sampling, static_cast<uint32_t>(vocab_size), &records[i]));
    records[i].draft_count = word(draft_counts, i);
    records[i].coin_request = word(coin_requests, i);
    records[i].coin_position = word(coin_positions, i);
    records[i].coin_iteration = word(coin_iterations, i);
  }
  return made;
}

/// Shaping and a rule, two launches. Tokens and reasons [B, D + 1], outcomes [B, 4], nodes [B, D].
std::tuple<Tensor, Tensor, Tensor, Tensor> verify(
    const Tensor& target_rows, const std::optional<Tensor>& draft_rows, const Tensor& draft_tokens,
    const std::optional<Tensor>& parents, const Tensor& requests,
    const std::optional<Tensor>& coins, int64_t seed, const std::string& rule,
    const std::string& draft_kind, int64_t stream) {
  const Rows rows(target_rows, draft_rows, draft_tokens, requests, draft_kind);
  need_tensor(parents, "parents", at::kInt, {rows.batch, rows.drafts}, rows.device);
  const bool takes_trees = rule_of(rule).takes_trees != 0;
  Session session(rows.device, stream);
  const Tensor target_records = rows.records(rows.drafts + 1);
  const Tensor draft_records = rows.records(rows.drafts);
  const Tensor tokens = rows.output({rows.batch, rows.drafts + 1});
  const Tensor reasons = rows.output({rows.batch, rows.drafts + 1});
  const Tensor outcomes = rows.output({rows.batch, 4});
  const Tensor nodes = rows.output({rows.batch, takes_trees ? rows.drafts : 0});
  const bool has_rows = draft_rows.has_value();

  draftproof_shape_rows_arguments shape{};
  draftproof_verify_arguments judge{};
  shape.target_rows = session.read(target_rows, "target_rows");
  shape.target_row_stride = rows.target_stride;
  shape.draft_rows = session.read(draft_rows, "draft_rows");
  shape.draft_row_stride = rows.draft_stride;
  judge.draft_tokens = session.read(draft_tokens, "draft_tokens");
  shape.draft_tokens = parents.has_value() ? 0 : judge.draft_tokens;
  shape.requests = session.read(requests, "requests");
  shape.target_records = session.written(target_records, "target_records");
  shape.draft_records = has_rows ? session.written(draft_records, "draft_records") : 0;
  shape.format = rows.format;
  shape.draft_kind = rows.draft_kind;
  shape.request_count = static_cast<uint32_t>(rows.batch);
  shape.padded_draft_count = static_cast<uint32_t>(rows.drafts);
  shape.vocab_size = static_cast<uint32_t>(rows.vocabulary);

  judge.target_rows = shape.target_rows;
  judge.target_row_stride = shape.target_row_stride;
  judge.draft_rows = shape.draft_rows;
  judge.draft_row_stride = shape.draft_row_stride;
  judge.parents = session.read(parents, "parents");
  judge.requests = shape.requests;
  judge.target_records = shape.target_records;
  judge.draft_records = shape.draft_records;
  judge.coins = session.read(coins, "coins");
  judge.seed = static_cast<uint64_t>(seed);
  judge.emitted_tokens = session.written(tokens, "emitted_tokens");
  judge.emitted_reasons = session.written(reasons, "emitted_reasons");
  judge.accepted_nodes = session.written(nodes, "accepted_nodes");
  judge.outcomes = session.written(outcomes, "outcomes");
  judge.format = shape.format;
  judge.draft_kind = shape.draft_kind;
  judge.request_count = shape.request_count;
  judge.padded_draft_count = shape.padded_draft_count;
  judge.vocab_size = shape.vocab_size;

  need(draftproof_verify_plan(session.library(), rule.c_str(), &judge, nullptr));
  session.need_launch(draftproof_shape_rows_launch(session.library(), &shape, session.stream()));
  session.need_launch(
      draftproof_verify_launch(session.library(), rule.c_str(), &judge, session.stream()));
  session.finish();
  return {tokens, reasons, outcomes, nodes};
}

/// What verify would answer, for tensors without memory: tracing and compiling.
std::tuple<Tensor, Tensor, Tensor, Tensor> verify_shapes(
    const Tensor& target_rows, const std::optional<Tensor>&, const Tensor&,
    const std::optional<Tensor>&, const Tensor&, const std::optional<Tensor>&, int64_t,
    const std::string& rule, const std::string&, int64_t) {
  const auto shaped = [&](c10::SymIntArrayRef sizes) {
    return at::empty_symint(sizes, target_rows.options().dtype(at::kInt));
  };
  const c10::SymInt batch = target_rows.sym_size(0), slots = target_rows.sym_size(1);
  const c10::SymInt nodes = rule_of(rule).takes_trees != 0 ? slots - 1 : c10::SymInt(0);
  return {shaped({batch, slots}), shaped({batch, slots}), shaped({batch, 4}),
          shaped({batch, nodes})};
}

/// Commits accepted cells of one layer: planes [pages, page_size, heads, bytes of a head], in
/// place.
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

}  // namespace
}  // namespace draftproof::gpu::torch

namespace operators = draftproof::gpu::torch;

TORCH_LIBRARY(draftproof, library) {
  library.def(
      "requests(Tensor temperature, Tensor top_k, Tensor top_p, Tensor min_p, Tensor draft_counts, "
      "Tensor coin_requests, Tensor coin_positions, Tensor coin_iterations, str preset, "
      "int vocab_size) -> Tensor");
  library.def(
      "verify(Tensor target_rows, Tensor? draft_rows, Tensor draft_tokens, Tensor? parents, "
      "Tensor requests, Tensor? coins, int seed, str rule, str draft_kind, int stream) -> "
      "(Tensor, Tensor, Tensor, Tensor)");
  library.def(
      "kv_commit(Tensor(a!)[] planes, Tensor tables, Tensor lengths, Tensor fed_counts, "
      "Tensor outcomes, Tensor? nodes, int leading_count, Tensor(b!) new_lengths, "
      "Tensor(c!) statuses, int stream) -> ()");
}

TORCH_LIBRARY_IMPL(draftproof, CPU, library) {
  library.impl("requests", &operators::requests);
  library.impl("verify", &operators::verify);
  library.impl("kv_commit", &operators::kv_commit);
}

TORCH_LIBRARY_IMPL(draftproof, Meta, library) {
  library.impl("verify", &operators::verify_shapes);
  library.impl("kv_commit",
               [](at::TensorList, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                  const at::Tensor&, const std::optional<at::Tensor>&, std::int64_t,
                  const at::Tensor&, const at::Tensor&, std::int64_t) {});
}

TORCH_LIBRARY_IMPL(draftproof, CUDA, library) {
  library.impl("verify", &operators::verify);
  library.impl("kv_commit", &operators::kv_commit);
}
