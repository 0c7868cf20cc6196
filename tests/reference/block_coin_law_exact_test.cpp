// The law of the integer block over all 2^64 coins stays within the stated bounds of the target and
// of the paper's rule; with 20 fraction bits in place of 62 it does not.
#include <gtest/gtest.h>

#include "reference/law/coin_count.h"
#include "reference/law/decoding.h"
#include "reference/verify/block.h"
#include "tests/reference/mass_cases.h"

namespace draftproof::reference::law {
namespace {

/// Distance of the emitted sequence, continued by the target, from the target.
Exact sequence_loss(const MassCase& masses, const EmissionLaw& law) {
  const ModelCase laws = laws_of(masses);
  const int length = masses.draft_count + 1;
  return total_variation(extended_law(*laws.target, law, length), target_law(*laws.target, length));
}

/// Distance of the joint law of tokens and accepted count from the paper's.
Exact emission_loss(const MassCase& masses, const EmissionLaw& law) {
  return total_variation(law,
                         emission_law(decoding_of(laws_of(masses), law_rule("block").make({}))));
}

Exact total(const EmissionLaw& law) {
  Exact sum = 0;
  for (const auto& [emission, probability] : law) sum += probability;
  return sum;
}

template <class Visit>
void for_each_case(unsigned seed, const Visit& visit) {
  std::mt19937 random(seed);
  for (const int vocab_size : {2, 3, 4})
    for (const int draft_count : {0, 1, 2, 3})
      for (int repeat = 0; repeat < (draft_count < 3 ? 4 : 2); ++repeat) {
        visit(random_case(random, vocab_size, draft_count));
        visit(random_case(random, vocab_size, draft_count, coarse_row));
      }
}

TEST(BlockCoinLaw, StaysWithinTheBounds) {
  Exact largest_share = 0;
  for_each_case(41, [&](const MassCase& masses) {
    const EmissionLaw law = block_coin_law(masses);
    ASSERT_EQ(total(law), 1);
    const Exact loss = sequence_loss(masses, law);
    ASSERT_LE(loss, block_sequence_bound(masses));
    ASSERT_LE(emission_loss(masses, law), block_emission_bound(masses));
    largest_share = std::max(largest_share, Exact(loss / block_sequence_bound(masses)));
  });
  EXPECT_GT(largest_share, Exact(1, 100)) << "a bound that is never near says nothing";
}

TEST(BlockCoinLaw, BoundsAreWhatTheContractStates) {
  const MassCase masses{5, 3, {}, {}};
  const Exact coins = 3 * two_to_minus(64) + 5 * two_to_minus(65);
  EXPECT_EQ(block_sequence_bound(masses), 3 * two_to_minus(62) + coins);
  EXPECT_EQ(block_emission_bound(masses), 6 * two_to_minus(62) + coins);
}

TEST(BlockCoinLaw, WithFewerFractionBitsLosesThatMuch) {
  // The loss in units of the last bit: at most one a position, and seldom far less.
  for (const int bits : {10, 20, 30}) {
    Exact largest = 0;
    for_each_case(42, [&](const MassCase& masses) {
      const Exact loss = sequence_loss(masses, block_coin_law(masses, bits));
      ASSERT_LE(loss, masses.draft_count * two_to_minus(bits) + block_sequence_bound(masses));
      if (masses.draft_count == 0) return;
      largest = std::max(largest, Exact(loss / two_to_minus(bits)));
    });
    EXPECT_GT(largest, Exact(1, 2)) << bits;
    EXPECT_GT(largest * two_to_minus(bits), 1000000 * block_sequence_bound({4, 3, {}, {}}))
        << "fewer bits must not pass for 62";
  }
}

TEST(BlockCoinLaw, CountsEveryCoinOfDyadicLaws) {
  const auto row = [](std::vector<Mass> mass) { return MassRow{std::move(mass), 4, Status::kOk}; };
  // Ratios 1/2, 1 and 2, residuals in quarters, and no prefix that needs a third of the coins.
  const MassCase masses{3,
                        1,
                        {{row({1, 2, 1})}, {row({1, 2, 1}), row({0, 3, 1}), row({2, 0, 2})}},
                        {{row({2, 1, 1})}}};
  const EmissionLaw law = block_coin_law(masses);
  EXPECT_EQ(sequence_loss(masses, law), 0);
  EXPECT_EQ(emission_loss(masses, law), 0);
  EXPECT_EQ(law, coin_law(masses)) << "one drafted token is judged as in the chain";
}

TEST(BlockCoinLaw, OfOneDraftedTokenIsTheChainsUpToTheRatiosLastBit) {
  std::mt19937 random(43);
  for (int repeat = 0; repeat < 30; ++repeat) {
    const MassCase masses = random_case(random, 2 + repeat % 3, 1);
    EXPECT_LE(total_variation(block_coin_law(masses), coin_law(masses)),
              block_emission_bound(masses) + coin_law_bound(masses));
  }
}

TEST(BlockCoinLaw, OfOneHotDraftsIsTheChainsJointly) {
  // Rows of eighths: their products are whole in 62 bits, so only coins are left to differ, in
  // prefixes that are kept by a third or a seventh of them.
  std::mt19937 random(44);
  for (int repeat = 0; repeat < 12; ++repeat) {
    const MassCase masses = with_one_hot_drafts(
        random_case(random, 3, 1 + repeat % 3, [](std::mt19937& bits, int vocab_size) {
          MassRow row{std::vector<Mass>(static_cast<std::size_t>(vocab_size), 0), 8, Status::kOk};
          for (int unit = 0; unit < 8; ++unit) ++row.mass[bits() % row.mass.size()];
          return row;
        }));
    const EmissionLaw block = block_coin_law(masses), chain = coin_law(masses);
    const Exact coins =
        2 * masses.draft_count * two_to_minus(64) + masses.vocab_size * two_to_minus(64);
    EXPECT_LE(total_variation(block, chain), coins);
    EXPECT_EQ(block.size(), chain.size()) << "the same outcomes are possible";
  }
  for (int repeat = 0; repeat < 12; ++repeat) {
    const MassCase masses =
        with_one_hot_drafts(random_case(random, 2 + repeat % 3, 1 + repeat % 3));
    EXPECT_LE(total_variation(block_coin_law(masses), coin_law(masses)),
              block_emission_bound(masses) + coin_law_bound(masses));
  }
}

TEST(BlockCoinLaw, OfSampledDraftsIsNotTheChains) {
  // What makes the two comparisons above more than a tautology.
  std::mt19937 random(45);
  Exact largest = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const MassCase masses = random_case(random, 3, 2);
    const EmissionLaw block = block_coin_law(masses), chain = coin_law(masses);
    largest = std::max(largest, total_variation(block, chain));
    EXPECT_GE(expected_emitted(block) + two_to_minus(50), expected_emitted(chain));
  }
  EXPECT_GT(largest, Exact(1, 1000));
}

TEST(BlockCoinLaw, EqualRowsAcceptEveryCoin) {
  std::mt19937 random(46);
  MassCase masses = random_case(random, 3, 3);
  for (std::size_t i = 0; i < masses.draft.size(); ++i) masses.draft[i] = masses.target[i];
  for (const auto& [emission, probability] : block_coin_law(masses))
    EXPECT_EQ(emission.accepted_count, 3);
}

TEST(BlockCoinLaw, OfAnInclusiveComparisonEmitsWhatTheTargetExcludes) {
  // Inclusively, the whole draft would be kept by coins 0 to 3 although its ratio is 0.
  const MassRow target{{0, 4}, 4, Status::kOk}, draft{{2, 2}, 4, Status::kOk};
  const verify::PrefixRatio ratio = verify::carried(verify::kWholeRatio, target, draft, 0);
  EXPECT_EQ(share_of_coins([&](std::uint64_t coin) { return verify::keeps_whole(coin, ratio); }),
            0);
  EXPECT_EQ(share_of_coins([&](std::uint64_t coin) { return coin >> 2 <= ratio; }),
            two_to_minus(62));
}

}  // namespace
}  // namespace draftproof::reference::law
