// The law of integer traversal verification, by counting coins. A node's subtree is accepted with a
// probability that only depends, in expectation over what is drafted below, on the node's own row
// and rate: so the walk follows one sibling after the other, each weighted with the probability
// that those before it were taken away.
#include "reference/law/coin_count.h"
#include "reference/law/coin_law.h"
#include "reference/verify/target_only.h"
#include "reference/verify/traversal.h"

namespace draftproof::reference::law {
namespace {

class TraversalWalk {
 public:
  explicit TraversalWalk(const MassTree& tree) : tree_(tree) {}

  EmissionLaw run() {
    visit(-1, {tree_.masses.target[0][0], verify::kWholeRatio}, {}, Exact(1));
    return std::move(law_);
  }

 private:
  /// Tries the children of `node` behind those with `before` tokens, and then the node itself.
  /// Answers the probability with which it is taken away.
  Exact visit(int node, const verify::Rest& rest, const std::vector<Token>& before,
              const Exact& reach) {
    const std::vector<int> children = tree_.children(node);
    MassRow draft;
    if (before.size() < children.size() && rest.rate > 0) draft = next_law(before);
    if (draft.total == 0) {
      const Exact kept = node == -1 ? Exact(1) : share_of_coins([&](std::uint64_t coin) {
        return verify::keeps_whole(coin, rest.rate);
      });
      if (kept != 0) add_ends(law_, path_, Exact(reach * kept), law_of_draw(rest.row));
      return reach * (1 - kept);
    }
    Exact taken_away = 0;
    for (Token x = 0; x < tree_.masses.vocab_size; ++x) {
      if (draft.mass[x] == 0) continue;
      const Exact drafted = reach * Exact(BigInteger(draft.mass[x]), BigInteger(draft.total));
      const verify::PrefixRatio rate = verify::carried(rest.rate, rest.row, draft, x);
      path_.push_back(x);
      const MassRow& target =
          tree_.masses.target[path_.size()][context_index(tree_.masses.vocab_size, path_)];
      const Exact rejected = visit(children[before.size()], {target, rate}, {}, drafted);
      path_.pop_back();
      if (rejected == 0) continue;
      std::vector<Token> tried = before;
      tried.push_back(x);
      taken_away += visit(node, verify::without_child(rest, draft), tried, rejected);
    }
    return taken_away;
  }

  /// The law of the next sibling; no mass: there is none.
  MassRow next_law(const std::vector<Token>& before) const {
    const MassRow& draft =
        tree_.masses.draft[path_.size()][context_index(tree_.masses.vocab_size, path_)];
    return tree_.siblings == SiblingDraw::kWithoutReplacement ? verify::struck_out(draft, before)
                                                              : draft;
  }

  const MassTree& tree_;
  Context path_;
  EmissionLaw law_;
};

}  // namespace

EmissionLaw traversal_coin_law(const MassTree& tree) { return TraversalWalk(tree).run(); }

Exact traversal_sequence_bound(const MassTree& tree) {
  const int vocab_size = tree.masses.vocab_size;
  Exact sum = vocab_size * two_to_minus(65);
  std::vector<int> depths;
  for (const int parent : tree.parents) {
    depths.push_back(parent < 0 ? 1 : depths[static_cast<std::size_t>(parent)] + 1);
    const Exact weight(BigInteger(1) << depths.back());
    sum += weight / 4 * (3 * two_to_minus(62) + vocab_size * two_to_minus(60));
    sum += weight * vocab_size * two_to_minus(65);
  }
  return sum;
}

}  // namespace draftproof::reference::law
