#include "reference/model/near_tie.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "reference/error.h"

namespace draftproof::reference::model {
namespace {

Token best_of(const CertifiedRow& row) {
  const auto largest = std::max_element(row.logits.begin(), row.logits.end());
  return static_cast<Token>(largest - row.logits.begin());
}

double margin_of(const CertifiedRow& row, Token best, Token token) {
  return row.logits[static_cast<std::size_t>(best)] - row.logits[static_cast<std::size_t>(token)];
}

double bound_of(const CertifiedRow& row, Token best, Token token) {
  return row.errors[static_cast<std::size_t>(best)] + row.errors[static_cast<std::size_t>(token)];
}

}  // namespace

GreedyJudgement judge_greedy(const CertifiedRow& row, Token baseline, Token speculative) {
  const auto vocab = static_cast<Token>(row.logits.size());
  DRAFTPROOF_CHECK(vocab > 0 && row.errors.size() == row.logits.size());
  DRAFTPROOF_CHECK(baseline >= 0 && baseline < vocab, std::to_string(baseline));
  DRAFTPROOF_CHECK(speculative >= 0 && speculative < vocab, std::to_string(speculative));
  GreedyJudgement judgement;
  judgement.best = best_of(row);
  const auto slack = [&](Token token) {
    return margin_of(row, judgement.best, token) - bound_of(row, judgement.best, token);
  };
  judgement.suspect = slack(baseline) > slack(speculative) ? baseline : speculative;
  judgement.margin = margin_of(row, judgement.best, judgement.suspect);
  judgement.bound = bound_of(row, judgement.best, judgement.suspect);
  if (judgement.suspect != judgement.best && !near_tie(judgement.margin, judgement.bound))
    judgement.parity = GreedyParity::kReal;
  else if (baseline != speculative)
    judgement.parity = GreedyParity::kNearTie;
  return judgement;
}

double share_of_bound(const CertifiedRow& row, std::span<const float> evaluated) {
  DRAFTPROOF_CHECK(evaluated.size() == row.logits.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < evaluated.size(); ++i) {
    const double error = std::abs(static_cast<double>(evaluated[i]) - row.logits[i]);
    if (error == 0.0) continue;
    const double share = error / row.errors[i];
    // A comparison that is false for NaN would let it pass.
    if (!(share <= largest))
      largest = std::isnan(share) ? std::numeric_limits<double>::infinity() : share;
  }
  return largest;
}

bool is_decided(const CertifiedRow& row) {
  const Token best = best_of(row);
  for (Token token = 0; token < static_cast<Token>(row.logits.size()); ++token)
    if (token != best && near_tie(margin_of(row, best, token), bound_of(row, best, token)))
      return false;
  return true;
}

}  // namespace draftproof::reference::model
