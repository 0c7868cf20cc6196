// Weights of a tiny Llama-architecture model (Touvron et al., arXiv:2302.13971; grouped-query
// attention: Ainslie et al., EMNLP 2023): RMS norms, rotary positions, SwiGLU, no biases. They come
// from a seed and are exact in their storage format, so that whoever computes the model, in float64
// here or in fp32 on a device, starts from the same real numbers. Data only: what is computed with
// them is toy_llama.h, and on a device gpu/kernels/model.
#pragma once

#include <cstdint>
#include <vector>

namespace draftproof::reference::model {

/// How weights are stored; norm weights are stored as fp32 in any case.
enum class WeightFormat : unsigned char { kFloat32, kBfloat16 };

struct ToyLlamaConfig {
  int layers = 2;
  int heads = 4;
  int kv_heads = 2;  ///< divides heads: query head h reads K/V head h / (heads / kv_heads)
  int head_dim = 8;  ///< even: coordinate i is rotated with coordinate i + head_dim / 2
  int hidden = 32;
  int intermediate = 64;
  int vocab = 97;
  double rope_base = 10000.0;
  float rms_epsilon = 1e-5f;
  WeightFormat format = WeightFormat::kBfloat16;

  int query_width() const { return heads * head_dim; }
  int kv_width() const { return kv_heads * head_dim; }
  int qkv_width() const { return query_width() + 2 * kv_width(); }
};

/// Matrices are row-major, a row an output: y = W x.
struct LayerWeights {
  std::vector<float> attention_norm;  ///< hidden
  std::vector<float> qkv;             ///< qkv_width x hidden: query heads, key heads, value heads
  std::vector<float> output;          ///< hidden x query_width
  std::vector<float> mlp_norm;        ///< hidden
  std::vector<float> gate_up;         ///< 2 intermediate x hidden: gate rows, then up rows
  std::vector<float> down;            ///< hidden x intermediate
};

struct ToyLlamaWeights {
  ToyLlamaConfig config;
  std::vector<float> embedding;  ///< vocab x hidden
  std::vector<LayerWeights> layers;
  std::vector<float> final_norm;  ///< hidden
  std::vector<float> lm_head;     ///< vocab x hidden
};

/// Throws Error(kInput) naming the field for sizes that make no model, or one that is not tiny.
void validate(const ToyLlamaConfig& config);

/// The model of a seed: the same weights on any machine. Matrices are uniform in about
/// +-sqrt(3 / inputs), so that activations keep their size from layer to layer. Throws as
/// validate().
ToyLlamaWeights make_toy_llama_weights(const ToyLlamaConfig& config, std::uint64_t seed);

}  // namespace draftproof::reference::model
