// The last matrix of a toy: what every kind of toy does alike with the rows of its tokens. Two
// channels of every state are constant and positive and nothing else is written there; a token's
// weight on them is a bias that does not touch the rest of its row.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/model/toy_llama_weights.h"
#include "tools/toys/toy_spec.h"

namespace draftproof::tools::toys {

inline constexpr int kBiasChannel = 0;  ///< what never comes, and ties that are lifted
inline constexpr int kFineChannel = 1;  ///< small differences: 8 bits hold no sum of both

/// The bias of what never comes, in logits: far enough below for temperatures up to 9.
inline constexpr double kNever = -1024;

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): integers from a seed, alike on any machine.
class SeededIntegers {
 public:
  explicit SeededIntegers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// In [-reach, reach], with the bias of a remainder: below 2^-30.
  int within(int reach);
  /// The sum of four such in [-28, 28]: like a normal one of deviation 32, cut at 112.
  int bell();

 private:
  std::uint64_t state_;
};

/// Which seed a draft's own model has, so that it shares nothing with the target's.
std::uint64_t draft_seed(std::uint64_t seed);

/// The live tokens, the end token among them when it has a share.
bool is_live(const ToySpec& spec, int token);
/// The tokens that are equal, or nearly so.
bool is_tied(const ToySpec& spec, int token);
/// How much tied tokens are lifted, in logits: a power of two that brings them to the top often.
double tie_lift(const ToySpec& spec);

/// What stands in the rows of tokens that are not live and of tied ones: `constant` is what the
/// two constant channels have behind the last norm.
void finish_rows(const ToySpec& spec, double constant, reference::model::ToyLlamaWeights& weights);

/// Token rows under the draft's ids.
void permute_rows(const ToySpec& spec, reference::model::ToyLlamaWeights& weights);

}  // namespace draftproof::tools::toys
