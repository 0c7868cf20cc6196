// The chain rule in real numbers, as the papers write it.
#include "reference/law/chain.h"

#include "reference/error.h"

namespace draftproof::reference::law {
namespace {

/// norm(max(0, target - draft)): what the target has more of than the draft.
template <class Scalar>
LawRow<Scalar> residual(const LawRow<Scalar>& target, const LawRow<Scalar>& draft) {
  LawRow<Scalar> law(target.size());
  Scalar sum = 0;
  for (std::size_t v = 0; v < law.size(); ++v) {
    if (target[v] > draft[v]) law[v] = target[v] - draft[v];
    sum += law[v];
  }
  // A rejection means target < draft at one token, and then target > draft at another.
  DRAFTPROOF_CHECK(sum > 0, "no residual");
  for (Scalar& probability : law) probability /= sum;
  return law;
}

}  // namespace

template <class Scalar>
std::vector<Token> draw_draft(const Iteration<Scalar>& iteration, Chooser<Scalar>& chooser) {
  std::vector<Token> drafted;
  for (int i = 0; i < iteration.draft_count(); ++i)
    drafted.push_back(chooser.draw(iteration.drawn(drafted, i)));
  return drafted;
}

template <class Scalar>
Emission chain(const Iteration<Scalar>& iteration, Chooser<Scalar>& chooser) {
  const std::vector<Token> drafted = draw_draft(iteration, chooser);
  Emission emission;
  for (int i = 0; i < iteration.draft_count(); ++i) {
    const Token token = drafted[i];
    const LawRow<Scalar>& target = iteration.target(drafted, i);
    const LawRow<Scalar> draft = iteration.reported(drafted, i);
    // Drawn, so of positive probability in what was reported: the ratio exists.
    const Scalar ratio = target[token] / draft[token];
    if (!chooser.accept(ratio < 1 ? ratio : Scalar(1))) {
      emission.tokens.push_back(chooser.draw(residual(target, draft)));
      return emission;
    }
    emission.tokens.push_back(token);
    ++emission.accepted_count;
  }
  emission.tokens.push_back(chooser.draw(iteration.target(drafted, iteration.draft_count())));
  return emission;
}

template Emission chain(const Iteration<Exact>&, Chooser<Exact>&);
template Emission chain(const Iteration<double>&, Chooser<double>&);
template std::vector<Token> draw_draft(const Iteration<Exact>&, Chooser<Exact>&);
template std::vector<Token> draw_draft(const Iteration<double>&, Chooser<double>&);

}  // namespace draftproof::reference::law
