#include "tools/toys/integer_weights.h"

#include <cmath>
#include <set>

#include "reference/error.h"
#include "tools/toys/lm_head.h"

namespace draftproof::tools::toys {
namespace {

namespace model = reference::model;

constexpr int kWidth = 64, kHeadDim = 32, kIntermediate = 32;
constexpr int kCodeAt = 2, kCodeBits = 12;
constexpr float kGate = 128;
constexpr int kReach = 3;  ///< weights of the last matrix are in [-3, 3]

model::ToyLlamaConfig config_of(const ToySpec& spec) {
  model::ToyLlamaConfig config;
  config.layers = static_cast<int>(integer_layers().size());
  config.head_dim = kHeadDim;
  config.hidden = kWidth;
  config.intermediate = kIntermediate;
  config.vocab = spec.vocab_size;
  config.rms_epsilon = 1e-12f;
  return config;
}

/// A matrix that is written one entry at a time.
class Sparse {
 public:
  Sparse(int rows, int columns)
      : columns_(columns), values_(static_cast<std::size_t>(rows * columns)) {}
  float& at(int row, int column) {
    return values_[static_cast<std::size_t>(row * columns_ + column)];
  }
  std::vector<float> take() { return std::move(values_); }

 private:
  int columns_;
  std::vector<float> values_;
};

/// Different codes of +-1 for all tokens, between constants and places that begin as +1.
std::vector<float> states(int vocab_size, std::uint64_t seed) {
  SeededIntegers source(seed);
  std::set<std::uint64_t> taken;
  std::vector<float> rows(static_cast<std::size_t>(vocab_size) * kWidth, 1.0f);
  for (int token = 0; token < vocab_size; ++token) {
    std::uint64_t code = 0;
    do {
      code = source.next() >> (64 - kCodeBits);
    } while (!taken.insert(code).second);
    for (int bit = 0; bit < kCodeBits; ++bit)
      if ((code >> bit & 1) != 0)
        rows[static_cast<std::size_t>(token * kWidth + kCodeAt + bit)] = -1.0f;
  }
  return rows;
}

/// Queries turned back by the angle of the distance they look for; constant keys.
void write_looks(const IntegerLayer& layer, const model::ToyLlamaConfig& config, Sparse& qkv) {
  const int half = kHeadDim / 2;
  for (int pair = 0; pair < static_cast<int>(kLookAmplitudes.size()); ++pair) {
    const double angle = std::pow(config.rope_base, -2.0 * pair / kHeadDim);
    const double amplitude = kLookAmplitudes[static_cast<std::size_t>(pair)];
    for (int head = 0; head < config.heads; ++head) {
      const IntegerHead& look = layer.heads[static_cast<std::size_t>(head)];
      // One function of two values is a constant and a multiple of the channel that selects.
      const auto write = [&](int row, double if_plus, double if_minus) {
        const double half_sum = std::round((if_plus + if_minus) / 2);
        const double half_difference = std::round((if_plus - if_minus) / 2);
        qkv.at(row, kBiasChannel) = static_cast<float>(half_sum);
        if (look.channel != kBiasChannel)
          qkv.at(row, look.channel) = static_cast<float>(half_difference);
      };
      const int row = head * kHeadDim + pair;
      write(row, amplitude * std::cos(angle * look.back_if_plus),
            amplitude * std::cos(angle * look.back_if_minus));
      write(row + half, -amplitude * std::sin(angle * look.back_if_plus),
            -amplitude * std::sin(angle * look.back_if_minus));
    }
    for (int head = 0; head < config.kv_heads; ++head)
      qkv.at(config.query_width() + head * kHeadDim + pair, kBiasChannel) =
          static_cast<float>(amplitude);
  }
}

/// Values are (channel - 1); the heads that share a value have places of their own in it.
void write_values(const IntegerLayer& layer, const model::ToyLlamaConfig& config, Sparse& qkv,
                  Sparse& output) {
  const int group = config.heads / config.kv_heads;
  const int first = config.query_width() + config.kv_width();
  for (int head = 0; head < config.heads; ++head) {
    const IntegerHead& look = layer.heads[static_cast<std::size_t>(head)];
    const int place = head % group * (kHeadDim / group);
    DRAFTPROOF_CHECK(look.count <= kHeadDim / group);
    for (int i = 0; i < look.count; ++i) {
      const int row = first + head / group * kHeadDim + place + i;
      qkv.at(row, look.from + i) = 1;
      qkv.at(row, kBiasChannel) = -1;
      output.at(look.to + i, head * kHeadDim + place + i) = 1;
    }
  }
}

void write_products(const IntegerLayer& layer, Sparse& gate_up, Sparse& down) {
  int unit = 0;
  for (const IntegerProduct& product : layer.products) {
    for (const float sign : {1.0f, -1.0f}) {
      gate_up.at(unit, product.left) = sign * kGate;
      gate_up.at(kIntermediate + unit, product.right) = sign;
      down.at(product.to, unit) = 1 / kGate;
      ++unit;
    }
  }
  // One unit that is always open takes the 1 away that stood there.
  gate_up.at(unit, kBiasChannel) = kGate;
  gate_up.at(kIntermediate + unit, kBiasChannel) = 1;
  for (const IntegerProduct& product : layer.products) down.at(product.to, unit) = -1 / kGate;
  DRAFTPROOF_CHECK(unit < kIntermediate);
}

model::LayerWeights layer_of(const IntegerLayer& layer, const model::ToyLlamaConfig& config) {
  Sparse qkv(config.qkv_width(), kWidth), output(kWidth, config.query_width());
  Sparse gate_up(2 * kIntermediate, kWidth), down(kWidth, kIntermediate);
  write_looks(layer, config, qkv);
  write_values(layer, config, qkv, output);
  write_products(layer, gate_up, down);
  const std::vector<float> ones(kWidth, 1.0f);
  return {ones, qkv.take(), output.take(), ones, gate_up.take(), down.take()};
}

void write_last_matrix(const ToySpec& spec, model::ToyLlamaWeights& weights) {
  SeededIntegers source(spec.seed), own(draft_seed(spec.seed));
  int modulus = 16;
  while (modulus < spec.vocab_size) modulus *= 2;
  // Some 62 terms of deviation 2 sum up to a deviation of 16.
  const double unit = std::exp2(std::round(std::log2(spec.sharpness)) - 4) / modulus;
  const double sign = spec.is_adversarial ? -1 : 1;
  weights.lm_head.assign(static_cast<std::size_t>(spec.vocab_size) * kWidth, 0.0f);
  for (int token = 0; token < spec.vocab_size; ++token) {
    float* const row = weights.lm_head.data() + static_cast<std::ptrdiff_t>(token) * kWidth;
    for (int channel = 2; channel < kWidth; ++channel) {
      const int target = source.within(kReach), draft = own.within(kReach);
      const double mixed =
          std::round((1 - spec.distance) * target + spec.distance * draft) * modulus;
      row[channel] = static_cast<float>(sign * unit * mixed);
    }
    row[kFineChannel] = static_cast<float>(sign * unit * token);
  }
}

}  // namespace

const std::array<IntegerLayer, 2>& integer_layers() {
  // Channels: 2 the token's code; 14 its neighbour's; 26, 30, 34 farther ones'; 38 products of
  // these; 44, 48, 52, 56 what the second layer finds; 59 products of that.
  static const std::array<IntegerLayer, 2> layers = {
      IntegerLayer{
          {IntegerHead{1, 1, kBiasChannel, 2, 14, 12}, IntegerHead{2, 3, 2, 2, 26, 4},
           IntegerHead{4, 6, 3, 6, 30, 4}, IntegerHead{9, 15, 4, 10, 34, 4}},
          {{2, 14, 38}, {3, 26, 39}, {4, 30, 40}, {15, 34, 41}, {16, 27, 42}, {31, 35, 43}}},
      IntegerLayer{{IntegerHead{1, 7, 14, 38, 44, 4}, IntegerHead{3, 10, 5, 14, 48, 4},
                    IntegerHead{8, 13, 38, 40, 52, 4}, IntegerHead{18, 24, 39, 2, 56, 3}},
                   {{2, 44, 59}, {14, 48, 60}, {45, 49, 61}, {52, 56, 62}, {53, 57, 63}}}};
  return layers;
}

model::ToyLlamaWeights integer_weights(const ToySpec& spec) {
  model::ToyLlamaWeights weights;
  weights.config = config_of(spec);
  weights.embedding =
      states(spec.vocab_size, spec.distance == 1 ? draft_seed(spec.seed) : spec.seed);
  for (const IntegerLayer& layer : integer_layers())
    weights.layers.push_back(layer_of(layer, weights.config));
  weights.final_norm.assign(kWidth, 1.0f);
  write_last_matrix(spec, weights);
  finish_rows(spec, 1, weights);
  return weights;
}

}  // namespace draftproof::tools::toys
