// Choosers: the seam between a drafter or rule and whoever decides its coins. A program asks; the
// enumerator answers with every possible answer in turn and keeps the product of probabilities.
//
// A coin is a uniform number in [0, 1) at an address, revealed as far as questions about it reveal
// it: what is kept is the interval it is known to lie in. Asking about an address again asks about
// the same number, so any reuse of a coin, within an iteration, between draft and verification, or
// between iterations and requests, is enumerated exactly.
#pragma once

#include <functional>
#include <map>

#include "reference/coin.h"
#include "reference/law_row.h"

namespace draftproof::reference::law {

/// Which coin of an iteration: `offset` is the position behind the base context that the question
/// is about (the drafted token's own depth - 1; for a bonus the depth of the last accepted node),
/// `slot` tells coins of one position and purpose apart (siblings, attempts).
struct CoinUse {
  int offset = 0;
  Purpose purpose = Purpose::kDraft;
  int slot = 0;
};

class Chooser {
 public:
  virtual ~Chooser() = default;
  /// True iff the coin is below this probability, a number in [0, 1].
  virtual bool accept(const Exact& probability, const CoinUse& use) = 0;
  /// The first token (in id order) whose cumulative probability exceeds the coin. `row` sums to 1.
  virtual Token draw(const LawRow& row, const CoinUse& use) = 0;
};

/// What is known of a coin: it lies in [low, high).
struct Interval {
  Exact low = 0;
  Exact high = 1;

  friend bool operator==(const Interval&, const Interval&) = default;
  friend bool operator<(const Interval& a, const Interval& b) {
    return a.low < b.low || (a.low == b.low && a.high < b.high);
  }
};

/// Coins that were asked about; every other coin lies in [0, 1).
using RevealedCoins = std::map<CoinAddress, Interval>;

using AddressOf = std::function<CoinAddress(const CoinUse&)>;

/// Runs `run` once along every branch of positive probability of the questions it asks, given what
/// is known of the coins `before`, and calls `finished` with the branch's probability and what is
/// known afterwards. `run` must ask the same questions whenever it gets the same answers. The
/// probabilities sum to exactly 1. Cost: one run a branch.
void for_each_branch(
    const RevealedCoins& before, const AddressOf& address_of,
    const std::function<void(Chooser&)>& run,
    const std::function<void(const Exact& probability, const RevealedCoins& after)>& finished);

}  // namespace draftproof::reference::law
