// Sparse attention on either side.
#include "reference/draft/sparse.h"

namespace draftproof::reference::draft {

Context masked(const Context& context, const Seen& seen) {
  Context left = context;
  for (std::size_t t = 0; t < left.size(); ++t)
    if (!seen[t]) left[t] = 0;
  return left;
}

Seen streaming(const Context& context) {
  Seen seen(context.size(), false);
  if (!context.empty()) seen.front() = seen.back() = true;
  return seen;
}

Seen selected(const Context& context) {
  Seen seen;
  for (const Token token : context) seen.push_back(token == context.back());
  return seen;
}

PointLaw streaming_law(const model::ToyModelPtr& target) {
  return [target](const ChainPoint& point) {
    const Context context = joined(point.context, point.drafted);
    return target->row(masked(context, streaming(context)));
  };
}

model::ToyModelPtr sparse_target(const model::Toy& toy) {
  return model::function_model(toy.target->vocab_size(),
                               [target = toy.target](const Context& context) {
                                 return target->row(masked(context, selected(context)));
                               });
}

std::shared_ptr<const law::Scorer> shared_selection_scorer(const model::Toy& toy) {
  ScorerFunctions scorer;
  scorer.rows = [target = toy.target](const Context& context, const law::DraftTree& draft,
                                      const law::Memory&) {
    const Seen first = selected(context);
    std::vector<LawRow> rows;
    for (int node = -1; node < draft.size(); ++node) {
      const Context longer = joined(context, draft.tokens_to(node));
      Seen seen = first;
      seen.resize(longer.size(), true);
      rows.push_back(target->row(masked(longer, seen)));
    }
    return rows;
  };
  return function_scorer(std::move(scorer));
}

}  // namespace draftproof::reference::draft
