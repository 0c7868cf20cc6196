// The greedy rule on laws.
#include "reference/law/greedy.h"

#include <algorithm>

#include "reference/law/chain.h"

namespace draftproof::reference::law {
namespace {

template <class Scalar>
Token first_maximum(const LawRow<Scalar>& row) {
  return static_cast<Token>(std::max_element(row.begin(), row.end()) - row.begin());
}

}  // namespace

template <class Scalar>
Emission greedy(const Iteration<Scalar>& iteration, Chooser<Scalar>& chooser) {
  const std::vector<Token> drafted = draw_draft(iteration, chooser);
  Emission emission;
  for (int i = 0; i <= iteration.draft_count(); ++i) {
    const Token best = first_maximum(iteration.target(drafted, i));
    emission.tokens.push_back(best);
    if (i == iteration.draft_count() || drafted[i] != best) return emission;
    ++emission.accepted_count;
  }
  return emission;
}

TinyCase<Exact> decoding_greedily(TinyCase<Exact> tiny_case) {
  for (std::vector<LawRow<Exact>>& rows : tiny_case.target) {
    for (LawRow<Exact>& row : rows) {
      const Token best = first_maximum(row);
      std::fill(row.begin(), row.end(), Exact(0));
      row[best] = 1;
    }
  }
  return tiny_case;
}

template Emission greedy(const Iteration<Exact>&, Chooser<Exact>&);
template Emission greedy(const Iteration<double>&, Chooser<double>&);

}  // namespace draftproof::reference::law
