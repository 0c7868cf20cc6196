// Toy spec: a tiny Llama-architecture model with an exactly known law, written so that real engines
// load it (GGUF, safetensors with config and tokenizer), and the manifest from which anybody can
// compute the law again. The weights are a function of the spec.
//
//   bigram     attention and feed-forward write nothing: the law depends on the last token only.
//              A state is a sum of few one-hot vectors whose RMS norm is a power of two
//   attention  layers of grouped-query attention, RoPE and SwiGLU: the law depends on the whole
//              history and on positions
//   integer    as attention, but each head looks at exactly one place, every gate is open or shut,
//              every norm is a power of two: all that reaches a logit is a small integer, so that
//              every order of summation gives the same logits bit for bit, and no two are equal
//              unless the spec says so: greedy parity has no near ties
// Every weight has at most 8 significant bits and is a multiple of 2^-24, so that F32, F16 and BF16
// files hold one model. The specials and the last ids have probability zero: a trap that needs no
// statistics.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "properties/audits/known_target.h"
#include "reference/model/toy_llama_weights.h"

namespace draftproof::tools::toys {

enum class ToyKind : std::uint8_t { kBigram, kAttention, kInteger };
/// "bigram", ...
std::string_view to_string(ToyKind kind);

struct ToySpec {
  ToyKind kind = ToyKind::kAttention;
  std::uint64_t seed = 1;
  int vocab_size = 16;        ///< all ids: specials, live ones, unreachable ones
  int layers = 2;             ///< of attention: 1 to 8; bigram has 1, integer 2
  double sharpness = 1;       ///< scale of the logits: about their standard deviation
  int head_dim = 32;          ///< of bigram and attention; vLLM wants at least 32
  int unreachable_count = 1;  ///< so many last ids never come, as padding of a vocabulary
  int tie_count = 0;    ///< so many first live tokens are equal in every row, and often on top
  double near_tie = 0;  ///< each of them so many logits above the one before
  bool has_end_trap = false;         ///< the end token has a real share of every row
  std::string spelling = "letters";  ///< or "json", from 52 ids on
  /// Of a draft: how far from the target: 0 the same, 1 a model of its own.
  double distance = 0;
  bool is_adversarial = false;       ///< the draft likes most what the target likes least
  bool permutes_vocabulary = false;  ///< the same tokens under other ids

  friend bool operator==(const ToySpec&, const ToySpec&) = default;
};

/// Ids 0, 1, 2: unknown, begin, end.
inline constexpr reference::Token kUnknownToken = 0, kBeginToken = 1, kEndToken = 2;
inline constexpr int kSpecialCount = 3;
/// From this size on a bigram's states are codes of +-1 instead of one-hot.
inline constexpr int kOneHotVocabMax = 1021;

/// Throws Error(kInput) naming the field as an option ("--vocab").
void validate(const ToySpec& spec);
bool is_draft(const ToySpec& spec);

/// "near", "far", "adversarial", "permuted". Throws Error(kInput) that lists them at --draft.
ToySpec draft_of(ToySpec target, std::string_view name);
const std::vector<std::string>& draft_names();
/// What the draft of a pair is called; empty for a target, "draft" for one of no such name.
std::string draft_name(const ToySpec& spec);
/// The target that this is a draft of: the spec itself for a target.
ToySpec target_of(ToySpec spec);

/// The built-in toys by name, for lists; each has the drafts of draft_names().
struct NamedToy {
  std::string name, summary;
  ToySpec target;
};
const std::vector<NamedToy>& named_toys();
/// Throws Error(kInput) that lists the known names.
const ToySpec& named_toy(std::string_view name);

/// Throws as validate().
reference::model::ToyLlamaWeights weights_of(const ToySpec& spec);
/// SHA-256 of all weights as fp32, little-endian, in the order of ToyLlamaWeights.
std::string weights_hash(const reference::model::ToyLlamaWeights& weights);

/// A target's id -> the draft's id of the same token; the identity but for a permuted vocabulary.
std::vector<reference::Token> vocabulary_map(const ToySpec& spec);

/// FILE.toy.json: the spec, whose weights have the hash that stands there. Throws Error(kInput) at
/// file and field.
ToySpec read_manifest(const std::filesystem::path& file);

/// The law of the toy behind any history, float64, under a contract's shaping. Probabilities below
/// half of the least positive fp32 number are 0: no engine that computes in fp32 can emit the
/// token. Where nothing but a temperature is asked for, laws are exact to float64; a filter or an
/// adjustment is the contract's, on fp32 logits, and what it keeps is weighed in float64 again. May
/// be asked by several threads. Throws as validate(), and Error(kInput) for a contract that is not
/// known.
std::unique_ptr<properties::audits::KnownTarget> known_target(const ToySpec& spec,
                                                              const std::string& contract);

}  // namespace draftproof::tools::toys
