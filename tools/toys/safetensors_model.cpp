// A toy as a folder that transformers and vLLM load: LlamaForCausalLM, a byte-level BPE tokenizer.
#include <nlohmann/json.hpp>

#include "tools/toys/safetensors.h"
#include "tools/toys/toy_model_files.h"
#include "tools/toys/toy_vocabulary.h"

namespace draftproof::tools::toys {
namespace {

namespace model = reference::model;
using Json = nlohmann::ordered_json;

constexpr int kPositions = 4096;

std::string text_of(const Json& json) { return json.dump(1) + "\n"; }

const char* torch_name(TensorFormat format) {
  return format == TensorFormat::kF32   ? "float32"
         : format == TensorFormat::kF16 ? "float16"
                                        : "bfloat16";
}

Json config_of(const model::ToyLlamaConfig& config, TensorFormat format) {
  // Two names each for the type and for the base of rotations: older and newer releases.
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"vocab_size", config.vocab},
          {"hidden_size", config.hidden},
          {"intermediate_size", config.intermediate},
          {"num_hidden_layers", config.layers},
          {"num_attention_heads", config.heads},
          {"num_key_value_heads", config.kv_heads},
          {"head_dim", config.head_dim},
          {"hidden_act", "silu"},
          {"max_position_embeddings", kPositions},
          {"rms_norm_eps", 1e-12},
          {"rope_theta", config.rope_base},
          {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", config.rope_base}}},
          {"attention_bias", false},
          {"mlp_bias", false},
          {"tie_word_embeddings", false},
          {"bos_token_id", kBeginToken},
          {"eos_token_id", kEndToken},
          {"torch_dtype", torch_name(format)},
          {"dtype", torch_name(format)}};
}

Json tokenizer_of(const ToyVocabulary& vocabulary) {
  Json added = Json::array(), entries = Json::object(), merges = Json::array();
  for (std::size_t id = 0; id < vocabulary.texts.size(); ++id) {
    const bool is_special = id < kSpecialCount;
    entries[is_special ? vocabulary.texts[id] : byte_level(vocabulary.texts[id])] = id;
    if (is_special)
      added.push_back({{"id", id},
                       {"content", vocabulary.texts[id]},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", false},
                       {"normalized", false},
                       {"special", true}});
  }
  for (const auto& [left, right] : vocabulary.merges)
    merges.push_back(byte_level(left) + " " + byte_level(right));
  const Json bytes = {{"type", "ByteLevel"},
                      {"add_prefix_space", false},
                      {"trim_offsets", true},
                      {"use_regex", false}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added},
          {"normalizer", nullptr},
          {"pre_tokenizer", bytes},
          {"post_processor", nullptr},
          {"decoder", bytes},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", "<unk>"},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"vocab", entries},
            {"merges", merges}}}};
}

std::vector<Tensor> tensors_of(const model::ToyLlamaWeights& weights, TensorFormat format) {
  const model::ToyLlamaConfig& config = weights.config;
  std::vector<Tensor> tensors;
  const auto matrix = [&](const std::string& name, const std::vector<float>& values, int columns) {
    const std::uint64_t rows = values.size() / static_cast<std::size_t>(columns);
    tensors.push_back(
        tensor_of(name + ".weight", {rows, static_cast<std::uint64_t>(columns)}, format, values));
  };
  const auto norm = [&](const std::string& name, const std::vector<float>& values) {
    tensors.push_back(tensor_of(name + ".weight", {values.size()}, format, values));
  };
  matrix("model.embed_tokens", weights.embedding, config.hidden);
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    const model::LayerWeights& layer = weights.layers[i];
    const std::string block = "model.layers." + std::to_string(i) + ".";
    const auto queries = layer.qkv.begin() + std::ptrdiff_t{config.query_width()} * config.hidden;
    const auto keys = queries + std::ptrdiff_t{config.kv_width()} * config.hidden;
    const auto ups = layer.gate_up.begin() + static_cast<std::ptrdiff_t>(layer.gate_up.size()) / 2;
    norm(block + "input_layernorm", layer.attention_norm);
    matrix(block + "self_attn.q_proj", {layer.qkv.begin(), queries}, config.hidden);
    matrix(block + "self_attn.k_proj", {queries, keys}, config.hidden);
    matrix(block + "self_attn.v_proj", {keys, layer.qkv.end()}, config.hidden);
    matrix(block + "self_attn.o_proj", layer.output, config.query_width());
    norm(block + "post_attention_layernorm", layer.mlp_norm);
    matrix(block + "mlp.gate_proj", {layer.gate_up.begin(), ups}, config.hidden);
    matrix(block + "mlp.up_proj", {ups, layer.gate_up.end()}, config.hidden);
    matrix(block + "mlp.down_proj", layer.down, config.intermediate);
  }
  norm("model.norm", weights.final_norm);
  matrix("lm_head", weights.lm_head, config.hidden);
  return tensors;
}

}  // namespace

std::vector<ModelFile> safetensors_model(const ToySpec& spec, const model::ToyLlamaWeights& weights,
                                         TensorFormat format) {
  const Json generation = {
      {"bos_token_id", kBeginToken}, {"eos_token_id", kEndToken}, {"pad_token_id", kUnknownToken}};
  const Json tokenizer_config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                                 {"bos_token", "<s>"},
                                 {"eos_token", "</s>"},
                                 {"unk_token", "<unk>"},
                                 {"pad_token", "<unk>"},
                                 {"clean_up_tokenization_spaces", false},
                                 {"model_max_length", kPositions}};
  return {{"config.json", text_of(config_of(weights.config, format))},
          {"generation_config.json", text_of(generation)},
          {"tokenizer.json", text_of(tokenizer_of(vocabulary_of(spec)))},
          {"tokenizer_config.json", text_of(tokenizer_config)},
          {"model.safetensors", safetensors_bytes(tensors_of(weights, format))}};
}

}  // namespace draftproof::tools::toys
