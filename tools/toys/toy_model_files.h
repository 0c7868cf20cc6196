// Toy model files: the bytes of every file that a real engine wants to see of a toy.
#pragma once

#include <string>
#include <vector>

#include "tools/toys/tensor.h"
#include "tools/toys/toy_spec.h"

namespace draftproof::tools::toys {

struct ModelFile {
  std::string name;  ///< below the model's own folder; of GGUF the file itself
  std::string bytes;
};

/// "llama": SentencePiece; "gpt2": byte-level BPE with merges, which openvino-genai wants.
const std::vector<std::string>& gguf_tokenizers();

/// One file, "model.gguf". Rows of queries and keys are permuted: GGUF rotates neighbours.
/// Precondition: a tokenizer of gguf_tokenizers().
ModelFile gguf_model(const ToySpec& spec, const reference::model::ToyLlamaWeights& weights,
                     TensorFormat format, const std::string& tokenizer);

/// A folder that transformers and vLLM load as LlamaForCausalLM.
std::vector<ModelFile> safetensors_model(const ToySpec& spec,
                                         const reference::model::ToyLlamaWeights& weights,
                                         TensorFormat format);

}  // namespace draftproof::tools::toys
