#include "properties/laws.h"

#include <algorithm>

#include "reference/shaping.h"

namespace draftproof::properties {

using reference::RowKind;

reference::MassRow target_law(const reference::Batch& batch, const reference::Request& request,
                              std::size_t row) {
  const reference::Row& values = request.target_rows.at(row);
  return batch.target_kind == RowKind::kProbabilities
             ? reference::from_probabilities(values)
             : reference::shape(values, request.sampling, batch.preset);
}

reference::MassRow draft_law(const reference::Batch& batch, const reference::Request& request,
                             std::size_t row) {
  if (batch.draft_kind == RowKind::kOneHot)
    return reference::one_hot(batch.vocab_size,
                              static_cast<std::size_t>(request.proposal.tokens.at(row)));
  const reference::Row& values = request.proposal.rows.at(row);
  return batch.draft_kind == RowKind::kProbabilities
             ? reference::from_probabilities(values)
             : reference::shape(values, request.sampling, batch.preset);
}

int draft_count(const reference::Request& request) {
  const auto& tokens = request.proposal.tokens;
  return static_cast<int>(std::find(tokens.begin(), tokens.end(), reference::kPlaceholder) -
                          tokens.begin());
}

bool is_token(const reference::Batch& batch, reference::Token token) {
  return token >= 0 && static_cast<std::size_t>(token) < batch.vocab_size;
}

}  // namespace draftproof::properties
