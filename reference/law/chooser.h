// Choosers: the seam between a rule and whoever decides its coins. A rule asks; the enumerator
// answers with every possible answer in turn and keeps the product of their probabilities.
#pragma once

#include <functional>
#include <vector>

#include "reference/token.h"

namespace draftproof::reference::law {

template <class Scalar>
class Chooser {
 public:
  virtual ~Chooser() = default;
  /// True with this probability, a number in [0, 1].
  virtual bool accept(const Scalar& probability) = 0;
  /// A token with this normalised law.
  virtual Token draw(const std::vector<Scalar>& law) = 0;
};

/// Runs `run` once along every branch of positive probability of the questions it asks, and calls
/// `finished` with the branch's probability after each. `run` must ask the same questions whenever
/// it gets the same answers. For rationals the probabilities sum to exactly 1.
template <class Scalar>
void for_each_branch(const std::function<void(Chooser<Scalar>&)>& run,
                     const std::function<void(const Scalar& probability)>& finished);

}  // namespace draftproof::reference::law
