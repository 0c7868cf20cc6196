// Requests, and acceptance by a rule in two launches.
#include <ATen/ops/empty.h>

#include <string>

#include "gpu/torch/operators.h"
#include "gpu/torch/rows.h"
#include "gpu/torch/session.h"

namespace draftproof::gpu::torch {
namespace {

using at::Tensor;
using std::int64_t;

constexpr int64_t kRecordBytes = sizeof(draftproof_row_record);

draftproof_rule rule_of(const std::string& name) {
  draftproof_rule rule{};
  for (uint32_t i = 0; draftproof_verify_rule(i, &rule).code == DRAFTPROOF_OK; ++i)
    if (name == rule.name) return rule;
  TORCH_CHECK(false, "draftproof: there is no rule '", name, "'");
}

}  // namespace

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

std::tuple<Tensor, Tensor, Tensor, Tensor> verify(
    const Tensor& target_rows, const std::optional<Tensor>& draft_rows, const Tensor& draft_tokens,
    const std::optional<Tensor>& parents, const Tensor& requests,
    const std::optional<Tensor>& coins, int64_t seed, const std::string& rule,
    const std::string& draft_kind, int64_t stream) {
  const Rows rows(target_rows, draft_rows, draft_tokens, requests, draft_kind);
  need_tensor(parents, "parents", at::kInt, {rows.batch, rows.drafts}, rows.device);
  const draftproof_rule read = rule_of(rule);
  const bool takes_trees = read.takes_trees != 0;
  rows.need_coins(coins, read.coin_columns);
  Session session(rows.device, stream);
  const Tensor target_records = rows.output({rows.batch, rows.drafts + 1, kRecordBytes}, at::kByte);
  const Tensor draft_records = rows.output({rows.batch, rows.drafts, kRecordBytes}, at::kByte);
  const Tensor tokens = rows.output({rows.batch, rows.drafts + 1});
  const Tensor reasons = rows.output({rows.batch, rows.drafts + 1});
  const Tensor outcomes = rows.output({rows.batch, 4});
  const Tensor nodes = rows.output({rows.batch, takes_trees ? rows.drafts : 0});

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
  shape.draft_records = rows.has_draft_rows() ? session.written(draft_records, "draft_records") : 0;
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

}  // namespace draftproof::gpu::torch
