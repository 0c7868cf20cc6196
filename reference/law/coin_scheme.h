// Coin schemes: how an engine addresses the coins that drafters and rules ask for. What one
// iteration asks for is the same under every scheme; what is shared with other iterations and
// requests is not, and that decides whether a rule keeps its law (theorem C of
// reference/README.md).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/law/chooser.h"

namespace draftproof::reference::law {

/// Where an iteration of a request stands.
struct CoinPlace {
  std::uint32_t request = 0;
  std::uint32_t base = 0;        ///< tokens before the first drafted one, prompt included
  std::uint32_t row = 0;         ///< the request's number among those that still run
  std::uint32_t batch_base = 0;  ///< tokens that all requests have emitted together
};

struct CoinScheme {
  std::string name;
  std::string statement;
  std::function<CoinAddress(const CoinUse&, const CoinPlace&)> address;
  /// False when no iteration that begins at `base` or later asks about the address again. Answers
  /// that are too careful cost time, answers that are wrong make coins fresh that are not.
  std::function<bool(const CoinAddress&, std::uint32_t base)> may_recur;
};

/// "fresh": an address of its own in every iteration. "position-keyed": request, position, purpose
/// and slot, whatever the iteration. "accept-keyed": only accept coins by position, the others
/// fresh. "draft-keyed": only the draft's noise by position. "offset-keyed": accept coins by their
/// offset in the iteration, the same in every iteration. "request-shared": fresh, but all requests
/// of an iteration read the same coins. "row-keyed": by position, and by the row of the batch
/// instead of the request, which changes when another request ends. "one-coin": fresh, but all
/// accept coins of an iteration are one.
const std::vector<CoinScheme>& coin_schemes();
/// Throws Error(kInput) that lists the known schemes.
const CoinScheme& coin_scheme(std::string_view name);

}  // namespace draftproof::reference::law
