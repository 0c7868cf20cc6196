// An external draft model.
#include "reference/draft/model.h"

#include <algorithm>
#include <numeric>

#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

using law::DraftReport;
using law::SiblingDraw;

/// `row` without the tokens in `used`, renormalised; empty when nothing is left.
LawRow without(LawRow row, const std::vector<Token>& used) {
  for (Token token : used) row[token] = 0;
  Exact sum = 0;
  for (const Exact& probability : row) sum += probability;
  if (sum == 0) return {};
  for (Exact& probability : row) probability /= sum;
  return row;
}

/// The token of rank `rank` in the order "probability descending, id ascending"; -1: none.
Token ranked(const LawRow& row, std::size_t rank) {
  std::vector<Token> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Token a, Token b) { return row[a] > row[b]; });
  return rank < order.size() ? order[rank] : kPlaceholder;
}

class ModelDrafter final : public Drafter {
 public:
  explicit ModelDrafter(const law::ModelCase& tiny) : tiny_(tiny) {
    for (int node = 0; node < tiny.draft_count(); ++node)
      DRAFTPROOF_CHECK(tiny.parents[node] < node && tiny.parents[node] >= -1, "parents come first");
  }

  law::DraftTree draft(const law::StepBegin& begin, law::Memory&, law::Memory&,
                       law::Chooser& chooser) const override {
    law::DraftTree tree;
    std::vector<int> number(tiny_.parents.size(), -2);  // of a node of the shape; -2: left out
    for (std::size_t node = 0; node < tiny_.parents.size(); ++node) {
      const int shape_parent = tiny_.parents[node];
      const int parent = shape_parent < 0 ? -1 : number[shape_parent];
      if (parent == -2 || tree.depth(parent) >= begin.draft_count) continue;
      const bool is_last = std::find(tiny_.parents.begin() + static_cast<std::ptrdiff_t>(node) + 1,
                                     tiny_.parents.end(), shape_parent) == tiny_.parents.end();
      number[node] = child(begin.context, tree, parent, is_last, chooser);
    }
    return tree;
  }

 private:
  /// Draws one more child of `parent`, the last one of its shape or not; -2 when there is none.
  int child(const Context& base, law::DraftTree& tree, int parent, bool is_last,
            law::Chooser& chooser) const {
    Context context = base;
    for (Token token : tree.tokens_to(parent)) context.push_back(token);
    LawRow row = tiny_.draft->row(context);
    std::vector<Token> used;
    for (int sibling : tree.children(parent)) used.push_back(tree.nodes[sibling].token);
    if (tiny_.siblings == SiblingDraw::kLargest ||
        (tiny_.siblings == SiblingDraw::kLargestThenDrawn && !is_last)) {
      const Token token = ranked(row, used.size());
      return token == kPlaceholder ? -2 : add_child(tree, parent, token, {});
    }
    if (tiny_.siblings != SiblingDraw::kIndependent) row = without(std::move(row), used);
    if (row.empty()) return -2;
    const Token token =
        chooser.draw(row, {tree.depth(parent), Purpose::kDraft, slot(tree, parent)});
    return add_child(tree, parent, token,
                     tiny_.report == DraftReport::kOneHot ? LawRow{} : std::move(row));
  }

  /// The node's number among all nodes of its depth, so that cousins have coins of their own.
  static int slot(const law::DraftTree& tree, int parent) {
    const int depth = tree.depth(parent);
    int before = 0;
    for (int node = 0; node < tree.size(); ++node)
      if (tree.depth(tree.nodes[node].parent) == depth) ++before;
    return before;
  }

  const law::ModelCase tiny_;
};

}  // namespace

std::shared_ptr<const Drafter> model_drafter(const law::ModelCase& tiny) {
  return std::make_shared<ModelDrafter>(tiny);
}

}  // namespace draftproof::reference::draft
