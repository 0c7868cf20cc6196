// Greedy limits: the ways to ask for "the maximum" (temperature 0, temperatures around an engine's
// cut-off, top-k = 1, top-p -> 0, min-p = 1, a one-hot row). With one maximum they coincide, if the
// engine takes notice of the parameter at all; with ties they do not, and each contract's answer
// follows from its tie rules and its cut-off. Engines have answered ties by the highest id
// (ohdearquant/lattice#280) and greedy requests of mixed batches by sampling
// (FlashML-org/FreeToken#471).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reference/contract.h"

namespace draftproof::reference {

enum class GreedyLimit : std::uint8_t {
  kTemperatureZero,
  kBelowCutOff,  ///< the largest temperature below the cut-off; 0 where there is none
  kAtCutOff,     ///< the cut-off itself, or 1e-6 where there is none
  kTopKOne,
  kTopPZero,
  kTopPTiny,  ///< 1e-40
  kMinPOne,
  kOneHotRow
};

enum class GreedyAnswer : std::uint8_t {
  kLowestId,      ///< all on the lowest id of the maximum
  kEveryMaximum,  ///< evenly on all maxima
  kSampled,       ///< anything else: this is no greedy limit of the contract
  kRefused
};

const std::vector<GreedyLimit>& all_greedy_limits();

/// What `contract` makes of `limit` on `logits`, by the law of that row. Preconditions: the row has
/// no status and two different finite logits at least; for kOneHotRow the row itself is replaced by
/// one whose only finite logit is its lowest maximum. Ties of a row that is not one-hot are ties of
/// its maximum.
GreedyAnswer greedy_answer(const Contract& contract, GreedyLimit limit,
                           const std::vector<float>& logits);

std::string_view to_string(GreedyLimit limit);
std::string_view to_string(GreedyAnswer answer);

/// "lowest id: temperature 0, ...; every maximum: min-p 1" for a row whose maximum is tied: each
/// contract's answers in one line.
std::string greedy_ties_of(const Contract& contract);

}  // namespace draftproof::reference
