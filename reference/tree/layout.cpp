// One node after the other: its parent comes before it, so that what it inherits is known.
#include "reference/tree/layout.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "reference/error.h"

namespace draftproof::reference::tree {
namespace {

bool is_malformed(const DraftTree& tree, const LayoutRule& rule) {
  if (tree.parents.size() > rule.node_capacity) return true;
  for (std::size_t node = 0; node < tree.parents.size(); ++node)
    if (tree.parents[node] < -1 || std::cmp_greater_equal(tree.parents[node], node)) return true;
  return false;
}

/// A layout of `count` nodes none of which is there.
Layout without_nodes(std::size_t count) {
  Layout layout;
  layout.depths.assign(count, -1);
  layout.positions.assign(count, -1);
  layout.first_children.assign(count + 1, -1);
  layout.next_siblings.assign(count, -1);
  layout.masks.assign(count, std::vector<bool>(count));
  return layout;
}

Layout malformed(std::size_t count) {
  Layout layout = without_nodes(count);
  layout.status = Status::kMalformedTree;
  return layout;
}

}  // namespace

Layout layout(const DraftTree& tree, const LayoutRule& rule) {
  DRAFTPROOF_CHECK(tree.tokens.empty() || tree.tokens.size() == tree.parents.size(),
                   "one token a node");
  const std::size_t count = std::min(tree.parents.size(), rule.node_capacity);
  if (is_malformed(tree, rule)) return malformed(count);
  Layout layout = without_nodes(count);
  std::map<std::int32_t, std::int32_t> last_child;  // of a parent
  std::set<std::pair<std::int32_t, Token>> children;
  for (std::size_t i = 0; i < count; ++i) {
    const auto node = static_cast<std::int32_t>(i);
    const std::int32_t parent = tree.parents[i];
    const bool is_placeholder = !tree.tokens.empty() && tree.tokens[i] == kPlaceholder;
    if (is_placeholder || (parent >= 0 && layout.depths[parent] < 0)) continue;
    layout.depths[i] = parent < 0 ? 0 : layout.depths[parent] + 1;
    layout.positions[i] = static_cast<std::int32_t>(tree.base + layout.depths[i]);
    if (parent >= 0) layout.masks[i] = layout.masks[parent];
    layout.masks[i][i] = true;
    const auto before = last_child.find(parent);
    if (before == last_child.end())
      layout.first_children[parent + 1] = node;
    else
      layout.next_siblings[before->second] = node;
    last_child[parent] = node;
    ++layout.node_count;
    layout.level_count =
        std::max(layout.level_count, static_cast<std::uint32_t>(layout.depths[i] + 1));
    if (!tree.tokens.empty() && !children.emplace(parent, tree.tokens[i]).second)
      layout.has_equal_siblings = true;
  }
  if (!layout.has_equal_siblings || !rule.equal_siblings_are_malformed) return layout;
  Layout refused = malformed(count);
  refused.has_equal_siblings = true;
  return refused;
}

}  // namespace draftproof::reference::tree
