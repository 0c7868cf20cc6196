// Diffusion drafts of several steps (SpecDiff: Christopher et al. 2024, arXiv:2408.05636): a block
// that is denoised in an order of its own. Here the second token is drawn first, and the first one
// given it. Then there is no row that either token was drawn from left to right: what the steps
// used (the second's own row, the first's given the second) is not the law given what verification
// conditions on. Reports that are honest: one-hot, or the joint law's conditionals from left to
// right, which a toy can sum and a real drafter cannot.
#pragma once

#include "reference/draft/hidden_toy.h"

namespace draftproof::reference::draft {

/// The joint law of two drafted tokens by the steps that draw it.
class DiffusionBlock {
 public:
  /// Steps from `toy`'s draft behind the hidden state and the pending token in `point`.
  DiffusionBlock(const model::Toy& toy, const ChainPoint& point);

  const LawRow& second() const { return second_; }  ///< drawn first
  const LawRow& first_given(Token second) const;
  /// Summed: the first token's own law, and the second's behind it (empty where that is
  /// impossible).
  LawRow first() const;
  LawRow second_given(Token first) const;

 private:
  LawRow second_;
  std::vector<LawRow> first_given_;
};

/// What is reported of the drawn token at `offset`; empty: one-hot.
using BlockReport =
    std::function<LawRow(const DiffusionBlock&, int offset, Token first, Token second)>;
LawRow reports_one_hot(const DiffusionBlock&, int offset, Token first, Token second);
LawRow reports_conditionals(const DiffusionBlock&, int offset, Token first, Token second);

/// All of a block's noise at its first position, so that no later block reads it again where coins
/// are keyed by position.
inline constexpr law::CoinUse kFirstPosition = {0, Purpose::kDraft, 1};

/// Draws both tokens, the second with the coin `second_noise`; cuts to what may be drafted.
DraftFunctions diffusion_functions(const model::Toy& toy, BlockReport report,
                                   const law::CoinUse& second_noise = kFirstPosition);

}  // namespace draftproof::reference::draft
