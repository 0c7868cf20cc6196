// Stored toys: readers of GGUF and safetensors, and a forward pass of what they found, that share
// nothing with the writers and the law but the formats' and the architecture's public descriptions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace draftproof::tests {

/// A tensor as fp32, whatever it was stored as.
struct StoredTensor {
  std::vector<std::uint64_t> shape;  ///< slowest first
  std::vector<float> values;
};

struct StoredToy {
  nlohmann::json metadata;
  std::map<std::string, StoredTensor> tensors;
  bool rotates_neighbours = false;  ///< 2 i with 2 i + 1; else i with i + head_dim / 2
};

/// Takes numbers off a text and throws where it ends too soon.
class ByteReader {
 public:
  explicit ByteReader(const std::string& bytes) : bytes_(bytes) {}

  template <typename T>
  T number() {
    T value{};
    std::memcpy(&value, text(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text(std::uint64_t size) {
    if (size > bytes_.size() - at_) throw std::runtime_error("ends at byte " + std::to_string(at_));
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  std::string counted_text() { return text(number<std::uint64_t>()); }
  std::uint64_t at() const { return at_; }

 private:
  const std::string& bytes_;
  std::uint64_t at_ = 0;
};

inline float half_as_float(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return static_cast<float>((bits & 0x8000) != 0 ? -magnitude : magnitude);
}

inline std::vector<float> stored_values(ByteReader bytes, const std::string& type,
                                        std::uint64_t count) {
  std::vector<float> values(count);
  for (float& value : values) {
    if (type == "F32") {
      value = bytes.number<float>();
    } else if (type == "F16") {
      value = half_as_float(bytes.number<std::uint16_t>());
    } else {
      const std::uint32_t bits = std::uint32_t{bytes.number<std::uint16_t>()} << 16;
      std::memcpy(&value, &bits, sizeof value);
    }
  }
  return values;
}

inline nlohmann::json gguf_value(ByteReader& bytes, std::uint32_t type) {
  switch (type) {
    case 4:
      return bytes.number<std::uint32_t>();
    case 5:
      return bytes.number<std::int32_t>();
    case 6:
      return bytes.number<float>();
    case 7:
      return bytes.number<std::uint8_t>() != 0;
    case 8:
      return bytes.counted_text();
    case 9: {
      const auto element = bytes.number<std::uint32_t>();
      nlohmann::json values = nlohmann::json::array();
      for (auto left = bytes.number<std::uint64_t>(); left > 0; --left)
        values.push_back(gguf_value(bytes, element));
      return values;
    }
    default:
      throw std::runtime_error("type " + std::to_string(type));
  }
}

inline std::uint64_t product_of(const std::vector<std::uint64_t>& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t size : shape) count *= size;
  return count;
}

inline StoredToy gguf_from(const std::string& file) {
  ByteReader bytes(file);
  if (bytes.text(4) != "GGUF" || bytes.number<std::uint32_t>() != 3)
    throw std::runtime_error("no GGUF 3");
  const auto tensor_count = bytes.number<std::uint64_t>();
  StoredToy toy;
  toy.rotates_neighbours = true;
  for (auto left = bytes.number<std::uint64_t>(); left > 0; --left) {
    const std::string name = bytes.counted_text();
    const auto type = bytes.number<std::uint32_t>();
    toy.metadata[name] = gguf_value(bytes, type);
  }
  struct Info {
    std::string name, type;
    std::vector<std::uint64_t> shape;
    std::uint64_t offset;
  };
  std::vector<Info> infos(tensor_count);
  for (Info& info : infos) {
    info.name = bytes.counted_text();
    info.shape.resize(bytes.number<std::uint32_t>());
    for (auto size = info.shape.rbegin(); size != info.shape.rend(); ++size)
      *size = bytes.number<std::uint64_t>();
    const auto type = bytes.number<std::uint32_t>();
    info.type = type == 0 ? "F32" : type == 1 ? "F16" : type == 30 ? "BF16" : "?";
    info.offset = bytes.number<std::uint64_t>();
    if (info.type == "?" || info.offset % 32 != 0) throw std::runtime_error(info.name);
  }
  const std::uint64_t data = (bytes.at() + 31) / 32 * 32;
  for (const Info& info : infos) {
    const std::uint64_t count = product_of(info.shape);
    ByteReader at(file);
    at.text(data + info.offset);
    toy.tensors[info.name] = {info.shape, stored_values(at, info.type, count)};
  }
  return toy;
}

inline StoredToy safetensors_from(const std::string& file, const std::string& config) {
  ByteReader bytes(file);
  const auto header = nlohmann::json::parse(bytes.counted_text());
  StoredToy toy;
  toy.metadata = nlohmann::json::parse(config);
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const auto shape = entry.at("shape").get<std::vector<std::uint64_t>>();
    const auto offsets = entry.at("data_offsets").get<std::vector<std::uint64_t>>();
    const std::string type = entry.at("dtype");
    const std::uint64_t count = product_of(shape);
    if (offsets.at(1) - offsets.at(0) != count * (type == "F32" ? 4 : 2))
      throw std::runtime_error(name);
    ByteReader at(file);
    at.text(bytes.at() + offsets.at(0));
    toy.tensors[name] = {shape, stored_values(at, type, count)};
  }
  return toy;
}

/// Sums from the front or from the back, in the type of the terms.
template <typename Real>
Real sum_of(const std::vector<Real>& terms, bool is_from_back) {
  Real sum = 0;
  if (is_from_back) {
    for (std::size_t i = terms.size(); i-- > 0;) sum += terms[i];
  } else {
    for (const Real term : terms) sum += term;
  }
  return sum;
}

/// What the architecture makes of a stored toy, in one type and one order of summation.
template <typename Real>
class StoredForward {
 public:
  StoredForward(const StoredToy& toy, bool is_from_back = false)
      : toy_(toy), is_from_back_(is_from_back) {
    const auto& data = toy.metadata;
    const auto pick = [&](const char* gguf, const char* config) {
      return data.at(toy.rotates_neighbours ? gguf : config);
    };
    layers_ = pick("llama.block_count", "num_hidden_layers");
    heads_ = pick("llama.attention.head_count", "num_attention_heads");
    kv_heads_ = pick("llama.attention.head_count_kv", "num_key_value_heads");
    head_dim_ = pick("llama.attention.key_length", "head_dim");
    base_ = pick("llama.rope.freq_base", "rope_theta");
    epsilon_ = static_cast<Real>(
        pick("llama.attention.layer_norm_rms_epsilon", "rms_norm_eps").template get<double>());
  }

  /// Logits behind the last token.
  std::vector<Real> operator()(const std::vector<int>& tokens) const {
    std::vector<std::vector<Real>> states;
    const StoredTensor& embedding = tensor("token_embd", "model.embed_tokens");
    const auto width = static_cast<std::ptrdiff_t>(embedding.shape.at(1));
    for (const int token : tokens) {
      const auto first = embedding.values.begin() + token * width;
      states.emplace_back(first, first + width);
    }
    for (int layer = 0; layer < layers_; ++layer) {
      attend(layer, states);
      for (auto& state : states) feed_forward(layer, state);
    }
    return times(tensor("output", "lm_head"),
                 normed(states.back(), tensor("output_norm", "model.norm")));
  }

 private:
  const StoredTensor& tensor(const std::string& gguf, const std::string& hf) const {
    return toy_.tensors.at((toy_.rotates_neighbours ? gguf : hf) + ".weight");
  }
  const StoredTensor& of_layer(int layer, const std::string& gguf, const std::string& hf) const {
    const std::string index = std::to_string(layer) + ".";
    return tensor("blk." + index + gguf, "model.layers." + index + hf);
  }

  std::vector<Real> times(const StoredTensor& matrix, const std::vector<Real>& x) const {
    std::vector<Real> y;
    for (std::size_t row = 0; row < matrix.shape.at(0); ++row) {
      std::vector<Real> terms;
      for (std::size_t i = 0; i < x.size(); ++i)
        terms.push_back(static_cast<Real>(matrix.values[row * x.size() + i]) * x[i]);
      y.push_back(sum_of(terms, is_from_back_));
    }
    return y;
  }

  std::vector<Real> normed(const std::vector<Real>& x, const StoredTensor& weight) const {
    std::vector<Real> squares;
    for (const Real value : x) squares.push_back(value * value);
    const Real mean = sum_of(squares, is_from_back_) / static_cast<Real>(x.size());
    const Real scale = 1 / std::sqrt(mean + epsilon_);
    std::vector<Real> y;
    for (std::size_t i = 0; i < x.size(); ++i)
      y.push_back(x[i] * scale * static_cast<Real>(weight.values[i]));
    return y;
  }

  void rotate(std::vector<Real>& rows, int heads, std::size_t position) const {
    for (int head = 0; head < heads; ++head)
      for (int pair = 0; pair < head_dim_ / 2; ++pair) {
        const double angle =
            static_cast<double>(position) * std::pow(base_, -2.0 * pair / head_dim_);
        const int first = head * head_dim_ + (toy_.rotates_neighbours ? 2 * pair : pair);
        const int second = first + (toy_.rotates_neighbours ? 1 : head_dim_ / 2);
        Real& a = rows[static_cast<std::size_t>(first)];
        Real& b = rows[static_cast<std::size_t>(second)];
        const Real cosine = static_cast<Real>(std::cos(angle));
        const Real sine = static_cast<Real>(std::sin(angle));
        const Real turned = a * cosine - b * sine;
        b = a * sine + b * cosine;
        a = turned;
      }
  }

  void attend(int layer, std::vector<std::vector<Real>>& states) const {
    std::vector<std::vector<Real>> keys, values, out;
    for (std::size_t n = 0; n < states.size(); ++n) {
      const auto x = normed(states[n], of_layer(layer, "attn_norm", "input_layernorm"));
      auto queries = times(of_layer(layer, "attn_q", "self_attn.q_proj"), x);
      keys.push_back(times(of_layer(layer, "attn_k", "self_attn.k_proj"), x));
      values.push_back(times(of_layer(layer, "attn_v", "self_attn.v_proj"), x));
      rotate(queries, heads_, n);
      rotate(keys.back(), kv_heads_, n);
      std::vector<Real> mixed;
      for (int head = 0; head < heads_; ++head) {
        const auto part = mixture(queries, head, keys, values);
        mixed.insert(mixed.end(), part.begin(), part.end());
      }
      out.push_back(times(of_layer(layer, "attn_output", "self_attn.o_proj"), mixed));
    }
    for (std::size_t n = 0; n < states.size(); ++n)
      for (std::size_t i = 0; i < states[n].size(); ++i) states[n][i] += out[n][i];
  }

  std::vector<Real> mixture(const std::vector<Real>& queries, int head,
                            const std::vector<std::vector<Real>>& keys,
                            const std::vector<std::vector<Real>>& values) const {
    const auto size = static_cast<std::size_t>(head_dim_);
    const auto query_at = static_cast<std::size_t>(head) * size;
    const auto key_at = static_cast<std::size_t>(head / (heads_ / kv_heads_)) * size;
    std::vector<Real> weights;
    for (const auto& key : keys) {
      std::vector<Real> terms;
      for (std::size_t i = 0; i < size; ++i)
        terms.push_back(queries[query_at + i] * key[key_at + i]);
      weights.push_back(sum_of(terms, is_from_back_) / std::sqrt(static_cast<Real>(head_dim_)));
    }
    const Real largest = *std::max_element(weights.begin(), weights.end());
    for (Real& weight : weights) weight = std::exp(weight - largest);
    const Real total = sum_of(weights, is_from_back_);
    std::vector<Real> mixed;
    for (std::size_t i = 0; i < size; ++i) {
      std::vector<Real> terms;
      for (std::size_t n = 0; n < values.size(); ++n)
        terms.push_back(weights[n] / total * values[n][key_at + i]);
      mixed.push_back(sum_of(terms, is_from_back_));
    }
    return mixed;
  }

  void feed_forward(int layer, std::vector<Real>& state) const {
    const auto x = normed(state, of_layer(layer, "ffn_norm", "post_attention_layernorm"));
    auto gate = times(of_layer(layer, "ffn_gate", "mlp.gate_proj"), x);
    const auto up = times(of_layer(layer, "ffn_up", "mlp.up_proj"), x);
    for (std::size_t i = 0; i < gate.size(); ++i)
      gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
    const auto down = times(of_layer(layer, "ffn_down", "mlp.down_proj"), gate);
    for (std::size_t i = 0; i < state.size(); ++i) state[i] += down[i];
  }

  const StoredToy& toy_;
  bool is_from_back_;
  int layers_, heads_, kv_heads_, head_dim_;
  double base_;
  Real epsilon_;
};

}  // namespace draftproof::tests
