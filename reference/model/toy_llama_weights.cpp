#include "reference/model/toy_llama_weights.h"

#include <cmath>
#include <cstddef>
#include <string>

#include "reference/error.h"

namespace draftproof::reference::model {
namespace {

constexpr int kSizeMax = 1 << 16;
constexpr std::size_t kElementsMax = std::size_t{1} << 26;

void require_field(bool holds, const char* field, const std::string& remedy) {
  if (!holds) throw Error(ErrorKind::kInput, remedy, std::string("toy_llama.") + field);
}

void require_size(int size, const char* field) {
  require_field(size >= 1 && size <= kSizeMax, field,
                "is " + std::to_string(size) + "; take 1 to " + std::to_string(kSizeMax));
}

/// Integers from a seed (Steele, Lea, Flood, OOPSLA 2014: SplitMix64).
class SeededWeights {
 public:
  SeededWeights(std::uint64_t seed, WeightFormat format) : state_(seed), format_(format) {}

  /// Uniform in about +-`reach`, a power of two: multiples of reach / 2^7, or reach / 2^23, below
  /// reach, which the 8 significant bits of bf16 and the 24 of fp32 hold exactly.
  std::vector<float> matrix(int rows, int columns, double reach) {
    const int bits = format_ == WeightFormat::kBfloat16 ? 7 : 23;
    const std::int64_t largest = (std::int64_t{1} << bits) - 1;
    std::vector<float> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
    for (float& value : values) {
      const auto draw = static_cast<std::int64_t>(next() >> 40) % (2 * largest + 1) - largest;
      value = static_cast<float>(std::ldexp(static_cast<double>(draw), -bits) * reach);
    }
    return values;
  }

  /// Norm weights around 1: in [1/2, 3/2), multiples of 1/128.
  std::vector<float> norm(int size) {
    std::vector<float> values(static_cast<std::size_t>(size));
    for (float& value : values) value = static_cast<float>(64 + (next() >> 57)) / 128.0f;
    return values;
  }

 private:
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
  WeightFormat format_;
};

/// The power of two nearest to sqrt(3 / inputs): sums of `inputs` terms keep the variance.
double reach_of(int inputs) { return std::exp2(std::round(0.5 * std::log2(3.0 / inputs))); }

}  // namespace

void validate(const ToyLlamaConfig& config) {
  require_size(config.layers, "layers");
  require_size(config.heads, "heads");
  require_size(config.kv_heads, "kv_heads");
  require_size(config.head_dim, "head_dim");
  require_size(config.hidden, "hidden");
  require_size(config.intermediate, "intermediate");
  require_size(config.vocab, "vocab");
  require_field(config.heads % config.kv_heads == 0, "kv_heads", "must divide heads");
  require_field(config.head_dim % 2 == 0, "head_dim",
                "must be even: coordinates are rotated in pairs");
  require_field(config.rope_base >= 1.0 && std::isfinite(config.rope_base), "rope_base",
                "must be a number of at least 1");
  require_field(config.rms_epsilon > 0.0f && std::isfinite(config.rms_epsilon), "rms_epsilon",
                "must be positive: a row of zeros has no norm without it");
  const auto hidden = static_cast<std::size_t>(config.hidden);
  const auto rows = static_cast<std::size_t>(config.layers) *
                        (static_cast<std::size_t>(config.heads + 2 * config.kv_heads) *
                             static_cast<std::size_t>(config.head_dim) +
                         3 * static_cast<std::size_t>(config.intermediate)) +
                    2 * static_cast<std::size_t>(config.vocab);
  require_field(rows <= kElementsMax / hidden, "hidden",
                "the model has more than 2^26 weights: this is a toy, make it smaller");
}

ToyLlamaWeights make_toy_llama_weights(const ToyLlamaConfig& config, std::uint64_t seed) {
  validate(config);
  SeededWeights source(seed, config.format);
  ToyLlamaWeights weights;
  weights.config = config;
  weights.embedding = source.matrix(config.vocab, config.hidden, 1.0);
  for (int layer = 0; layer < config.layers; ++layer) {
    LayerWeights own;
    own.attention_norm = source.norm(config.hidden);
    own.qkv = source.matrix(config.qkv_width(), config.hidden, reach_of(config.hidden));
    own.output = source.matrix(config.hidden, config.query_width(), reach_of(config.query_width()));
    own.mlp_norm = source.norm(config.hidden);
    own.gate_up = source.matrix(2 * config.intermediate, config.hidden, reach_of(config.hidden));
    own.down = source.matrix(config.hidden, config.intermediate, reach_of(config.intermediate));
    weights.layers.push_back(std::move(own));
  }
  weights.final_norm = source.norm(config.hidden);
  weights.lm_head = source.matrix(config.vocab, config.hidden, 2.0 * reach_of(config.hidden));
  return weights;
}

}  // namespace draftproof::reference::model
