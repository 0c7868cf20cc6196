// Weights of a spec: the bigram and the attention toys, and what drafts make of them.
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "reference/error.h"
#include "tools/toys/integer_weights.h"
#include "tools/toys/lm_head.h"
#include "tools/toys/sha256.h"

namespace draftproof::tools::toys {
namespace {

namespace model = reference::model;

/// At which epsilon a state of mean square 4 / 1024 has an fp32 norm that is a power of two.
constexpr float kEpsilon = 1e-12f;
constexpr int kOnes = 3;  ///< constant channels of a one-hot state, beside the token's
constexpr int kCodeWidth = 64;
constexpr int kCodeConstants = 2;

int power_of_four(int least) {
  int size = 64;
  while (size < least) size *= 4;
  return size;
}

/// A token's weights on the states behind each last token, in units.
struct Table {
  int tokens = 0, inputs = 0;
  std::vector<int> value;

  int& at(int token, int input) {
    return value[static_cast<std::size_t>(token) * static_cast<std::size_t>(inputs) +
                 static_cast<std::size_t>(input)];
  }
};

Table drawn_table(const ToySpec& spec, int inputs, double scale, std::uint64_t seed) {
  SeededIntegers source(seed);
  Table table{spec.vocab_size, inputs, {}};
  table.value.resize(static_cast<std::size_t>(spec.vocab_size) * static_cast<std::size_t>(inputs));
  for (int& value : table.value) value = static_cast<int>(std::lround(source.bell() * scale));
  return table;
}

/// What a draft makes of the target's table.
Table table_of(const ToySpec& spec, int inputs, double scale) {
  Table table = drawn_table(spec, inputs, scale, spec.seed);
  if (spec.distance > 0) {
    const Table own = drawn_table(spec, inputs, scale, draft_seed(spec.seed));
    for (std::size_t i = 0; i < table.value.size(); ++i)
      table.value[i] = static_cast<int>(
          std::lround((1 - spec.distance) * table.value[i] + spec.distance * own.value[i]));
  }
  if (spec.is_adversarial)
    for (int& value : table.value) value = -value;
  return table;
}

/// Raises the first of several most likely tokens by one unit, tied ones together: greedy decoding
/// meets no tie but the ones that were asked for.
void part_tops(const ToySpec& spec, double unit, Table& table) {
  const int lift = static_cast<int>(std::lround(tie_lift(spec) / unit));
  for (int input = 0; input < table.inputs; ++input) {
    int top = -1, best = 0, count = 0;
    for (int token = 0; token < spec.vocab_size; ++token) {
      if (!is_live(spec, token) || (is_tied(spec, token) && token > kSpecialCount)) continue;
      const int logit = table.at(token, input) + (is_tied(spec, token) ? lift : 0);
      if (top < 0 || logit > best) {
        top = token;
        best = logit;
        count = 1;
      } else if (logit == best) {
        ++count;
      }
    }
    if (count > 1) ++table.at(top, input);
  }
}

/// The smallest power of two of at least `sharpness`, over 32: seven bits hold a draw.
double unit_of(double sharpness) { return std::exp2(std::ceil(std::log2(sharpness)) - 5); }

model::ToyLlamaConfig bigram_config(const ToySpec& spec) {
  model::ToyLlamaConfig config;
  config.layers = 1;
  config.head_dim = spec.head_dim;
  config.hidden =
      spec.vocab_size <= kOneHotVocabMax ? power_of_four(spec.vocab_size + kOnes) : kCodeWidth;
  config.vocab = spec.vocab_size;
  config.rms_epsilon = kEpsilon;
  return config;
}

void write_states(const ToySpec& spec, model::ToyLlamaWeights& weights) {
  const auto width = static_cast<std::size_t>(weights.config.hidden);
  SeededIntegers source(spec.seed + 1);
  for (std::size_t token = 0; token < static_cast<std::size_t>(spec.vocab_size); ++token) {
    float* const state = weights.embedding.data() + token * width;
    const bool is_one_hot = spec.vocab_size <= kOneHotVocabMax;
    for (std::size_t i = 0; i < width; ++i)
      state[i] = is_one_hot ? (i < kOnes || i == kOnes + token ? 1.0f : 0.0f)
                 : i < kCodeConstants || source.next() >> 63 != 0 ? 1.0f
                                                                  : -1.0f;
  }
}

model::ToyLlamaWeights bigram(const ToySpec& spec) {
  model::ToyLlamaWeights weights = model::make_toy_llama_weights(bigram_config(spec), spec.seed);
  const bool is_one_hot = spec.vocab_size <= kOneHotVocabMax;
  write_states(spec, weights);
  std::fill(weights.layers[0].output.begin(), weights.layers[0].output.end(), 0.0f);
  std::fill(weights.layers[0].down.begin(), weights.layers[0].down.end(), 0.0f);
  std::fill(weights.final_norm.begin(), weights.final_norm.end(), 1.0f);
  // Four ones among d numbers have an RMS of 2 / sqrt(d), which the norm makes into ones times
  // sqrt(d) / 2; a code of +-1 is its own norm. Its sums have some 64 terms, each an eighth.
  const double constant = is_one_hot ? std::sqrt(weights.config.hidden) / 2 : 1;
  const double sharpness = is_one_hot ? spec.sharpness : spec.sharpness / 8;
  const int first = is_one_hot ? kOnes : kCodeConstants;
  const int inputs = is_one_hot ? spec.vocab_size : kCodeWidth - kCodeConstants;
  const double unit = unit_of(sharpness);
  Table table = table_of(spec, inputs, sharpness / (32 * unit));
  if (is_one_hot) part_tops(spec, unit, table);
  const auto width = static_cast<std::size_t>(weights.config.hidden);
  std::fill(weights.lm_head.begin(), weights.lm_head.end(), 0.0f);
  for (int token = 0; token < spec.vocab_size; ++token)
    for (int input = 0; input < inputs; ++input)
      weights.lm_head[static_cast<std::size_t>(token) * width +
                      static_cast<std::size_t>(first + input)] =
          static_cast<float>(table.at(token, input) * unit / constant);
  finish_rows(spec, constant, weights);
  return weights;
}

/// Values as multiples of one power of two, seven bits and a sign.
void round_all(std::vector<float>& values) {
  double largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(double{value}));
  if (largest == 0) return;
  const double unit = std::exp2(std::ceil(std::log2(largest)) - 7);
  for (float& value : values)
    value = static_cast<float>(std::round(static_cast<double>(value) / unit) * unit);
}

void mix(std::vector<float>& into, const std::vector<float>& other, double share) {
  for (std::size_t i = 0; i < into.size(); ++i)
    into[i] = static_cast<float>((1 - share) * static_cast<double>(into[i]) +
                                 share * static_cast<double>(other[i]));
  round_all(into);
}

void mix(model::ToyLlamaWeights& into, const model::ToyLlamaWeights& other, double share) {
  mix(into.embedding, other.embedding, share);
  mix(into.lm_head, other.lm_head, share);
  for (std::size_t i = 0; i < into.layers.size(); ++i) {
    model::LayerWeights& layer = into.layers[i];
    const model::LayerWeights& own = other.layers[i];
    mix(layer.qkv, own.qkv, share);
    mix(layer.output, own.output, share);
    mix(layer.gate_up, own.gate_up, share);
    mix(layer.down, own.down, share);
  }
}

model::ToyLlamaWeights attention(const ToySpec& spec) {
  model::ToyLlamaConfig config;
  config.layers = spec.layers;
  config.head_dim = spec.head_dim;
  config.hidden = config.query_width();
  config.intermediate = 2 * config.hidden;
  config.vocab = spec.vocab_size;
  config.rms_epsilon = kEpsilon;
  model::ToyLlamaWeights weights = model::make_toy_llama_weights(config, spec.seed);
  if (spec.distance > 0)
    mix(weights, model::make_toy_llama_weights(config, draft_seed(spec.seed)), spec.distance);
  for (float& value : weights.lm_head) value = static_cast<float>(value * spec.sharpness);
  round_all(weights.lm_head);
  const auto width = static_cast<std::size_t>(config.hidden);
  for (const std::size_t channel : {kBiasChannel, kFineChannel}) {
    for (std::size_t token = 0; token < static_cast<std::size_t>(spec.vocab_size); ++token) {
      weights.embedding[token * width + channel] = 1;
      weights.lm_head[token * width + channel] = 0;
    }
    for (model::LayerWeights& layer : weights.layers) {
      std::fill_n(
          layer.output.begin() + static_cast<std::ptrdiff_t>(channel) * config.query_width(),
          config.query_width(), 0.0f);
      std::fill_n(layer.down.begin() + static_cast<std::ptrdiff_t>(channel) * config.intermediate,
                  config.intermediate, 0.0f);
    }
    weights.final_norm[channel] = 1;
  }
  if (spec.is_adversarial)
    for (float& value : weights.lm_head) value = -value;
  // What the constants have behind the last norm depends on the state: an eighth at the least.
  finish_rows(spec, 1, weights);
  for (float& value : weights.lm_head)
    if (static_cast<double>(value) == kNever) value = static_cast<float>(8 * kNever);
  return weights;
}

}  // namespace

model::ToyLlamaWeights weights_of(const ToySpec& spec) {
  validate(spec);
  model::ToyLlamaWeights weights = spec.kind == ToyKind::kBigram      ? bigram(spec)
                                   : spec.kind == ToyKind::kAttention ? attention(spec)
                                                                      : integer_weights(spec);
  permute_rows(spec, weights);
  return weights;
}

std::string weights_hash(const model::ToyLlamaWeights& weights) {
  std::string bytes;
  const auto add = [&](const std::vector<float>& values) {
    for (const float value : values) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(bits >> shift));
    }
  };
  add(weights.embedding);
  for (const model::LayerWeights& layer : weights.layers)
    for (const auto* part : {&layer.attention_norm, &layer.qkv, &layer.output, &layer.mlp_norm,
                             &layer.gate_up, &layer.down})
      add(*part);
  add(weights.final_norm);
  add(weights.lm_head);
  return sha256(bytes);
}

}  // namespace draftproof::tools::toys
