// Toy spec: a tiny Llama-architecture model with an exactly known law, written so that real engines
// load it (GGUF, safetensors with config and tokenizer), and the manifest from which anybody can
// compute the law again. The weights are a function of the spec.
//
//   bigram     attention and feed-forward write nothing: the law depends on the last token only.
//              Embeddings are one-hot, RMSNorm makes sqrt(d) of them, output = logits / sqrt(d)
//   attention  layers of grouped-query attention, RoPE and SwiGLU: the law depends on the whole
//              history and on positions
//   integer    as attention, but every partial sum is an integer below 2^24, so that every order
//              of summation gives the same logits bit for bit: greedy parity has no near ties
// The first ids are specials of probability (nearly) zero: a trap that needs no statistics.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "properties/audits/known_target.h"
#include "reference/model/toy_llama_weights.h"

namespace draftproof::tools::toys {

enum class ToyKind : std::uint8_t { kBigram, kAttention, kInteger };

struct ToySpec {
  ToyKind kind = ToyKind::kAttention;
  std::uint64_t seed = 1;
  int vocab_size = 16;  ///< live tokens and specials
  int layers = 2;
  double sharpness = 1;  ///< scale of the logits
  int head_dim = 8;      ///< vLLM wants at least 32
  bool is_half = false;  ///< weights rounded to fp16, and the law is of the rounded ones
  /// Of a draft: how far from the target of the same shape: 0 the same, 1 a model of its own.
  double distance = 0;
  bool is_adversarial = false;       ///< the draft likes most what the target likes least
  int tie_count = 0;                 ///< live tokens made exactly equal in every row
  double near_tie = 0;               ///< and so many logits apart instead, when > 0
  bool has_end_trap = false;         ///< the end token has a real share of every row
  bool permutes_vocabulary = false;  ///< of a draft: the same tokens under other ids

  friend bool operator==(const ToySpec&, const ToySpec&) = default;
};

/// The built-in pairs by name, for lists: target and drafts near, far and adversarial.
struct NamedToy {
  std::string name, summary;
  ToySpec target;
};
const std::vector<NamedToy>& named_toys();

reference::model::ToyLlamaWeights weights_of(const ToySpec& spec);
/// FILE.toy.json: the spec and a hash of the weights. Throws Error(kInput) at file and field.
ToySpec read_manifest(const std::filesystem::path& file);

/// The law of the toy behind any history, float64, under a contract's shaping.
std::unique_ptr<properties::audits::KnownTarget> known_target(const ToySpec& spec,
                                                              const std::string& contract);

}  // namespace draftproof::tools::toys
