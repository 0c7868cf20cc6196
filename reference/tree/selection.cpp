// Sorted as it is said: by what a candidate counts for, then by number.
#include "reference/tree/selection.h"

#include <algorithm>
#include <cmath>

#include "reference/error.h"

namespace draftproof::reference::tree {

Selection select(const DraftTree& tree, const std::vector<float>& scores, std::size_t keep,
                 std::size_t capacity) {
  DRAFTPROOF_CHECK(scores.size() == tree.parents.size(), "one score a node");
  const Layout all = layout(tree, {capacity});
  Selection selection;
  selection.status = all.status;
  if (all.status != Status::kOk) return selection;
  std::vector<float> least = scores;  // on the path
  std::vector<std::int32_t> order;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (all.depths[i] < 0) continue;
    if (std::isnan(scores[i])) return {Status::kNan, {}, {}, 0};
    if (tree.parents[i] >= 0 && least[tree.parents[i]] < least[i])
      least[i] = least[tree.parents[i]];
    order.push_back(static_cast<std::int32_t>(i));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return least[a] > least[b]; });
  order.resize(std::min(order.size(), keep));
  std::sort(order.begin(), order.end());
  for (const std::int32_t node : order) {
    const auto parent = std::find(order.begin(), order.end(), tree.parents[node]);
    DRAFTPROOF_CHECK(tree.parents[node] < 0 || parent != order.end(), "not closed");
    selection.parents.push_back(
        tree.parents[node] < 0 ? -1 : static_cast<std::int32_t>(parent - order.begin()));
    selection.level_count =
        std::max(selection.level_count, static_cast<std::uint32_t>(all.depths[node] + 1));
  }
  selection.candidates = std::move(order);
  return selection;
}

}  // namespace draftproof::reference::tree
