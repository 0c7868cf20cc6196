#include "gpu/target_forward.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "gpu/launches/kv.h"
#include "reference/error.h"

namespace draftproof::gpu {
namespace {

using reference::model::ToyLlamaConfig;
using reference::model::ToyLlamaWeights;
using reference::model::WeightFormat;

std::uint32_t whole(int value) { return static_cast<std::uint32_t>(value); }

/// cos or sin of position * base^(-2 i / head_dim), rounded once.
template <class Function>
std::vector<float> angle_table(const ToyLlamaConfig& config, std::uint32_t position_count,
                               Function function) {
  std::vector<float> table;
  for (std::uint32_t position = 0; position < position_count; ++position)
    for (int i = 0; i < config.head_dim / 2; ++i) {
      const double angle = position * std::pow(config.rope_base, -2.0 * i / config.head_dim);
      table.push_back(static_cast<float>(function(angle)));
    }
  return table;
}

template <class Value>
Buffer filled(Device& device, std::span<const Value> values, const char* label) {
  Buffer buffer(device, values.size_bytes(), label);
  buffer.write(values);
  return buffer;
}

template <class Value>
void fill(Buffer& buffer, const std::vector<Value>& values) {
  DRAFTPROOF_CHECK(values.size() * sizeof(Value) <= buffer.bytes());
  buffer.write(std::span<const Value>(values));
}

/// A launch at the forward's block size; a commit's arguments name their own.
template <class Arguments>
KernelLaunch launch_in(const Arguments& arguments, std::uint32_t threads) {
  return launches::launch_of(arguments, threads);
}
KernelLaunch launch_in(const draftproof_kv_commit_arguments& arguments, std::uint32_t) {
  return launches::launch_of(arguments);
}

}  // namespace

Buffer TargetForward::uploaded(std::span<const float> values, const char* label) {
  return filled(modules_.device(), values, label);
}

Buffer TargetForward::uploaded_matrix(std::span<const float> values, const char* label) {
  if (!stores_bfloat16_) return uploaded(values, label);
  std::vector<std::uint16_t> halves;
  for (const float value : values)
    halves.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16));
  return filled(modules_.device(), std::span<const std::uint16_t>(halves), label);
}

Buffer TargetForward::room(std::size_t floats, const char* label) {
  return Buffer(modules_.device(), floats * sizeof(float), label);
}

TargetForward::TargetForward(KernelModules& modules, const ToyLlamaWeights& weights,
                             const TargetForwardOptions& options)
    : modules_(modules),
      config_(weights.config),
      options_(options),
      stores_bfloat16_(config_.format == WeightFormat::kBfloat16 && options.cublas == nullptr),
      embedding_(uploaded_matrix(weights.embedding, "embedding")),
      final_norm_(uploaded(weights.final_norm, "final norm")),
      lm_head_(uploaded_matrix(weights.lm_head, "lm_head")),
      cosines_(uploaded(angle_table(config_, options.position_count,
                                    [](double angle) { return std::cos(angle); }),
                        "cosines")),
      sines_(uploaded(angle_table(config_, options.position_count,
                                  [](double angle) { return std::sin(angle); }),
                      "sines")),
      keys_(room(weights.layers.size() * pool_floats(), "key cache")),
      values_(room(weights.layers.size() * pool_floats(), "value cache")),
      row_count_(modules.device(), 4, "row count"),
      tokens_(modules.device(), options.row_max * 4, "tokens"),
      positions_(modules.device(), options.row_max * 4, "positions"),
      slots_(modules.device(), options.row_max * 8, "slots"),
      sequences_(modules.device(), options.row_max * 4, "sequences"),
      masks_(modules.device(), std::size_t{options.row_max} * options.mask_words * 8, "masks"),
      tables_(modules.device(), std::size_t{options.sequence_count} * options.page_max * 4,
              "tables"),
      lengths_(modules.device(), options.sequence_count * 4, "lengths"),
      fed_counts_(modules.device(), options.sequence_count * 4, "fed counts"),
      kept_counts_(modules.device(), options.sequence_count * 4, "kept counts"),
      kept_nodes_(modules.device(), std::size_t{options.sequence_count} * options.row_max * 4,
                  "kept nodes"),
      kept_lengths_(modules.device(), options.sequence_count * 4, "kept lengths"),
      statuses_(modules.device(), options.sequence_count * 4, "statuses"),
      hidden_(room(std::size_t{options.row_max} * whole(config_.hidden), "hidden")),
      normed_(room(std::size_t{options.row_max} * whole(config_.hidden), "normed")),
      qkv_(room(std::size_t{options.row_max} * whole(config_.qkv_width()), "qkv")),
      mixed_(room(std::size_t{options.row_max} * whole(config_.query_width()), "mixed")),
      projected_(room(std::size_t{options.row_max} * whole(config_.hidden), "projected")),
      gate_up_(room(std::size_t{options.row_max} * whole(2 * config_.intermediate), "gate and up")),
      gated_(room(std::size_t{options.row_max} * whole(config_.intermediate), "gated")),
      logits_(room(std::size_t{options.row_max} * whole(config_.vocab), "logits")) {
  for (const reference::model::LayerWeights& layer : weights.layers) {
    const std::uint64_t offset = layers_.size() * pool_floats() * sizeof(float);
    layers_.push_back({uploaded(layer.attention_norm, "attention norm"),
                       uploaded_matrix(layer.qkv, "qkv weights"),
                       uploaded_matrix(layer.output, "output weights"),
                       uploaded(layer.mlp_norm, "mlp norm"),
                       uploaded_matrix(layer.gate_up, "gate and up weights"),
                       uploaded_matrix(layer.down, "down weights"), keys_.pointer() + offset,
                       values_.pointer() + offset});
  }
}

std::size_t TargetForward::pool_floats() const {
  return std::size_t{options_.page_count} * options_.page_size * whole(config_.kv_width());
}

void TargetForward::upload(const ForwardStep& step) {
  DRAFTPROOF_CHECK(!step.rows.empty() && step.rows.size() <= options_.row_max,
                   std::to_string(step.rows.size()));
  DRAFTPROOF_CHECK(step.lengths.size() == options_.sequence_count);
  DRAFTPROOF_CHECK(step.tables.size() == std::size_t{options_.sequence_count} * options_.page_max);
  std::vector<std::int32_t> tokens, positions, sequences;
  std::vector<std::int64_t> slots;
  std::vector<std::uint64_t> masks;
  for (const ForwardRow& row : step.rows) {
    tokens.push_back(row.token);
    positions.push_back(row.position);
    sequences.push_back(row.sequence);
    slots.push_back(row.slot);
    DRAFTPROOF_CHECK(row.mask.size() <= options_.mask_words, std::to_string(row.mask.size()));
    std::vector<std::uint64_t> mask = row.mask;
    mask.resize(options_.mask_words, 0);
    masks.insert(masks.end(), mask.begin(), mask.end());
  }
  rows_ = static_cast<std::uint32_t>(step.rows.size());
  fill(row_count_, std::vector<std::uint32_t>{rows_});
  fill(tokens_, tokens);
  fill(positions_, positions);
  fill(sequences_, sequences);
  fill(slots_, slots);
  fill(masks_, masks);
  fill(tables_, step.tables);
  fill(lengths_, step.lengths);
}

template <class Arguments>
void TargetForward::launch(const Arguments& arguments) {
  const draftproof_result result = launches::check(arguments);
  if (result.code != DRAFTPROOF_OK) throw Error(ErrorKind::kInput, result.text, "target forward");
  LaunchReport report = modules_.launch(launch_in(arguments, options_.block_threads), manner_);
  std::move(report.observations.begin(), report.observations.end(),
            std::back_inserter(result_.observations));
  result_.counts.launches += report.counts.launches;
  result_.counts.warp_instructions += report.counts.warp_instructions;
  result_.counts.thread_instructions += report.counts.thread_instructions;
}

void TargetForward::multiply(const Buffer& input, std::uint32_t input_width, const Buffer& weight,
                             const Buffer& output, std::uint32_t output_width) {
  if (options_.cublas != nullptr)
    return options_.cublas->multiply({input.pointer(), weight.pointer(), output.pointer(),
                                      input_width, input_width, output_width, rows_, input_width,
                                      output_width, DRAFTPROOF_FLOAT32});
  draftproof_gemm_arguments own{};
  own.rows = {row_count_.pointer(), options_.row_max, 0};
  own.input = input.pointer();
  own.weight = weight.pointer();
  own.output = output.pointer();
  own.input_stride = own.weight_stride = own.input_width = input_width;
  own.output_stride = own.output_width = output_width;
  own.format = stores_bfloat16_ ? DRAFTPROOF_BFLOAT16 : DRAFTPROOF_FLOAT32;
  launch(own);
}

void TargetForward::normalise(const Buffer& input, const Buffer& weight, const Buffer& output) {
  draftproof_rms_norm_arguments own{};
  own.rows = {row_count_.pointer(), options_.row_max, 0};
  own.input = input.pointer();
  own.weight = weight.pointer();
  own.output = output.pointer();
  own.input_stride = own.output_stride = own.width = whole(config_.hidden);
  own.epsilon = config_.rms_epsilon;
  launch(own);
}

void TargetForward::add(const Buffer& addend) {
  draftproof_residual_add_arguments own{};
  own.rows = {row_count_.pointer(), options_.row_max, 0};
  own.sum = hidden_.pointer();
  own.addend = addend.pointer();
  own.sum_stride = own.addend_stride = own.width = whole(config_.hidden);
  launch(own);
}

void TargetForward::attend(const Layer& layer) {
  draftproof_rope_scatter_arguments rope{};
  rope.rows = {row_count_.pointer(), options_.row_max, 0};
  rope.qkv = qkv_.pointer();
  rope.positions = positions_.pointer();
  rope.slots = slots_.pointer();
  rope.cosines = cosines_.pointer();
  rope.sines = sines_.pointer();
  rope.key_cache = layer.keys;
  rope.value_cache = layer.values;
  rope.qkv_stride = whole(config_.qkv_width());
  rope.slot_count = std::uint64_t{options_.page_count} * options_.page_size;
  rope.position_count = options_.position_count;
  rope.heads = whole(config_.heads);
  rope.kv_heads = whole(config_.kv_heads);
  rope.head_dim = whole(config_.head_dim);
  launch(rope);

  draftproof_attention_arguments own{};
  own.rows = rope.rows;
  own.queries = qkv_.pointer();
  own.key_cache = rope.key_cache;
  own.value_cache = rope.value_cache;
  own.sequences = sequences_.pointer();
  own.tables = tables_.pointer();
  own.lengths = lengths_.pointer();
  own.masks = masks_.pointer();
  own.output = mixed_.pointer();
  own.query_stride = rope.qkv_stride;
  own.output_stride = whole(config_.query_width());
  own.table_stride = own.page_max = options_.page_max;
  own.sequence_count = options_.sequence_count;
  own.page_size = options_.page_size;
  own.page_count = options_.page_count;
  own.mask_words = options_.mask_words;
  own.heads = rope.heads;
  own.kv_heads = rope.kv_heads;
  own.head_dim = rope.head_dim;
  own.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config_.head_dim)));
  launch(own);
}

void TargetForward::run_layer(const Layer& layer) {
  const std::uint32_t hidden = whole(config_.hidden), inner = whole(config_.intermediate);
  normalise(hidden_, layer.attention_norm, normed_);
  multiply(normed_, hidden, layer.qkv, qkv_, whole(config_.qkv_width()));
  attend(layer);
  multiply(mixed_, whole(config_.query_width()), layer.output, projected_, hidden);
  add(projected_);
  normalise(hidden_, layer.mlp_norm, normed_);
  multiply(normed_, hidden, layer.gate_up, gate_up_, 2 * inner);
  draftproof_swiglu_arguments own{};
  own.rows = {row_count_.pointer(), options_.row_max, 0};
  own.gate_up = gate_up_.pointer();
  own.output = gated_.pointer();
  own.gate_up_stride = 2 * inner;
  own.output_stride = own.width = inner;
  launch(own);
  multiply(gated_, inner, layer.down, projected_, hidden);
  add(projected_);
}

ForwardResult TargetForward::step(const ForwardStep& step, const LaunchManner& manner) {
  upload(step);
  manner_ = manner;
  result_ = {};
  draftproof_embed_arguments own{};
  own.rows = {row_count_.pointer(), options_.row_max, 0};
  own.tokens = tokens_.pointer();
  own.embedding = embedding_.pointer();
  own.output = hidden_.pointer();
  own.embedding_stride = own.output_stride = own.width = whole(config_.hidden);
  own.vocab_size = whole(config_.vocab);
  own.format = stores_bfloat16_ ? DRAFTPROOF_BFLOAT16 : DRAFTPROOF_FLOAT32;
  launch(own);
  for (const Layer& layer : layers_) run_layer(layer);
  normalise(hidden_, final_norm_, normed_);
  multiply(normed_, whole(config_.hidden), lm_head_, logits_, whole(config_.vocab));
  std::vector<float> logits(std::size_t{rows_} * whole(config_.vocab));
  logits_.read(std::span(logits), std::byte{0xff});
  for (auto row = logits.begin(); row != logits.end(); row += config_.vocab)
    result_.logits.emplace_back(row, row + config_.vocab);
  return std::exchange(result_, {});
}

void TargetForward::upload_kept(const ForwardStep& step, std::span<const std::vector<int>> kept) {
  DRAFTPROOF_CHECK(kept.size() == options_.sequence_count, std::to_string(kept.size()));
  std::vector<std::int32_t> fed(kept.size()), nodes(kept.size() * options_.row_max, -1);
  std::vector<std::uint32_t> counts;
  for (const ForwardRow& row : step.rows)
    if (row.sequence >= 0) ++fed.at(static_cast<std::size_t>(row.sequence));
  for (std::size_t s = 0; s < kept.size(); ++s) {
    DRAFTPROOF_CHECK(kept[s].size() <= options_.row_max, std::to_string(kept[s].size()));
    counts.push_back(static_cast<std::uint32_t>(kept[s].size()));
    std::copy(kept[s].begin(), kept[s].end(),
              nodes.begin() + static_cast<std::ptrdiff_t>(s * options_.row_max));
  }
  fill(fed_counts_, fed);
  fill(kept_counts_, counts);
  fill(kept_nodes_, nodes);
}

draftproof_kv_plane TargetForward::plane_of(const Buffer& pools) const {
  const std::uint64_t cell_bytes = whole(config_.kv_width()) * sizeof(float);
  draftproof_kv_plane plane{};
  plane.base = pools.pointer();
  plane.layer_stride = pool_floats() * sizeof(float);
  plane.page_stride = options_.page_size * cell_bytes;
  plane.slot_stride = plane.head_stride = cell_bytes;
  plane.head_count = 1;
  plane.head_bytes = static_cast<std::uint32_t>(cell_bytes);
  plane.unit = DRAFTPROOF_KV_SLOT;
  return plane;
}

CommitResult TargetForward::commit(const ForwardStep& step, std::span<const std::vector<int>> kept,
                                   const LaunchManner& manner) {
  upload_kept(step, kept);
  draftproof_kv_commit_arguments own{};
  own.pool.planes[0] = plane_of(keys_);
  own.pool.planes[1] = plane_of(values_);
  own.pool.plane_count = 2;
  own.pool.layer_count = static_cast<std::uint32_t>(layers_.size());
  own.pool.page_size = options_.page_size;
  own.pool.page_count = options_.page_count;
  own.sequences.tables = tables_.pointer();
  own.sequences.lengths = lengths_.pointer();
  own.sequences.fed_counts = fed_counts_.pointer();
  own.sequences.table_stride = own.sequences.page_max = options_.page_max;
  own.sequences.row_count = own.sequences.sequence_count = options_.sequence_count;
  own.kept.nodes = kept_nodes_.pointer();
  own.kept.counts = kept_counts_.pointer();
  own.kept.node_stride = own.kept.kept_max = options_.row_max;
  own.kept.count_stride_bytes = 4;
  own.new_lengths = kept_lengths_.pointer();
  own.statuses = statuses_.pointer();
  manner_ = manner;
  result_ = {};
  launch(own);
  CommitResult answer{std::vector<std::int32_t>(kept.size()),
                      std::vector<std::uint32_t>(kept.size()), std::move(result_.observations)};
  kept_lengths_.read(std::span(answer.lengths), std::byte{0xff});
  statuses_.read(std::span(answer.statuses), std::byte{0xff});
  return answer;
}

}  // namespace draftproof::gpu
