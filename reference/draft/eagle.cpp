// Drafting on features.
#include "reference/draft/eagle.h"

#include <algorithm>
#include <numeric>

#include "reference/draft/medusa.h"

namespace draftproof::reference::draft {
namespace {

struct Candidate {
  int parent = -1;
  std::vector<Token> path;
  Exact score = 1;  // product of head probabilities
};

/// Numbers of the `count` largest scores, earlier ones first among equals, in rising order.
std::vector<int> largest(const std::vector<Candidate>& candidates, std::vector<int> among,
                         int count) {
  std::stable_sort(among.begin(), among.end(),
                   [&](int a, int b) { return candidates[a].score > candidates[b].score; });
  among.resize(std::min(among.size(), static_cast<std::size_t>(count)));
  std::sort(among.begin(), among.end());
  return among;
}

std::vector<Candidate> grown(const PointLaw& law, const law::StepBegin& begin,
                             const law::Memory& memory, const DynamicTree& shape) {
  std::vector<Candidate> candidates;
  std::vector<int> level = {-1};
  for (int depth = 0; depth < std::min(shape.depth, begin.draft_count); ++depth) {
    std::vector<int> deeper;
    for (const int parent : level) {
      const Candidate from = parent < 0 ? Candidate{} : candidates[parent];
      const LawRow row = law({begin.context, from.path, memory});
      const std::vector<Token> order = ranked_tokens(row);
      for (int rank = 0; rank < std::min<int>(shape.level_width, order.size()); ++rank) {
        deeper.push_back(static_cast<int>(candidates.size()));
        candidates.push_back(
            {parent, joined(from.path, {order[rank]}), from.score * row[order[rank]]});
      }
    }
    level = largest(candidates, deeper, shape.level_width);
  }
  return candidates;
}

}  // namespace

Hidden predicted_feature(int vocab_size, const Hidden& feature, Token token) {
  if (feature.empty()) return {token};
  if (feature.size() == 1) return {feature[0], token};
  return {(feature[0] + feature[1]) % vocab_size, token};
}

Hidden predicted_along(int vocab_size, const Hidden& feature, const Context& context,
                       const std::vector<Token>& drafted) {
  Hidden along = predicted_feature(vocab_size, feature, context.back());
  for (const Token token : drafted) along = predicted_feature(vocab_size, along, token);
  return along;
}

PointLaw feature_law(const HiddenToy& toy) {
  return [draft = toy.draft](const ChainPoint& point) {
    return draft->row(predicted_along(draft->vocab_size(), hidden_in(point.memory), point.context,
                                      point.drafted));
  };
}

DraftFunctions eagle_tree(const HiddenToy& toy, const std::vector<int>& parents) {
  DraftFunctions functions;
  functions.draft = [law = feature_law(toy), parents](const law::StepBegin& begin,
                                                      const law::Memory& memory,
                                                      law::Chooser& chooser) {
    law::DraftTree tree;
    std::vector<int> number;  // of a node of the shape; -2: left out
    std::vector<int> drawn_at(parents.size() + 1);
    for (const int shape_parent : parents) {
      const int parent = shape_parent < 0 ? -1 : number[shape_parent];
      number.push_back(-2);
      const int offset = parent == -2 ? 0 : tree.depth(parent);
      if (parent == -2 || offset >= begin.draft_count) continue;
      LawRow row = law({begin.context, tree.tokens_to(parent), memory});
      for (const int sibling : tree.children(parent)) row[tree.nodes[sibling].token] = 0;
      row = over_sum(std::move(row));
      if (row.empty()) continue;
      const Token token = chooser.draw(row, {offset, Purpose::kDraft, drawn_at[offset]++});
      number.back() = add_child(tree, parent, token, std::move(row));
    }
    return tree;
  };
  return with_hidden(std::move(functions));
}

DraftFunctions dynamic_tree(const HiddenToy& toy, const DynamicTree& shape) {
  DraftFunctions functions;
  functions.draft = [law = feature_law(toy), shape](const law::StepBegin& begin,
                                                    const law::Memory& memory, law::Chooser&) {
    const std::vector<Candidate> candidates = grown(law, begin, memory, shape);
    std::vector<int> all(candidates.size());
    std::iota(all.begin(), all.end(), 0);
    law::DraftTree tree;
    std::vector<int> number(candidates.size(), -1);
    for (const int kept : largest(candidates, all, shape.node_count)) {
      const Candidate& candidate = candidates[kept];
      const int parent = candidate.parent < 0 ? -1 : number[candidate.parent];
      number[kept] = add_child(tree, parent, candidate.path.back(), {});
    }
    return tree;
  };
  return with_hidden(std::move(functions));
}

}  // namespace draftproof::reference::draft
