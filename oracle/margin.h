// Margin: whether two greedy decodings part at a tie, a near tie or a fault. At the first token
// that differs both arms have one history, so the expected logits there say how far the two tokens
// were apart. Behind it histories differ, and nothing more is compared.
//   tie        equal logits: an engine that declares no tie rule may emit either
//   near tie   apart by at most the bound on both arms' arithmetic, and both at the maximum within
//              it; the bound is derived (certified error of a toy) or measured (the largest
//              difference of two runs without drafts, in other batches)
//   fault      anything else
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "reference/token.h"

namespace draftproof::oracle {

enum class PartingKind : std::uint8_t { kTie, kNearTie, kFault, kUndecided };

struct Parting {
  std::size_t position = 0;  ///< of the first token that differs
  PartingKind kind = PartingKind::kUndecided;
  double margin = 0;      ///< logits (or logprobs: the same difference) of the two tokens, apart
  double behind_top = 0;  ///< how far the lower of both lies below the maximum
  double bound = 0;
};

/// `logits`: of the row at `position`, or logarithms of its law; empty: kUndecided. `bound`: on the
/// difference of two logits in either arm, absolute; at least 0.
Parting parting(std::size_t position, reference::Token one, reference::Token other,
                std::span<const double> logits, double bound);

/// The bound that runs against themselves justify: the largest difference seen in `gap_count`
/// positions, and how rarely it is exceeded: with probability 1 - miss a further gap exceeds it
/// with probability at most 1 - miss^(1/gap_count).
struct NoiseFloor {
  double bound = 0;
  std::uint64_t gap_count = 0;
};

}  // namespace draftproof::oracle
