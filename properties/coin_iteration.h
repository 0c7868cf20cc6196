// Coin iteration: which iteration the coins of a case's requests are addressed by.
#pragma once

#include <cstdint>

#include "properties/case.h"

namespace draftproof::properties {

/// 0 for rules that stop at the first failure, whose coins may be keyed by position alone; the
/// request's own for those that look past it (reference/proposal.h).
inline std::uint32_t coin_iteration(const Case& value, const reference::Request& request) {
  return value.rule == "block" || value.rule == "traversal" ? request.iteration : 0;
}

}  // namespace draftproof::properties
