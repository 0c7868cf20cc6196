// The model of reference/model/toy_llama.h once more, written for tests: plain loops over one
// number type, sums in an order that a generator draws. In double it checks the mathematics; in
// float it is any of the evaluations that the certified error speaks for.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "reference/model/toy_llama.h"

namespace draftproof::tests {

/// What an evaluation does beside summing in some order.
struct EvaluationKind {
  bool rounds_inputs = false;     ///< of products of matrices to bf16, and truncates their sums
  bool rescales_softmax = false;  ///< online: from cell to cell, rescaled where the largest grows
};

template <class Real>
class RoundedLlama {
 public:
  using Row = std::vector<Real>;

  /// `order` may be null: then sums run from left to right and no operation is moved.
  RoundedLlama(const reference::model::ToyLlamaWeights& weights, std::mt19937_64* order,
               EvaluationKind kind = {})
      : weights_(weights),
        config_(weights.config),
        order_(order),
        kind_(kind),
        cells_(weights.layers.size()) {}

  std::vector<Row> forward(std::span<const reference::model::LlamaRow> rows) {
    std::vector<Row> hidden;
    for (const auto& row : rows) {
      const auto first = weights_.embedding.begin() + row.token * config_.hidden;
      hidden.emplace_back(first, first + config_.hidden);
    }
    for (std::size_t layer = 0; layer < cells_.size(); ++layer) {
      attention(weights_.layers[layer], cells_[layer], rows, hidden);
      for (Row& each : hidden) mlp(weights_.layers[layer], each);
    }
    std::vector<Row> logits;
    for (const Row& each : hidden)
      logits.push_back(product(weights_.lm_head, normed(each, weights_.final_norm)));
    return logits;
  }

 private:
  struct Cell {
    Row key, value;
  };

  bool flip() { return order_ != nullptr && ((*order_)() >> 63) != 0; }

  /// A relative error of at most `reach`, none without a generator.
  double nudge(double reach) {
    if (order_ == nullptr) return 1.0;
    const double unit = std::ldexp(static_cast<double>((*order_)() >> 11), -52) - 1.0;
    // The ends of the interval are where a bound breaks.
    return 1.0 + reach * (flip() ? unit : std::copysign(1.0, unit));
  }

  Real exponential(Real x) {
    return static_cast<Real>(std::exp(static_cast<double>(x)) * nudge(0x1p-21 - 0x1p-23));
  }

  /// Sum over a[i] * b[i] in a drawn order: a permuted run with or without fma, or a drawn tree.
  Real sum(std::vector<Real> a, std::vector<Real> b) {
    if (order_ != nullptr) {
      std::vector<std::size_t> places(a.size());
      std::iota(places.begin(), places.end(), std::size_t{0});
      std::shuffle(places.begin(), places.end(), *order_);
      std::vector<Real> left, right;
      for (const std::size_t place : places) left.push_back(a[place]), right.push_back(b[place]);
      a.swap(left), b.swap(right);
    }
    if (flip()) return tree_sum(a, b, 0, a.size());
    Real total = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      total = flip() ? std::fma(a[i], b[i], total) : total + a[i] * b[i];
    return total;
  }

  Real tree_sum(const std::vector<Real>& a, const std::vector<Real>& b, std::size_t begin,
                std::size_t end) {
    if (end - begin == 1) return a[begin] * b[begin];
    const std::size_t middle = begin + 1 + (*order_)() % (end - begin - 1);
    return tree_sum(a, b, begin, middle) + tree_sum(a, b, middle, end);
  }

  /// Rounded to the 8 significant bits of bf16, to nearest.
  static Real narrowed(Real value) {
    int exponent = 0;
    const double fraction = std::frexp(static_cast<double>(value), &exponent);
    return static_cast<Real>(std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8));
  }

  /// Sums cut off behind 24 bits, as tensor cores do.
  static Row truncated_product(const std::vector<float>& matrix, const Row& x) {
    Row y;
    for (std::size_t at = 0; at < matrix.size(); at += x.size()) {
      float total = 0.0f;
      for (std::size_t k = 0; k < x.size(); ++k) {
        const double exact = static_cast<double>(total) + static_cast<double>(matrix[at + k]) *
                                                              static_cast<double>(narrowed(x[k]));
        const float rounded = static_cast<float>(exact);
        const bool is_away = std::abs(static_cast<double>(rounded)) > std::abs(exact);
        total = is_away ? std::nextafter(rounded, 0.0f) : rounded;
      }
      y.push_back(static_cast<Real>(total));
    }
    return y;
  }

  Row product(const std::vector<float>& matrix, const Row& x) {
    if (kind_.rounds_inputs) return truncated_product(matrix, x);
    Row y;
    for (std::size_t at = 0; at < matrix.size(); at += x.size())
      y.push_back(
          sum(std::vector<Real>(matrix.begin() + static_cast<std::ptrdiff_t>(at),
                                matrix.begin() + static_cast<std::ptrdiff_t>(at + x.size())),
              x));
    return y;
  }

  Row normed(const Row& x, const std::vector<float>& weight) {
    const Real mean =
        sum(x, x) / static_cast<Real>(x.size()) + static_cast<Real>(config_.rms_epsilon);
    const Real root =
        static_cast<Real>(1.0 / std::sqrt(static_cast<double>(mean)) * nudge(3.0 * 0x1p-24));
    Row y;
    for (std::size_t i = 0; i < x.size(); ++i)
      y.push_back(flip() ? x[i] * (root * static_cast<Real>(weight[i]))
                         : x[i] * root * static_cast<Real>(weight[i]));
    return y;
  }

  void rotate(Row& x, int first, int position) {
    const int half = config_.head_dim / 2;
    for (int i = 0; i < half; ++i) {
      const double angle = position * std::pow(config_.rope_base, -2.0 * i / config_.head_dim);
      const Real c = static_cast<Real>(std::cos(angle)), s = static_cast<Real>(std::sin(angle));
      const auto low = static_cast<std::size_t>(first + i), high = low + half;
      const Real a = x[low], b = x[high];
      x[low] = flip() ? std::fma(a, c, -(b * s)) : a * c - b * s;
      x[high] = flip() ? std::fma(b, c, a * s) : b * c + a * s;
    }
  }

  void attention(const reference::model::LayerWeights& layer, std::vector<Cell>& cells,
                 std::span<const reference::model::LlamaRow> rows, std::vector<Row>& hidden) {
    const std::size_t cached = cells.size();
    std::vector<Row> queries;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Row qkv = product(layer.qkv, normed(hidden[i], layer.attention_norm));
      for (int head = 0; head < config_.heads + config_.kv_heads; ++head)
        rotate(qkv, head * config_.head_dim, rows[i].position);
      const auto keys = qkv.begin() + config_.query_width(), values = keys + config_.kv_width();
      cells.push_back({Row(keys, values), Row(values, qkv.end())});
      queries.emplace_back(qkv.begin(), keys);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::vector<const Cell*> seen;
      for (std::size_t j = 0; j < cached + i; ++j)
        if (j < rows[i].sees.size() && rows[i].sees[j]) seen.push_back(&cells[j]);
      seen.push_back(&cells[cached + i]);
      add(hidden[i], product(layer.output, mixed(queries[i], seen)));
    }
  }

  Row mixed(const Row& query, const std::vector<const Cell*>& seen) {
    const Real scale = static_cast<Real>(1.0 / std::sqrt(static_cast<double>(config_.head_dim)));
    Row out;
    for (int head = 0; head < config_.heads; ++head) {
      const int at = head / (config_.heads / config_.kv_heads) * config_.head_dim;
      const auto part = [&](const Row& row, int first) {
        return Row(row.begin() + first, row.begin() + first + config_.head_dim);
      };
      Row weights;
      for (const Cell* cell : seen)
        weights.push_back(sum(part(query, head * config_.head_dim), part(cell->key, at)) * scale);
      if (kind_.rescales_softmax) {
        mix_online(weights, seen, at, out);
        continue;
      }
      const Real largest = *std::max_element(weights.begin(), weights.end());
      for (Real& weight : weights) weight = exponential(weight - largest);
      const Real total = sum(weights, Row(weights.size(), Real{1}));
      for (int d = 0; d < config_.head_dim; ++d) {
        Row values;
        for (const Cell* cell : seen)
          values.push_back(cell->value[static_cast<std::size_t>(at + d)]);
        out.push_back(sum(weights, values) / total);
      }
    }
    return out;
  }

  void mix_online(const Row& scores, const std::vector<const Cell*>& seen, int at, Row& out) {
    Real largest = scores[0], total = 0;
    Row values(static_cast<std::size_t>(config_.head_dim));
    for (std::size_t j = 0; j < seen.size(); ++j) {
      if (scores[j] > largest) {
        const Real scale = exponential(largest - scores[j]);
        total *= scale;
        for (Real& value : values) value *= scale;
        largest = scores[j];
      }
      const Real weight = exponential(scores[j] - largest);
      total += weight;
      for (std::size_t d = 0; d < values.size(); ++d)
        values[d] += weight * seen[j]->value[static_cast<std::size_t>(at) + d];
    }
    for (const Real value : values) out.push_back(value / total);
  }

  void mlp(const reference::model::LayerWeights& layer, Row& hidden) {
    const Row both = product(layer.gate_up, normed(hidden, layer.mlp_norm));
    const std::size_t half = both.size() / 2;
    Row gated;
    for (std::size_t i = 0; i < half; ++i)
      gated.push_back(both[i] / (Real{1} + exponential(-both[i])) * both[half + i]);
    add(hidden, product(layer.down, gated));
  }

  static void add(Row& x, const Row& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }

  const reference::model::ToyLlamaWeights& weights_;
  const reference::model::ToyLlamaConfig& config_;
  std::mt19937_64* order_;
  EvaluationKind kind_;
  std::vector<std::vector<Cell>> cells_;
};

}  // namespace draftproof::tests
