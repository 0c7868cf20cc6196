// Products of matrices are Eigen's, in float64; everything between them is certified_error.cpp.
#include "reference/model/toy_llama.h"

#include <Eigen/Core>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "reference/error.h"

namespace draftproof::reference::model {
namespace {

using Matrix = Eigen::MatrixXd;
using View = Eigen::Map<Matrix>;
using ConstView = Eigen::Map<const Matrix>;

/// A weight matrix, widened once, and its magnitudes where errors are asked for: they are two of
/// three products.
class Projection {
 public:
  Projection(const std::vector<float>& weights, int outputs, int inputs, bool is_certified)
      : value_(outputs, inputs) {
    for (Eigen::Index i = 0; i < value_.size(); ++i)
      value_(i / inputs, i % inputs) = static_cast<double>(weights[static_cast<std::size_t>(i)]);
    if (is_certified) magnitude_ = value_.cwiseAbs();
  }

  /// Of a settled x; the answer is not settled.
  CertifiedVector operator()(const CertifiedVector& x, const ErrorModel& model) const {
    const auto outputs = static_cast<std::size_t>(value_.rows()), inputs = x.size();
    const auto symbols = static_cast<Eigen::Index>(x.symbols());
    CertifiedVector y{std::vector<double>(outputs), std::vector<double>(outputs * x.symbols()),
                      std::vector<double>(outputs)};
    const ConstView value(x.value.data(), value_.cols(), 1);
    View(y.value.data(), value_.rows(), 1).noalias() = value_ * value;
    if (magnitude_.size() == 0) return y;
    View(y.noise.data(), value_.rows(), symbols).noalias() =
        value_ * ConstView(x.noise.data(), value_.cols(), symbols);
    const std::vector<double> errors = x.errors();
    const Matrix carried = magnitude_ * ConstView(errors.data(), value_.cols(), 1);
    const Matrix magnitude = magnitude_ * value.cwiseAbs() + carried;
    for (std::size_t n = 0; n < outputs; ++n) {
      const auto at = static_cast<Eigen::Index>(n);
      y.fresh[n] = sum_error(model, inputs, magnitude(at), carried(at));
    }
    return y;
  }

 private:
  Matrix value_;
  Matrix magnitude_;
};

struct LayerMatrices {
  std::vector<float> attention_norm;
  Projection qkv;
  Projection output;
  std::vector<float> mlp_norm;
  Projection gate_up;
  Projection down;
};

CertifiedVector part_of(const CertifiedVector& x, int first, int count) {
  const auto slice = [&](const std::vector<double>& from) {
    std::vector<double> part;
    for (auto at = from.begin() + first; at < from.end();
         at += static_cast<std::ptrdiff_t>(x.size()))
      part.insert(part.end(), at, at + count);
    return part;
  };
  return {slice(x.value), slice(x.noise), slice(x.fresh)};
}

CertifiedRow certified_row(const CertifiedVector& logits, bool is_certified) {
  CertifiedRow row{logits.value, logits.errors()};
  // Infinity times 0 is no number; what it stands for is that nothing is certified.
  for (double& error : row.errors)
    if (std::isnan(error) || !is_certified) error = std::numeric_limits<double>::infinity();
  return row;
}

}  // namespace

struct ToyLlama::Matrices {
  ToyLlamaConfig config;
  ErrorModel error_model;
  bool is_certified;
  std::vector<float> embedding;
  std::vector<LayerMatrices> layers;
  std::vector<float> final_norm;
  Projection lm_head;

  CertifiedVector embedded(Token token) const;
  CertifiedVector normed(const CertifiedVector& x, const std::vector<float>& weight,
                         NoiseSymbols& known) const;
  void attention_block(const LayerMatrices& layer, std::span<const LlamaRow> rows,
                       std::vector<CertifiedVector>& hidden, std::vector<CertifiedCell>& cells,
                       NoiseSymbols& known) const;
  void mlp_block(const LayerMatrices& layer, CertifiedVector& hidden, NoiseSymbols& known) const;
};

CertifiedVector ToyLlama::Matrices::embedded(Token token) const {
  DRAFTPROOF_CHECK(token >= 0 && token < config.vocab, std::to_string(token));
  const auto width = static_cast<std::size_t>(config.hidden);
  const auto first = embedding.begin() + static_cast<std::ptrdiff_t>(token) * config.hidden;
  return {std::vector<double>(first, first + config.hidden), {}, std::vector<double>(width)};
}

CertifiedVector ToyLlama::Matrices::normed(const CertifiedVector& x,
                                           const std::vector<float>& weight,
                                           NoiseSymbols& known) const {
  CertifiedVector y = rms_norm(x, weight, config.rms_epsilon, error_model, known);
  y.settle(known);
  return y;
}

void ToyLlama::Matrices::attention_block(const LayerMatrices& layer, std::span<const LlamaRow> rows,
                                         std::vector<CertifiedVector>& hidden,
                                         std::vector<CertifiedCell>& cells,
                                         NoiseSymbols& known) const {
  const std::size_t cached = cells.size();
  std::vector<CertifiedVector> queries;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CertifiedVector qkv = layer.qkv(normed(hidden[i], layer.attention_norm, known), error_model);
    rotate_heads(qkv, config.heads + config.kv_heads, config.head_dim, rows[i].position,
                 config.rope_base, error_model);
    qkv.settle(known);
    const int keys_at = config.query_width(), values_at = keys_at + config.kv_width();
    cells.push_back(
        {part_of(qkv, keys_at, config.kv_width()), part_of(qkv, values_at, config.kv_width())});
    queries.push_back(part_of(qkv, 0, config.query_width()));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<const CertifiedCell*> seen;
    for (std::size_t j = 0; j < cached + i; ++j)
      if (j < rows[i].sees.size() && rows[i].sees[j]) seen.push_back(&cells[j]);
    seen.push_back(&cells[cached + i]);
    CertifiedVector mixed =
        attend(queries[i], seen, config.heads, config.kv_heads, config.head_dim, error_model);
    mixed.settle(known);
    hidden[i] = sum_of(hidden[i], layer.output(mixed, error_model), error_model);
    hidden[i].settle(known);
  }
}

void ToyLlama::Matrices::mlp_block(const LayerMatrices& layer, CertifiedVector& hidden,
                                   NoiseSymbols& known) const {
  CertifiedVector gated =
      swiglu(layer.gate_up(normed(hidden, layer.mlp_norm, known), error_model), error_model);
  gated.settle(known);
  hidden = sum_of(hidden, layer.down(gated, error_model), error_model);
  hidden.settle(known);
}

ToyLlama::ToyLlama(const ToyLlamaWeights& weights, const std::optional<ErrorModel>& error_model) {
  const ToyLlamaConfig& config = weights.config;
  validate(config);
  const auto projection = [&](const std::vector<float>& matrix, int outputs, int inputs) {
    return Projection(matrix, outputs, inputs, error_model.has_value());
  };
  std::vector<LayerMatrices> layers;
  for (const LayerWeights& layer : weights.layers)
    layers.push_back({layer.attention_norm,
                      projection(layer.qkv, config.qkv_width(), config.hidden),
                      projection(layer.output, config.hidden, config.query_width()), layer.mlp_norm,
                      projection(layer.gate_up, 2 * config.intermediate, config.hidden),
                      projection(layer.down, config.hidden, config.intermediate)});
  matrices_ = std::make_unique<const Matrices>(
      Matrices{config, error_model.value_or(ErrorModel{}), error_model.has_value(),
               weights.embedding, std::move(layers), weights.final_norm,
               projection(weights.lm_head, config.vocab, config.hidden)});
}

ToyLlama::ToyLlama(ToyLlama&&) noexcept = default;
ToyLlama::~ToyLlama() = default;

std::vector<CertifiedRow> ToyLlama::forward(std::span<const LlamaRow> rows,
                                            LlamaCache& cache) const {
  const Matrices& own = *matrices_;
  cache.cells_.resize(own.layers.size());
  cache.known_.is_tracked = own.is_certified;
  std::vector<CertifiedVector> hidden;
  for (const LlamaRow& row : rows) {
    DRAFTPROOF_CHECK(row.position >= 0, std::to_string(row.position));
    hidden.push_back(own.embedded(row.token));
  }
  for (std::size_t layer = 0; layer < own.layers.size(); ++layer) {
    own.attention_block(own.layers[layer], rows, hidden, cache.cells_[layer], cache.known_);
    for (CertifiedVector& each : hidden) own.mlp_block(own.layers[layer], each, cache.known_);
  }
  std::vector<CertifiedRow> logits;
  for (const CertifiedVector& each : hidden)
    logits.push_back(
        certified_row(own.lm_head(own.normed(each, own.final_norm, cache.known_), own.error_model),
                      own.is_certified));
  return logits;
}

std::vector<CertifiedRow> ToyLlama::forward_sequence(std::span<const Token> tokens) const {
  LlamaCache cache;
  return forward(chain_rows(tokens, 0), cache);
}

void LlamaCache::keep(std::span<const int> kept) {
  for (std::size_t i = 0; i < kept.size(); ++i)
    DRAFTPROOF_CHECK(kept[i] >= 0 && kept[i] < cell_count() && (i == 0 || kept[i] > kept[i - 1]),
                     std::to_string(kept[i]));
  for (std::vector<CertifiedCell>& cells : cells_) {
    std::vector<CertifiedCell> left;
    for (const int cell : kept) left.push_back(std::move(cells[static_cast<std::size_t>(cell)]));
    cells = std::move(left);
  }
}

std::vector<LlamaRow> chain_rows(std::span<const Token> tokens, int cell_count) {
  std::vector<LlamaRow> rows;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const int before = cell_count + static_cast<int>(i);
    rows.push_back({tokens[i], before, std::vector<bool>(static_cast<std::size_t>(before), true)});
  }
  return rows;
}

std::vector<LlamaRow> tree_rows(std::span<const Token> tokens, std::span<const int> parents,
                                int cell_count) {
  DRAFTPROOF_CHECK(tokens.size() == parents.size());
  const auto cached = static_cast<std::size_t>(cell_count);
  std::vector<LlamaRow> rows;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    LlamaRow row{tokens[i], cell_count, std::vector<bool>(cached + tokens.size(), false)};
    for (std::size_t cell = 0; cell < cached; ++cell) row.sees[cell] = true;
    DRAFTPROOF_CHECK(parents[i] >= -1 && parents[i] < static_cast<int>(i),
                     std::to_string(parents[i]));
    if (parents[i] >= 0) {
      const LlamaRow& parent = rows[static_cast<std::size_t>(parents[i])];
      row.sees = parent.sees;
      row.sees[cached + static_cast<std::size_t>(parents[i])] = true;
      row.position = parent.position + 1;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace draftproof::reference::model
