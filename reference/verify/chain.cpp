// The chain rule on integer masses, position by position (the order of judging is in chain.h).
#include "reference/verify/chain.h"

#include "reference/error.h"
#include "reference/verify/rows.h"

namespace draftproof::reference::verify {

RequestOutcome chain(const Batch& batch, const Request& request, const Coins& coins) {
  RequestOutcome outcome;
  const std::vector<Token>& draft_tokens = request.proposal.tokens;
  for (std::size_t i = 0;; ++i) {
    const auto coin = [&](Purpose purpose) {
      return coins.coin({request.id, request.position + static_cast<std::uint32_t>(i), purpose});
    };
    const bool draft_ended = i == draft_tokens.size() || draft_tokens[i] == kPlaceholder;
    if (!draft_ended && !is_token(batch, draft_tokens[i]))
      return stopped(outcome, Status::kDraftTokenRange, i);

    const MassRow target = target_law(batch, request, i);
    if (target.status != Status::kOk) return stopped(outcome, target.status, i);
    if (draft_ended) {
      outcome.emitted.push_back({draw(coin(Purpose::kBonus), target), Reason::kBonus});
      return outcome;
    }

    const Token token = draft_tokens[i];
    const MassRow draft = draft_law(batch, request, i);
    if (draft.status != Status::kOk) return stopped(outcome, draft.status, i);
    // A token that its own law excludes was not drawn from it, and then nothing can be lossless.
    if (draft.mass[token] == 0) return stopped(outcome, Status::kDraftMassZero, i);

    if (!accepts(coin(Purpose::kAccept), target, draft, token)) {
      const Token recovered = draw(coin(Purpose::kRecovered), residual(target, draft));
      outcome.emitted.push_back({recovered, Reason::kRecovered});
      return outcome;
    }
    outcome.emitted.push_back({token, Reason::kAccepted});
    ++outcome.accepted_count;
  }
}

bool accepts(std::uint64_t coin, const MassRow& target, const MassRow& draft, Token token) {
  const WideMass draft_side = static_cast<WideMass>(draft.mass[token]) * target.total;
  const WideMass target_side = static_cast<WideMass>(target.mass[token]) * draft.total;
  return scaled(coin, draft_side) < target_side;
}

std::vector<WideMass> residual(const MassRow& target, const MassRow& draft) {
  std::vector<WideMass> weights(target.mass.size());
  for (std::size_t v = 0; v < weights.size(); ++v) {
    const WideMass target_side = static_cast<WideMass>(target.mass[v]) * draft.total;
    const WideMass draft_side = static_cast<WideMass>(draft.mass[v]) * target.total;
    weights[v] = target_side > draft_side ? target_side - draft_side : 0;
  }
  return weights;
}

Token draw(std::uint64_t coin, const std::vector<WideMass>& weights) {
  WideMass sum = 0;
  for (WideMass weight : weights) sum += weight;
  DRAFTPROOF_CHECK(sum > 0, "a law without mass");
  const WideMass point = scaled(coin, sum);  // < sum, so some prefix exceeds it
  std::size_t v = 0;
  for (WideMass prefix = weights[0]; prefix <= point; prefix += weights[v]) ++v;
  return static_cast<Token>(v);
}

Token draw(std::uint64_t coin, const MassRow& row) {
  return draw(coin, std::vector<WideMass>(row.mass.begin(), row.mass.end()));
}

}  // namespace draftproof::reference::verify
