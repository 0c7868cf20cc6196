// Medusa heads.
#include "reference/draft/medusa.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace draftproof::reference::draft {
namespace {

/// The law of the token `between` tokens behind the next one.
LawRow ahead(const model::ToyModel& draft, const Context& context, int between) {
  const LawRow& next = draft.row(context);
  if (between == 0) return next;
  LawRow row(next.size());
  for (std::size_t x = 0; x < next.size(); ++x) {
    if (next[x] == 0) continue;
    const LawRow deeper = ahead(draft, joined(context, {static_cast<Token>(x)}), between - 1);
    for (std::size_t y = 0; y < row.size(); ++y) row[y] += next[x] * deeper[y];
  }
  return row;
}

}  // namespace

HeadLaw head_rows(const HiddenToy& toy) {
  return [draft = toy.draft](const Hidden& hidden, int offset) {
    return ahead(*draft, hidden, offset + 1);
  };
}

Choices sparse_choices() { return {{0}, {1}, {0, 0}, {0, 1}, {1, 0}}; }

std::vector<Token> ranked_tokens(const LawRow& row) {
  std::vector<Token> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Token a, Token b) { return row[a] > row[b]; });
  return order;
}

DraftFunctions medusa_functions(const HeadLaw& head, const Choices& choices, HiddenKept kept) {
  DraftFunctions functions;
  functions.draft = [=](const law::StepBegin& begin, const law::Memory& memory, law::Chooser&) {
    law::DraftTree tree;
    std::map<std::vector<int>, int> nodes = {{{}, -1}};
    for (const std::vector<int>& choice : choices) {
      const int offset = static_cast<int>(choice.size()) - 1;
      const auto parent = nodes.find({choice.begin(), choice.end() - 1});
      if (offset >= begin.draft_count || parent == nodes.end()) continue;
      const std::vector<Token> order = ranked_tokens(head(hidden_in(memory), offset));
      const auto rank = static_cast<std::size_t>(choice.back());
      if (rank < order.size()) nodes[choice] = add_child(tree, parent->second, order[rank], {});
    }
    return tree;
  };
  return with_hidden(std::move(functions), std::move(kept));
}

model::ToyModelPtr trained_backbone(const HiddenToy& toy) {
  return model::mixed_model(toy.target, toy.draft, Exact(3, 4));
}

}  // namespace draftproof::reference::draft
