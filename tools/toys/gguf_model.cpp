// A toy as GGUF: names and metadata of llama.cpp's "llama" architecture.
#include <algorithm>

#include "reference/error.h"
#include "tools/toys/gguf.h"
#include "tools/toys/toy_model_files.h"
#include "tools/toys/toy_vocabulary.h"

namespace draftproof::tools::toys {
namespace {

namespace model = reference::model;

constexpr std::uint32_t kContextLength = 4096;
// llama_token_type.
constexpr std::int32_t kNormal = 1, kUnknown = 2, kControl = 3;

/// Our coordinate i is rotated with i + head_dim / 2, theirs 2 i with 2 i + 1.
std::vector<float> neighbours(const float* rows, int heads, int head_dim, int columns) {
  std::vector<float> moved;
  moved.reserve(static_cast<std::size_t>(heads) * static_cast<std::size_t>(head_dim) *
                static_cast<std::size_t>(columns));
  for (int head = 0; head < heads; ++head)
    for (int row = 0; row < head_dim; ++row) {
      const int from = head * head_dim + row / 2 + (row % 2) * head_dim / 2;
      const float* const first = rows + static_cast<std::ptrdiff_t>(from) * columns;
      moved.insert(moved.end(), first, first + columns);
    }
  return moved;
}

void add_tokenizer(GgufFile& file, const ToySpec& spec, const std::string& tokenizer) {
  const ToyVocabulary vocabulary = vocabulary_of(spec);
  const bool is_bpe = tokenizer == "gpt2";
  const auto written = [&](const std::string& text) {
    return is_bpe ? byte_level(text) : sentencepiece(text);
  };
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<std::int32_t> types;
  for (std::size_t id = 0; id < vocabulary.texts.size(); ++id) {
    tokens.push_back(written(vocabulary.texts[id]));
    scores.push_back(id < kSpecialCount ? 0.0f : -static_cast<float>(id));
    types.push_back(id == kUnknownToken ? kUnknown : id < kSpecialCount ? kControl : kNormal);
  }
  auto& metadata = file.metadata;
  metadata.emplace_back("tokenizer.ggml.model", tokenizer);
  metadata.emplace_back("tokenizer.ggml.pre", std::string(is_bpe ? "gpt-2" : "default"));
  metadata.emplace_back("tokenizer.ggml.tokens", std::move(tokens));
  metadata.emplace_back("tokenizer.ggml.scores", std::move(scores));
  metadata.emplace_back("tokenizer.ggml.token_type", std::move(types));
  if (is_bpe) {
    std::vector<std::string> merges;
    for (const auto& [left, right] : vocabulary.merges)
      merges.push_back(written(left) + " " + written(right));
    metadata.emplace_back("tokenizer.ggml.merges", std::move(merges));
  }
  metadata.emplace_back("tokenizer.ggml.unknown_token_id", std::uint32_t{kUnknownToken});
  metadata.emplace_back("tokenizer.ggml.bos_token_id", std::uint32_t{kBeginToken});
  metadata.emplace_back("tokenizer.ggml.eos_token_id", std::uint32_t{kEndToken});
  for (const char* name : {"add_bos_token", "add_eos_token", "add_space_prefix"})
    metadata.emplace_back(std::string("tokenizer.ggml.") + name, false);
}

void add_architecture(GgufFile& file, const model::ToyLlamaConfig& config, TensorFormat format) {
  const auto size = [](int value) { return static_cast<std::uint32_t>(value); };
  auto& metadata = file.metadata;
  metadata.emplace_back("llama.context_length", kContextLength);
  metadata.emplace_back("llama.embedding_length", size(config.hidden));
  metadata.emplace_back("llama.block_count", size(config.layers));
  metadata.emplace_back("llama.feed_forward_length", size(config.intermediate));
  metadata.emplace_back("llama.attention.head_count", size(config.heads));
  metadata.emplace_back("llama.attention.head_count_kv", size(config.kv_heads));
  metadata.emplace_back("llama.attention.key_length", size(config.head_dim));
  metadata.emplace_back("llama.attention.value_length", size(config.head_dim));
  metadata.emplace_back("llama.attention.layer_norm_rms_epsilon", config.rms_epsilon);
  metadata.emplace_back("llama.rope.dimension_count", size(config.head_dim));
  metadata.emplace_back("llama.rope.freq_base", static_cast<float>(config.rope_base));
  metadata.emplace_back("llama.vocab_size", size(config.vocab));
  // llama_ftype: all F32, mostly F16, mostly BF16.
  metadata.emplace_back("general.file_type", format == TensorFormat::kF32   ? 0u
                                             : format == TensorFormat::kF16 ? 1u
                                                                            : 32u);
  metadata.emplace_back("general.quantization_version", 2u);
}

void add_tensors(GgufFile& file, const model::ToyLlamaWeights& weights, TensorFormat format) {
  const model::ToyLlamaConfig& config = weights.config;
  const auto matrix = [&](const std::string& name, std::vector<float> values, int columns) {
    const std::uint64_t rows = values.size() / static_cast<std::size_t>(columns);
    file.tensors.push_back(
        tensor_of(name + ".weight", {rows, static_cast<std::uint64_t>(columns)}, format, values));
  };
  // Engines keep norms in fp32 whatever the file's type is.
  const auto norm = [&](const std::string& name, const std::vector<float>& values) {
    file.tensors.push_back(
        tensor_of(name + ".weight", {values.size()}, TensorFormat::kF32, values));
  };
  matrix("token_embd", weights.embedding, config.hidden);
  norm("output_norm", weights.final_norm);
  matrix("output", weights.lm_head, config.hidden);
  const std::ptrdiff_t queries = std::ptrdiff_t{config.query_width()} * config.hidden;
  const std::ptrdiff_t keys = std::ptrdiff_t{config.kv_width()} * config.hidden;
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    const model::LayerWeights& layer = weights.layers[i];
    const std::string block = "blk." + std::to_string(i) + ".";
    const float* const first = layer.qkv.data();
    norm(block + "attn_norm", layer.attention_norm);
    matrix(block + "attn_q", neighbours(first, config.heads, config.head_dim, config.hidden),
           config.hidden);
    matrix(block + "attn_k",
           neighbours(first + queries, config.kv_heads, config.head_dim, config.hidden),
           config.hidden);
    matrix(block + "attn_v", {first + queries + keys, first + queries + 2 * keys}, config.hidden);
    matrix(block + "attn_output", layer.output, config.query_width());
    norm(block + "ffn_norm", layer.mlp_norm);
    const auto middle =
        layer.gate_up.begin() + static_cast<std::ptrdiff_t>(layer.gate_up.size()) / 2;
    matrix(block + "ffn_gate", {layer.gate_up.begin(), middle}, config.hidden);
    matrix(block + "ffn_up", {middle, layer.gate_up.end()}, config.hidden);
    matrix(block + "ffn_down", layer.down, config.intermediate);
  }
}

}  // namespace

const std::vector<std::string>& gguf_tokenizers() {
  static const std::vector<std::string> names = {"llama", "gpt2"};
  return names;
}

ModelFile gguf_model(const ToySpec& spec, const model::ToyLlamaWeights& weights,
                     TensorFormat format, const std::string& tokenizer) {
  const auto& known = gguf_tokenizers();
  DRAFTPROOF_CHECK(std::find(known.begin(), known.end(), tokenizer) != known.end(), tokenizer);
  GgufFile file;
  file.metadata.emplace_back("general.architecture", std::string("llama"));
  file.metadata.emplace_back("general.name", "draftproof toy " + std::string(to_string(spec.kind)));
  add_architecture(file, weights.config, format);
  add_tokenizer(file, spec, tokenizer);
  add_tensors(file, weights, format);
  return {"model.gguf", gguf_bytes(file)};
}

}  // namespace draftproof::tools::toys
