// Parity: the first difference between two outcomes, told in words. Two outcomes are equal or they
// are not; there is no tolerance, since every decision is made in integers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "reference/outcome.h"

namespace draftproof::oracle {

/// The first difference of two outcomes of one request; both sides as short phrases.
struct Difference {
  std::size_t request = 0;  ///< index in the batch; 0 when single requests are compared
  std::string what;         ///< "token 2", "accepted count", "status", ...
  std::string expected;
  std::string observed;
};

std::optional<Difference> first_difference(const reference::RequestOutcome& expected,
                                           const reference::RequestOutcome& observed);

/// Compares every request, in order; a missing or surplus request is a difference too.
/// Observations and counts are not compared.
std::optional<Difference> first_difference(const reference::Outcome& expected,
                                           const reference::Outcome& observed);

/// "accepted 1, emitted 3 (accepted), 0 (recovered)"; with a status "..., status nan at row 1".
std::string describe(const reference::RequestOutcome& outcome);

}  // namespace draftproof::oracle
