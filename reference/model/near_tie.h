// Near ties: greedy parity judged with a derived margin. Two evaluations of one model, at batch
// shape M = 1 and at M = draft length + 1, sum in different orders and may disagree where two
// logits are closer than their rounding errors (vllm-project/vllm#54506). Each logit comes with a
// bound on the error of any such evaluation (certified_error.h), so that a disagreement is either a
// near tie, which proves nothing, or real, which no order of summation explains. Ties are broken as
// greedy verification breaks them: the lowest id.
#pragma once

#include <span>
#include <vector>

#include "reference/token.h"

namespace draftproof::reference::model {

/// One row of logits in float64, and for each the bound: |evaluated - value| <= error.
struct CertifiedRow {
  std::vector<double> logits;
  std::vector<double> errors;
};

/// True when errors of together `bound` may close `margin` or turn it round. A bound or a margin
/// that is no number decides nothing, and is a near tie.
constexpr bool near_tie(double margin, double bound) { return !(margin > bound); }

enum class GreedyParity : unsigned char { kSame, kNearTie, kReal };

struct GreedyJudgement {
  GreedyParity parity = GreedyParity::kSame;
  Token best = 0;       ///< the float64 argmax, lowest id
  Token suspect = 0;    ///< the emitted token that is farther below it, measured by its bound
  double margin = 0.0;  ///< logit of best - logit of suspect
  double bound = 0.0;   ///< sum of the two errors
};

/// Judges the greedy tokens of two evaluations of one row. Precondition: both in the vocabulary.
GreedyJudgement judge_greedy(const CertifiedRow& row, Token baseline, Token speculative);

/// The largest error of `evaluated` in units of its bound: above 1, no rounding explains it. A
/// value that is no number is infinitely far away. Precondition: as many values as logits.
double share_of_bound(const CertifiedRow& row, std::span<const float> evaluated);

/// True when every evaluation within the bounds has the float64 argmax: no other logit is near.
bool is_decided(const CertifiedRow& row);

}  // namespace draftproof::reference::model
