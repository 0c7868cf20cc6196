// The law of the integer chain over all 2^64 coins stays within the stated bound of the papers' law
// on the same masses; one unit of mass out of 2^44 does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "reference/law/coin_law.h"
#include "reference/law/decoding.h"
#include "tests/reference/mass_cases.h"

namespace draftproof::reference::law {
namespace {

Exact distance_of(const MassCase& masses, const EmissionLaw& law) {
  return total_variation(law,
                         emission_law(decoding_of(laws_of(masses), law_rule("chain").make({}))));
}

TEST(CoinLaw, StaysWithinTheBound) {
  std::mt19937 random(17);
  Exact largest_share = 0;
  for (int vocab_size : {2, 3, 4}) {
    for (int draft_count : {0, 1, 2, 3}) {
      for (int repeat = 0; repeat < 4; ++repeat) {
        const MassCase masses = random_case(random, vocab_size, draft_count);
        const Exact distance = distance_of(masses, coin_law(masses));
        ASSERT_LE(distance, coin_law_bound(masses));
        largest_share = std::max(largest_share, Exact(distance / coin_law_bound(masses)));
      }
    }
  }
  EXPECT_GT(largest_share, Exact(1, 100)) << "a bound that is never near says nothing";
}

TEST(CoinLaw, BoundIsWhatTheContractStates) {
  const MassCase masses{5, 3, {}, {}};
  const BigInteger coins = BigInteger(1) << 64;
  EXPECT_EQ(coin_law_bound(masses), Exact(3, coins) + Exact(5, 2 * coins));
}

TEST(CoinLaw, OfMassesThatAreOneUnitOffLeavesTheBound) {
  std::mt19937 random(18);
  int compared = 0;
  for (int repeat = 0; repeat < 8; ++repeat) {
    const MassCase masses = random_case(random, 3, 1);
    MassCase shifted = masses;
    MassRow& row = shifted.target[0][0];
    Mass& largest = *std::max_element(row.mass.begin(), row.mass.end());
    // A row that is one token, or nearly so, keeps its law when that token gains a unit.
    if (row.total - largest < row.total / 100) continue;
    ++largest;
    ++row.total;
    ++compared;
    EXPECT_GT(distance_of(masses, coin_law(shifted)), coin_law_bound(masses));
  }
  EXPECT_GE(compared, 3);
}

TEST(CoinLaw, CountsEveryCoinOfDyadicLaws) {
  // Ratios 1/2, residuals and bonuses in quarters: 2^64 coins divide evenly, so nothing is lost.
  const auto row = [](std::vector<Mass> mass) { return MassRow{std::move(mass), 4, Status::kOk}; };
  const MassCase masses{3,
                        1,
                        {{row({1, 2, 1})}, {row({1, 2, 1}), row({0, 3, 1}), row({2, 0, 2})}},
                        {{row({2, 1, 1})}}};
  EXPECT_EQ(distance_of(masses, coin_law(masses)), 0);
}

TEST(CoinLaw, EqualRowsAcceptEveryCoin) {
  std::mt19937 random(19);
  MassCase masses = random_case(random, 3, 2);
  masses.draft[0] = masses.target[0];
  masses.draft[1] = masses.target[1];
  for (const auto& [emission, probability] : coin_law(masses))
    EXPECT_EQ(emission.accepted_count, 2);
}

}  // namespace
}  // namespace draftproof::reference::law
