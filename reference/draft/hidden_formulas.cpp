// Pieces of formulas.
#include "reference/draft/hidden_formulas.h"

#include <map>

namespace draftproof::reference::draft {

Token of_rank(const LawRow& row, int rank) {
  for (std::size_t t = 0; t < row.size(); ++t) {
    int before = 0;
    for (std::size_t other = 0; other < row.size(); ++other)
      if (row[other] > row[t] || (row[other] == row[t] && other < t)) ++before;
    if (before == rank) return static_cast<Token>(t);
  }
  return kPlaceholder;
}

LawRow carried(const model::ToyModel& draft, const Context& context, int count) {
  std::map<Context, Exact> reached = {{context, Exact(1)}};
  LawRow row;
  for (int step = 0; step <= count; ++step) {
    row.assign(static_cast<std::size_t>(draft.vocab_size()), 0);
    std::map<Context, Exact> next;
    for (const auto& [at, reach] : reached) {
      const LawRow& law = draft.row(at);
      for (Token x = 0; x < draft.vocab_size(); ++x) {
        row[x] += reach * law[x];
        Context longer = at;
        longer.push_back(x);
        next[longer] += reach * law[x];
      }
    }
    reached = std::move(next);
  }
  return row;
}

Context before_pending(const HiddenToy& toy) { return {toy.prompt.begin(), toy.prompt.end() - 1}; }

}  // namespace draftproof::reference::draft
