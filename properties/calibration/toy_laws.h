// Toy laws: contexts with a target and a draft each, and draws from them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "oracle/conditional.h"
#include "properties/random.h"

namespace draftproof::properties::calibration {

using Law = std::vector<double>;

/// Weights spread over sizes; a share of them is zero.
Law some_law(std::size_t size, Random& random, double zero_share = 0);
/// (1 - share) one + share other.
Law mixed(const Law& one, const Law& other, double share);
/// An even number of cells, half more likely by the same factor: hardest to see at this distance.
Law hardest(std::size_t cells, double distance);

/// By inversion in the order of ids.
std::size_t drawn_at(const Law& law, double point);
inline std::size_t drawn(const Law& law, Random& random) { return drawn_at(law, random.unit()); }

/// One position with the laws that it must have.
struct Context {
  Law target, draft;
  oracle::PreparedLaws prepared;
};

/// Eight contexts of ten tokens; drafts are half the target, half something else.
std::vector<Context> toy_contexts();

/// A fault: the law of a token in place of the target's.
struct Fault {
  std::string name;
  /// Of a context; sums to one.
  std::function<Law(const Context&)> law;
};

/// Every fault that a bet is named after, whole and on a third of the tokens, and faults that no
/// bet is named after.
const std::vector<Fault>& faults();

/// "0.0123"
std::string number(double value, int digits = 3);

}  // namespace draftproof::properties::calibration
