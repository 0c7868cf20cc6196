// Token-wise verification: what the rules that walk a chain from its first token to the first
// rejection have in common, and what their closed forms have in common.
#pragma once

#include <functional>

#include "reference/law/rule.h"

namespace draftproof::reference::law::rules {

/// A drafted token in front of a rule.
struct Judged {
  const LawRow& target;  ///< the target's law of this position
  const LawRow& draft;   ///< the law that was reported, one-hot reports written out
  Token token;
  int offset;  ///< number of drafted tokens before it
};

/// Accepts with probability `acceptance` on the accept coin of the position; on the first rejection
/// draws from `recovered` on its recovered coin; behind the last draws from the target on the bonus
/// coin. Precondition: the draft is a chain; `acceptance` is in [0, 1], `recovered` sums to 1.
Decision walk(const Verification& step, Chooser& chooser,
              const std::function<Exact(const Judged&)>& acceptance,
              const std::function<LawRow(const Judged&)>& recovered);

/// The residual, or the target where the draft has nothing less than the target. Only for rules
/// that reject what the ratio would accept.
LawRow residual_or_target(const LawRow& target, const LawRow& draft);

/// An option that counts something. Throws Error(kInput) when it is not a whole number.
int whole_number(const OptionValues& options, const std::string& name);

/// A drafted token in a closed form.
struct Drafted {
  const LawRow& target;
  const LawRow& draft;  ///< the law drawn from
  Token token;
  int offset;
  bool is_one_hot;  ///< reported as one-hot

  const Exact& target_mass() const { return target[token]; }
  const Exact& draft_mass() const { return draft[token]; }
  /// What is reported of the token: 1 if one-hot.
  Exact reported() const { return is_one_hot ? Exact(1) : draft[token]; }
};

/// 1 + sum over the nonempty prefixes of drafts of the product of `kept` over their tokens: the
/// expected number of emitted tokens of any rule that keeps a token of a chain by its position and
/// rows alone, with `kept` the probability that it is drafted and kept, given its prefix was.
Exact expected_of_walk(const ModelCase& tiny, const std::function<Exact(const Drafted&)>& kept);

}  // namespace draftproof::reference::law::rules
