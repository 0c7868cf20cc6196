// The laws of the integer tree rules over all 2^64 coins stay within the stated bounds of the
// target and of the papers' rules; without the shift, with fewer bits, with an inclusive comparison
// or with siblings of the wrong law they do not.
#include <gtest/gtest.h>

#include "reference/law/coin_count.h"
#include "reference/law/decoding.h"
#include "reference/verify/siblings.h"
#include "reference/verify/target_only.h"
#include "tests/reference/mass_cases.h"

namespace draftproof::reference::law {
namespace {

Exact sequence_loss(const MassTree& tree, const EmissionLaw& law) {
  const ModelCase laws = laws_of(tree);
  const int length = tree.masses.draft_count + 1;
  return total_variation(extended_law(*laws.target, law, length), target_law(*laws.target, length));
}

Exact emission_loss(const MassTree& tree, const EmissionLaw& law, const std::string& rule) {
  return total_variation(law, emission_law(decoding_of(laws_of(tree), law_rule(rule).make({}))));
}

Exact total(const EmissionLaw& law) {
  Exact sum = 0;
  for (const auto& [emission, probability] : law) sum += probability;
  return sum;
}

constexpr SiblingDraw kDraws[] = {SiblingDraw::kIndependent, SiblingDraw::kWithoutReplacement};

std::string rule_of(SiblingDraw draw) {
  return draw == SiblingDraw::kIndependent ? "with-replacement" : "without-replacement";
}

/// Trees of one and two levels with one to three siblings, smooth and coarse rows.
template <class Visit>
void for_each_tree(unsigned seed, const Visit& visit) {
  std::mt19937 random(seed);
  const std::vector<int> shapes[] = {{1}, {2}, {3}, {1, 2}, {2, 1}, {2, 2}};
  for (const int vocab_size : {2, 3, 4})
    for (const std::vector<int>& widths : shapes)
      for (const SiblingDraw draw : kDraws) {
        const int depth = static_cast<int>(widths.size());
        visit(MassTree{random_case(random, vocab_size, depth), tree_parents(widths), draw});
        visit(MassTree{random_case(random, vocab_size, depth, coarse_row), tree_parents(widths),
                       draw});
      }
}

TEST(SiblingsCoinLaw, StaysWithinTheBounds) {
  Exact largest_share = 0;
  int shifted = 0;
  const auto counted = [&](const std::vector<WideMass>& weights) {
    WideMass sum = 0;
    for (const WideMass weight : weights) sum += weight;
    const MassRow row = verify::shortened(weights);
    shifted += row.total < sum;
    return row;
  };
  for_each_tree(51, [&](const MassTree& tree) {
    const EmissionLaw law = siblings_coin_law(tree, counted);
    ASSERT_EQ(total(law), 1);
    const Exact loss = sequence_loss(tree, law);
    ASSERT_LE(loss, siblings_sequence_bound(tree));
    ASSERT_LE(emission_loss(tree, law, rule_of(tree.siblings)), siblings_emission_bound(tree));
    largest_share = std::max(largest_share, Exact(loss / siblings_sequence_bound(tree)));
  });
  EXPECT_GT(largest_share, Exact(1, 100)) << "a bound that is never near says nothing";
  EXPECT_GT(shifted, 20) << "rows that lose bits must have been met";
}

TEST(SiblingsCoinLaw, BoundsAreWhatTheContractStates) {
  MassTree tree{{5, 2, {}, {}}, tree_parents({3, 1}), SiblingDraw::kIndependent};
  const Exact coins = 2 * 3 * two_to_minus(64) + 5 * two_to_minus(65);
  EXPECT_EQ(siblings_sequence_bound(tree), 2 * 2 * 5 * two_to_minus(61) + coins);
  EXPECT_EQ(siblings_emission_bound(tree), 8 * 2 * 2 * 5 * two_to_minus(61) + coins);
  EXPECT_EQ(target_only_bound(tree), coins);
  EXPECT_EQ(match_bound(tree), 3 * 5 * two_to_minus(65));
}

TEST(SiblingsCoinLaw, OfRowsThatAreNotShortenedRightLeavesTheBound) {
  // Cut to 20 bits in place of 62, and to the low 64 bits that are left when nothing is shifted.
  const auto cut = [](const std::vector<WideMass>& weights) {
    MassRow row = verify::shortened(weights);
    row.total = 0;
    for (Mass& mass : row.mass) row.total += mass >>= 42;
    return row;
  };
  const auto wrapped = [](const std::vector<WideMass>& weights) {
    MassRow row;
    for (const WideMass weight : weights) row.mass.push_back(static_cast<Mass>(weight) >> 3);
    for (const Mass mass : row.mass) row.total += mass;
    return row.total > 0 ? row : verify::shortened(weights);
  };
  std::mt19937 random(52);
  int worse_by_cut = 0, worse_by_wrap = 0, tried = 0;
  for (int repeat = 0; repeat < 6; ++repeat)
    for (const SiblingDraw draw : kDraws) {
      const MassTree tree{random_case(random, 4, 1), tree_parents({3}), draw};
      ++tried;
      const Exact bound = 1000 * siblings_sequence_bound(tree);
      worse_by_cut += sequence_loss(tree, siblings_coin_law(tree, cut)) > bound;
      worse_by_wrap += sequence_loss(tree, siblings_coin_law(tree, wrapped)) > bound;
    }
  EXPECT_GT(worse_by_cut, tried / 4);
  EXPECT_GT(worse_by_wrap, tried / 4);
}

TEST(SiblingsCoinLaw, OfSiblingsDrawnTheOtherWayIsNotThePapers) {
  // The comparison with the paper's rule sees which law the second sibling was drawn from.
  std::mt19937 random(53);
  Exact largest = 0;
  for (int repeat = 0; repeat < 6; ++repeat) {
    const MassTree tree{random_case(random, 3, 1), tree_parents({2}), SiblingDraw::kIndependent};
    MassTree other = tree;
    other.siblings = SiblingDraw::kWithoutReplacement;
    largest = std::max(largest, emission_loss(tree, siblings_coin_law(other), "with-replacement"));
  }
  EXPECT_GT(largest, Exact(1, 1000));
}

TEST(SiblingsCoinLaw, OfOneChildIsTheChains) {
  std::mt19937 random(54);
  for (const SiblingDraw draw : kDraws) {
    const MassCase masses = random_case(random, 3, 2);
    EXPECT_EQ(siblings_coin_law({masses, chain_parents(2), draw}), coin_law(masses));
  }
}

TEST(TraversalCoinLaw, StaysWithinTheBound) {
  Exact largest_share = 0, farthest = 0;
  for_each_tree(58, [&](const MassTree& tree) {
    const EmissionLaw law = traversal_coin_law(tree);
    ASSERT_EQ(total(law), 1);
    const Exact loss = sequence_loss(tree, law);
    ASSERT_LE(loss, traversal_sequence_bound(tree));
    largest_share = std::max(largest_share, Exact(loss / traversal_sequence_bound(tree)));
    farthest = std::max(farthest, emission_loss(tree, law, "traversal"));
  });
  EXPECT_GT(largest_share, Exact(1, 1000));
  // Which node is accepted is the paper's as well. No bound is stated for it; another rule would be
  // off by far more.
  EXPECT_LT(farthest, two_to_minus(50));
}

TEST(TraversalCoinLaw, OfChainsIsTheBlocksAndOfTreesNotTheWalks) {
  std::mt19937 random(59);
  Exact farthest = 0;
  for (int repeat = 0; repeat < 6; ++repeat) {
    const MassCase masses = random_case(random, 3, 2);
    const MassTree chain{masses, chain_parents(2), SiblingDraw::kIndependent};
    EXPECT_LT(total_variation(traversal_coin_law(chain), block_coin_law(masses)), two_to_minus(50));
    const MassTree tree{masses, tree_parents({2, 2}), SiblingDraw::kIndependent};
    farthest =
        std::max(farthest, total_variation(traversal_coin_law(tree), siblings_coin_law(tree)));
  }
  EXPECT_GT(farthest, two_to_minus(10));
}

TEST(TargetOnlyCoinLaw, StaysWithinTheBound) {
  Exact largest_share = 0;
  for_each_tree(55, [&](const MassTree& tree) {
    const EmissionLaw law = target_only_coin_law(tree);
    ASSERT_EQ(total(law), 1);
    const Exact loss = sequence_loss(tree, law);
    ASSERT_LE(loss, target_only_bound(tree));
    ASSERT_LE(emission_loss(tree, law, "target-only"), target_only_bound(tree));
    largest_share = std::max(largest_share, Exact(loss / target_only_bound(tree)));
  });
  EXPECT_GT(largest_share, Exact(1, 100));
}

TEST(TargetOnlyCoinLaw, OfAnInclusiveComparisonLeavesTheBound) {
  // Four units of mass: inclusively the child's unit would be met by two of four points.
  const MassRow target{{1, 2, 1}, 4, Status::kOk};
  const auto inclusive = [&](std::uint64_t coin) { return scaled(coin, target.total) <= 1; };
  const auto strict = [&](std::uint64_t coin) {
    return verify::taken_child(coin, target, {0}).has_value();
  };
  EXPECT_EQ(share_of_coins(strict), Exact(1, 4));
  EXPECT_EQ(share_of_coins(inclusive), Exact(1, 2));
}

TEST(TargetOnlyCoinLaw, OfOneHotSiblingsIsTheirsUpToTheCoins) {
  std::mt19937 random(56);
  for (int repeat = 0; repeat < 8; ++repeat) {
    const MassTree tree{with_one_hot_drafts(random_case(random, 3, 2)), tree_parents({1, 1}),
                        SiblingDraw::kIndependent};
    EXPECT_LE(total_variation(target_only_coin_law(tree), siblings_coin_law(tree)),
              2 * siblings_sequence_bound(tree));
  }
}

TEST(MatchCoinLaw, StaysWithinTheBoundOnTreesAndChains) {
  for_each_tree(57, [&](const MassTree& tree) {
    const EmissionLaw law = match_coin_law(tree);
    ASSERT_EQ(total(law), 1);
    ASSERT_LE(sequence_loss(tree, law), match_bound(tree));
    // On any tree it is, up to the coins, what target-only emits; on chains the paper's rule.
    ASSERT_LE(total_variation(law, target_only_coin_law(tree)),
              match_bound(tree) + target_only_bound(tree));
  });
}

}  // namespace
}  // namespace draftproof::reference::law
