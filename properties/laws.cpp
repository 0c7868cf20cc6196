#include "properties/laws.h"

#include <algorithm>

#include "oracle/threshold.h"
#include "reference/shaping.h"

namespace draftproof::properties {

using oracle::Threshold;
using reference::Purpose;
using reference::Reason;
using reference::RowKind;
using reference::Status;

namespace {

/// The token drawn at `coin`; absent when an edge is too near.
std::optional<reference::Token> drawn(const std::vector<Threshold>& steps, std::uint64_t coin,
                                      Threshold margin) {
  if (!oracle::is_clear(steps, coin, margin)) return std::nullopt;
  const auto at = std::upper_bound(steps.begin(), steps.end(), Threshold{coin});
  return static_cast<reference::Token>(at - steps.begin());
}

}  // namespace

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

std::optional<reference::RequestOutcome> outcome_by_formula(const reference::Batch& batch,
                                                            const reference::Request& request,
                                                            const reference::Coins& coins,
                                                            std::uint64_t margin) {
  reference::RequestOutcome outcome;
  const int count = draft_count(request);
  for (int i = 0;; ++i) {
    const auto coin = [&](Purpose purpose) {
      return coins.coin(
          {request.id, request.position + static_cast<std::uint32_t>(i), purpose, 0, 0});
    };
    const reference::MassRow target = target_law(batch, request, i);
    if (target.status != Status::kOk) return std::nullopt;
    const auto ended = [&](const std::vector<Threshold>& steps, Threshold clearance,
                           Purpose purpose,
                           Reason reason) -> std::optional<reference::RequestOutcome> {
      const auto token = drawn(steps, coin(purpose), clearance);
      if (!token) return std::nullopt;
      outcome.emitted.push_back({*token, reason});
      return outcome;
    };
    if (i == count)
      return ended(oracle::cumulative_thresholds(target), margin, Purpose::kBonus, Reason::kBonus);
    const reference::Token token = request.proposal.tokens[i];
    if (!is_token(batch, token)) return std::nullopt;
    const reference::MassRow draft = draft_law(batch, request, i);
    if (draft.status != Status::kOk || draft.mass[token] == 0) return std::nullopt;
    const Threshold threshold =
        oracle::rounded_accept_threshold(target, draft, static_cast<std::size_t>(token), margin);
    if (!oracle::is_clear(threshold, coin(Purpose::kAccept), margin)) return std::nullopt;
    if (coin(Purpose::kAccept) >= threshold)
      return ended(oracle::residual_thresholds(target, draft),
                   oracle::residual_margin(target, draft, margin), Purpose::kRecovered,
                   Reason::kRecovered);
    outcome.emitted.push_back({token, Reason::kAccepted});
    ++outcome.accepted_count;
  }
}

std::uint64_t margin_for(const reference::VerifierTraits& traits) {
  return traits.declares_masses ? 0 : std::uint64_t{1} << 45;
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
