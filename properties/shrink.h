// Shrinking: from a failing case to the least one that still fails. What is reported must be small
// enough to check by hand: fewer requests, fewer tokens, shorter drafts, then plain settings, plain
// coins and plain numbers.
#pragma once

#include <cstdint>
#include <functional>

#include "properties/case.h"

namespace draftproof::properties {

struct Shrunk {
  Case value;
  std::uint64_t tries = 0;
  bool is_least = false;  ///< no simpler candidate fails; false when the tries were used up
};

/// Descends through RapidCheck's shrink tree of `failing` to the first simpler case that fails,
/// until none does. Precondition: fails(failing). Candidates that do not fit together are skipped.
Shrunk shrink(const Case& failing, const std::function<bool(const Case&)>& fails,
              std::uint64_t tries_max);

/// The case with the tokens [first, first + count) taken out of its vocabulary. Drafts end where a
/// removed token was drafted; later ids move down. Precondition: some token stays.
Case without_tokens(const Case& value, std::size_t first, std::size_t count);
/// The case with drafted token `index` of request `request`, its draft row and the target row
/// behind it (for the first token: before it) taken out.
Case without_draft_token(const Case& value, std::size_t request, std::size_t index);
/// The case with Philox coins written down one by one, so that they can be simplified.
Case with_written_coins(const Case& value);

}  // namespace draftproof::properties
