// Greedy verification, position by position (the order of judging is in greedy.h).
#include "reference/verify/greedy.h"

#include "reference/verify/rows.h"

namespace draftproof::reference::verify {

RequestOutcome greedy(const Batch& batch, const Request& request) {
  RequestOutcome outcome;
  const std::vector<Token>& draft_tokens = request.proposal.tokens;
  for (std::size_t i = 0;; ++i) {
    const bool draft_ended = i == draft_tokens.size() || draft_tokens[i] == kPlaceholder;
    if (!draft_ended && !is_token(batch, draft_tokens[i]))
      return stopped(outcome, Status::kDraftTokenRange, i);

    const Status status = greedy_status(batch, request, i);
    if (status != Status::kOk) return stopped(outcome, status, i);

    const auto best = static_cast<Token>(greedy_token(request.target_rows[i]));
    if (draft_ended || draft_tokens[i] != best) {
      outcome.emitted.push_back({best, draft_ended ? Reason::kBonus : Reason::kRecovered});
      return outcome;
    }
    outcome.emitted.push_back({best, Reason::kAccepted});
    ++outcome.accepted_count;
  }
}

}  // namespace draftproof::reference::verify
