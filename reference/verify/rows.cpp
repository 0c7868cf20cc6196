// Rows a rule reads, one by one and only when it reads them: a row behind the end of a request's
// verification is never shaped and so cannot raise a status.
#include "reference/verify/rows.h"

namespace draftproof::reference::verify {

MassRow target_law(const Batch& batch, const Request& request, std::size_t index) {
  const Row& row = request.target_rows[index];
  if (batch.target_kind == RowKind::kProbabilities) return from_probabilities(row);
  return shape(row, request.sampling, batch.preset);
}

MassRow draft_law(const Batch& batch, const Request& request, std::size_t index) {
  if (batch.draft_kind == RowKind::kOneHot)
    return one_hot(batch.vocab_size, static_cast<std::size_t>(request.proposal.tokens[index]));
  const Row& row = request.proposal.rows[index];
  if (batch.draft_kind == RowKind::kProbabilities) return from_probabilities(row);
  return shape(row, request.sampling, batch.preset);
}

Status greedy_status(const Batch& batch, const Request& request, std::size_t index) {
  const Row& row = request.target_rows[index];
  if (batch.target_kind == RowKind::kProbabilities) return from_probabilities(row).status;
  return logit_status(row);
}

bool is_token(const Batch& batch, Token token) {
  return token >= 0 && static_cast<std::size_t>(token) < batch.vocab_size;
}

RequestOutcome stopped(RequestOutcome outcome, Status status, std::size_t index) {
  outcome.status = status;
  outcome.status_position = static_cast<int>(index);
  return outcome;
}

}  // namespace draftproof::reference::verify
