// The laws of the integer rules for trees, by counting coins. A tree's draft is drawn node by node
// as far as the walk goes: what is drafted off the path of accepted nodes decides nothing.
#include <algorithm>

#include "reference/law/coin_count.h"
#include "reference/law/coin_law.h"
#include "reference/verify/chain.h"
#include "reference/verify/siblings.h"
#include "reference/verify/target_only.h"

namespace draftproof::reference::law {
namespace {

int most_children(const MassTree& tree) {
  std::size_t most = 0;
  for (int node = -1; node < static_cast<int>(tree.parents.size()); ++node)
    most = std::max(most, tree.children(node).size());
  return static_cast<int>(most);
}

/// Walks down the accepted nodes; what becomes of a node's children is a rule's.
class TreeWalk {
 public:
  explicit TreeWalk(const MassTree& tree) : tree_(tree) {}
  virtual ~TreeWalk() = default;

  EmissionLaw run() {
    visit(-1, Exact(1));
    return std::move(law_);
  }

 protected:
  /// Judges the children of a node, drawn or not, by go_on() and end().
  virtual void judge(const std::vector<int>& children, const MassRow& target, const MassRow& draft,
                     const Exact& reach) = 0;

  void go_on(int child, Token token, const Exact& reach) {
    if (reach == 0) return;
    accepted_.push_back(token);
    visit(child, reach);
    accepted_.pop_back();
  }

  void end(const Exact& reach, const LawRow& last) { add_ends(law_, accepted_, reach, last); }

  /// The law of the next sibling behind those with `before` tokens; no mass: there is none.
  MassRow sibling_law(const MassRow& draft, const std::vector<Token>& before) const {
    return tree_.siblings == SiblingDraw::kWithoutReplacement ? verify::struck_out(draft, before)
                                                              : draft;
  }

  const MassTree& tree_;

 private:
  void visit(int node, const Exact& reach) {
    const std::size_t n = accepted_.size();
    const std::size_t index = context_index(tree_.masses.vocab_size, accepted_);
    const MassRow& target = tree_.masses.target[n][index];
    const std::vector<int> children = tree_.children(node);
    if (children.empty()) return end(reach, law_of_draw(target));
    judge(children, target, tree_.masses.draft[n][index], reach);
  }

  Context accepted_;
  EmissionLaw law_;
};

class Siblings final : public TreeWalk {
 public:
  Siblings(const MassTree& tree, const Shorten& shorten) : TreeWalk(tree), shorten_(shorten) {}

 private:
  void judge(const std::vector<int>& children, const MassRow& target, const MassRow& draft,
             const Exact& reach) override {
    test(children, target, draft, {}, reach);
  }

  void test(const std::vector<int>& children, const MassRow& left, const MassRow& draft,
            const std::vector<Token>& before, const Exact& reach) {
    const MassRow law = sibling_law(draft, before);
    for (Token x = 0; x < tree_.masses.vocab_size; ++x) {
      if (law.mass[x] == 0) continue;
      const Exact drafted = reach * Exact(BigInteger(law.mass[x]), BigInteger(law.total));
      const Exact kept =
          share_of_coins([&](std::uint64_t coin) { return verify::accepts(coin, left, law, x); });
      go_on(children[before.size()], x, Exact(drafted * kept));
      const Exact rejected = drafted * (1 - kept);
      if (rejected == 0) continue;
      std::vector<Token> tested = before;
      tested.push_back(x);
      const std::vector<WideMass> weights = verify::residual(left, law);
      const bool is_last =
          tested.size() == children.size() || sibling_law(draft, tested).total == 0;
      if (is_last)
        end(rejected, law_of_draw(weights));
      else
        test(children, shorten_(weights), draft, tested, rejected);
    }
  }

  const Shorten& shorten_;
};

/// Rules that look at the tokens of the children only: all draws of them, one after the other.
class Followed : public TreeWalk {
 public:
  using TreeWalk::TreeWalk;

 private:
  void judge(const std::vector<int>& children, const MassRow& target, const MassRow& draft,
             const Exact& reach) override {
    drawn(children, target, draft, {}, reach);
  }

  void drawn(const std::vector<int>& children, const MassRow& target, const MassRow& draft,
             const std::vector<Token>& before, const Exact& reach) {
    const MassRow law = sibling_law(draft, before);
    if (before.size() == children.size() || law.total == 0)
      return follow(children, before, target, reach);
    for (Token x = 0; x < tree_.masses.vocab_size; ++x) {
      if (law.mass[x] == 0) continue;
      std::vector<Token> longer = before;
      longer.push_back(x);
      drawn(children, target, draft, longer,
            Exact(reach * Exact(BigInteger(law.mass[x]), BigInteger(law.total))));
    }
  }

  virtual void follow(const std::vector<int>& children, const std::vector<Token>& tokens,
                      const MassRow& target, const Exact& reach) = 0;
};

class TargetOnly final : public Followed {
 public:
  using Followed::Followed;

 private:
  void follow(const std::vector<int>& children, const std::vector<Token>& tokens,
              const MassRow& target, const Exact& reach) override {
    Exact before = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const Exact up_to = share_of_coins([&](std::uint64_t coin) {
        const auto taken = verify::taken_child(coin, target, tokens);
        return taken && *taken <= i;
      });
      go_on(children[i], tokens[i], Exact(reach * (up_to - before)));
      before = up_to;
    }
    if (before != 1)
      end(Exact(reach * (1 - before)), law_of_draw(verify::struck_out(target, tokens)));
  }
};

class Match final : public Followed {
 public:
  using Followed::Followed;

 private:
  void follow(const std::vector<int>& children, const std::vector<Token>& tokens,
              const MassRow& target, const Exact& reach) override {
    LawRow last = law_of_draw(target);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      Exact& share = last[tokens[i]];
      go_on(children[i], tokens[i], Exact(reach * share));
      share = 0;
    }
    end(reach, last);
  }
};

Exact rounding(const MassTree& tree) {
  return tree.masses.draft_count * (most_children(tree) - 1) * tree.masses.vocab_size *
         two_to_minus(61);
}

}  // namespace

std::vector<int> MassTree::children(int node) const {
  std::vector<int> children;
  for (int child = node + 1; child < static_cast<int>(parents.size()); ++child)
    if (parents[child] == node) children.push_back(child);
  return children;
}

EmissionLaw siblings_coin_law(const MassTree& tree, const Shorten& shorten) {
  return Siblings(tree, shorten).run();
}

EmissionLaw siblings_coin_law(const MassTree& tree) {
  return siblings_coin_law(tree, verify::shortened);
}

Exact siblings_sequence_bound(const MassTree& tree) {
  return rounding(tree) + target_only_bound(tree);
}

Exact siblings_emission_bound(const MassTree& tree) {
  return rounding(tree) * (1 << most_children(tree)) + target_only_bound(tree);
}

EmissionLaw target_only_coin_law(const MassTree& tree) { return TargetOnly(tree).run(); }

EmissionLaw match_coin_law(const MassTree& tree) { return Match(tree).run(); }

Exact target_only_bound(const MassTree& tree) {
  return tree.masses.draft_count * most_children(tree) * two_to_minus(64) +
         tree.masses.vocab_size * two_to_minus(65);
}

Exact match_bound(const MassTree& tree) {
  return (tree.masses.draft_count + 1) * tree.masses.vocab_size * two_to_minus(65);
}

}  // namespace draftproof::reference::law
