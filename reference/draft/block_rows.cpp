// Drafters that see the whole block at once.
#include "reference/draft/block_rows.h"

#include <algorithm>

#include "reference/draft/medusa.h"
#include "reference/draft/recurrent.h"

namespace draftproof::reference::draft {
namespace {

Token token_before(const ChainPoint& point) {
  return point.drafted.empty() ? point.context.back() : point.drafted.back();
}

Context masks(const ChainPoint& point) { return Context(point.drafted.size() + 1, 0); }

/// Logits that are added are probabilities that are multiplied; 1 keeps every token possible.
LawRow biased(LawRow row, const LawRow& bias) {
  for (std::size_t t = 0; t < row.size(); ++t) row[t] *= 1 + bias[t];
  return over_sum(std::move(row));
}

}  // namespace

PointLaw base_law(const model::Toy& toy) {
  return [draft = toy.draft](const ChainPoint& point) {
    const Context seen = joined(hidden_in(point.memory), {point.context.back()});
    return draft->row(joined(seen, masks(point)));
  };
}

PointLaw parallel_model_law(const model::Toy& toy) {
  return [draft = toy.draft](const ChainPoint& point) {
    return draft->row(joined(point.context, masks(point)));
  };
}

PointLaw markov_law(const model::Toy& toy) {
  return [base = base_law(toy), draft = toy.draft](const ChainPoint& point) {
    return biased(base(point), draft->row({token_before(point)}));
  };
}

PointLaw largest_only(PointLaw law, int count) {
  return [law = std::move(law), count](const ChainPoint& point) {
    LawRow row = law(point);
    const std::vector<Token> order = ranked_tokens(row);
    for (std::size_t rank = static_cast<std::size_t>(count); rank < order.size(); ++rank)
      row[static_cast<std::size_t>(order[rank])] = 0;
    return over_sum(std::move(row));
  };
}

PointLaw causal_law(const model::Toy& toy) {
  return [base = base_law(toy), draft = toy.draft](const ChainPoint& point) {
    return biased(base(point), draft->row(state_key(fed_state({}, point.drafted).recurrent)));
  };
}

Exact confidence(const model::Toy& toy, const ChainPoint& point) {
  const LawRow& row = toy.draft->row(joined(hidden_in(point.memory), {token_before(point)}));
  return *std::max_element(row.begin(), row.end());
}

std::function<bool(const ChainPoint&)> stops_unconfident(const model::Toy& toy, Exact threshold) {
  return [toy, threshold = std::move(threshold)](const ChainPoint& point) {
    return confidence(toy, point) < threshold;
  };
}

}  // namespace draftproof::reference::draft
