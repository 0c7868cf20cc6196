// Conditional evidence: fair under the law by enumeration and by simulation, loud under faults; and
// a bet that is unfair on purpose is caught by the same checks. Fixed seeds.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "oracle/conditional.h"
#include "reference/error.h"
#include "tests/oracle/sampled_laws.h"

namespace draftproof::oracle {
namespace {

using sampled::Law;
using sampled::unit;

/// Powers spread the weights over many sizes; some are zero.
Law some_law(std::size_t size, std::mt19937_64& random, double zero_share = .2) {
  Law law(size);
  double total = 0;
  for (double& each : law) {
    each = unit(random) < zero_share ? 0 : std::pow(unit(random), 4) + 1e-6;
    total += each;
  }
  if (total == 0) return Law(size, 1.0 / static_cast<double>(size));
  for (double& each : law) each /= total;
  return law;
}

reference::Token drawn(const Law& law, std::mt19937_64& random) {
  return static_cast<reference::Token>(sampled::drawn(law, random));
}

/// The mean of a bet's payment under the target: sum target ratio.
double mean_of(const BetLaws& laws, std::size_t bet) {
  double mean = 0;
  for (std::size_t token = 0; token < laws.vocab_size(); ++token) {
    if (laws.target()[token] > 0) mean += laws.target()[token] * laws.ratio(bet, token);
  }
  return mean;
}

constexpr double kFair = 1 + 1e-12;

TEST(DirectedBets, PayAtMostTheirStakeOnAverageWhateverTheLaws) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    const std::size_t size = 1 + random() % 12;
    const Law target = some_law(size, random);
    const Law draft = trial % 5 == 0 ? target : some_law(size, random);
    const BetLaws laws({target, draft});
    ASSERT_EQ(laws.bet_count(), directed_bets().size());
    for (std::size_t bet = 0; bet < laws.bet_count(); ++bet) {
      ASSERT_LE(mean_of(laws, bet), kFair) << directed_bets()[bet] << ", trial " << trial;
      for (std::size_t token = 0; token < size; ++token) {
        if (target[token] == 0) continue;
        ASSERT_GE(laws.ratio(bet, token), 0) << directed_bets()[bet];
      }
    }
  }
}

TEST(DirectedBets, AnUnfairBetFailsTheSameCheck) {
  // The draft's law over the target's without its impossible tokens left out of the sum: a bettor
  // who divides by a target that is not the one in force.
  const Law target = {.5, .3, .2}, wrong_target = {.5, .2, .3};
  const BetLaws laws({wrong_target, target});
  double mean = 0;
  for (std::size_t token = 0; token < 3; ++token) mean += target[token] * laws.ratio(6, token);
  EXPECT_GT(mean, kFair + .01);
}

TEST(DirectedBets, AreTheLawsOfTheFaultsTheyAreNamedAfter) {
  // By hand: target (1/2, 1/2), draft (3/4, 1/4). Accepted: 1/2 + 1/4, residual all on token 1.
  const Law target = {.5, .5}, draft = {.75, .25};
  const BetLaws laws({target, draft});
  const auto first = [&](const std::string& name) {
    for (std::size_t bet = 0; bet < directed_bets().size(); ++bet) {
      if (directed_bets()[bet] == name) return laws.ratio(bet, 0) * target[0];
    }
    return -1.0;
  };
  EXPECT_NEAR(first("draft taken unverified"), .75, 1e-12);
  EXPECT_NEAR(first("residual not subtracted"), .5 + .25 * .5, 1e-12);
  EXPECT_NEAR(first("ratio times 1.05"), .525, 1e-12);
  EXPECT_NEAR(first("ratio times 1.2"), .6, 1e-12);
  EXPECT_NEAR(first("residual of the absolute difference"), .5 + .25 * .5, 1e-12);
  EXPECT_NEAR(first("accepted where target >= draft"), 0, 1e-12);
  EXPECT_NEAR(first("accepted with the target's probability"), .375, 1e-12);
  EXPECT_NEAR(first("likeliest draft taken for a drawn one"), 2.0 / 3, 1e-12);
  const double tilt = 1 / 1.1;
  EXPECT_NEAR(BetLaws({draft, {}}).ratio(0, 0) * .75,
              std::pow(.75, tilt) / (std::pow(.75, tilt) + std::pow(.25, tilt)), 1e-12);
  EXPECT_EQ(BetLaws({target, {}}).bet_count(), target_bet_count());
}

TEST(ConditionalEvidence, PreparedLawsSayWhatTheLawsThemselvesSay) {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 20; ++trial) {
    const Law target = some_law(9, random), draft = some_law(9, random);
    const PositionLaws laws = {
        target, trial % 2 == 0 ? std::span<const double>(draft) : std::span<const double>()};
    const PreparedLaws prepared(laws);
    ConditionalEvidence one, other;
    for (int i = 0; i < 200; ++i) {
      const auto token = drawn(target, random);
      const double coin = unit(random);
      one.add(laws, token, coin);
      other.add(prepared, token, coin);
    }
    EXPECT_NEAR(one.log_e_value(), other.log_e_value(), 1e-9);
    EXPECT_EQ(one.strongest(), other.strongest());
  }
}

TEST(ConditionalEvidence, MeansAtMostOneOverAllSequencesOfThreeTokensAndCells) {
  // Exact but for the coins, which take the middle of each of 48 cells: every share boundary of
  // these laws lies on a 48th, so places in a sixteenth are counted as they must be.
  const Law target = {24.0 / 48, 18.0 / 48, 6.0 / 48}, draft = {12.0 / 48, 12.0 / 48, 24.0 / 48};
  const PreparedLaws laws({target, draft});
  struct Step {
    reference::Token token;
    double coin, probability;
  };
  std::vector<Step> steps;
  for (std::size_t token = 0; token < 3; ++token) {
    const int pieces = static_cast<int>(std::lround(target[token] * 48));
    for (int piece = 0; piece < pieces; ++piece)
      steps.push_back({static_cast<reference::Token>(token), (piece + .5) / pieces, 1.0 / 48});
  }
  double mean = 0;
  for (const Step& one : steps) {
    ConditionalEvidence first;
    first.add(laws, one.token, one.coin);
    for (const Step& two : steps) {
      ConditionalEvidence second = first;
      second.add(laws, two.token, two.coin);
      mean += one.probability * two.probability * std::exp(second.log_e_value());
    }
  }
  EXPECT_LE(mean, 1 + 1e-9);
  EXPECT_GT(mean, .9);  // and it is not fair for being worth nothing
}

/// The largest e-value at any of the looks 1, 2, 4, ... of a run.
double largest(const std::vector<Law>& truths, const std::vector<PreparedLaws>& expected,
               std::uint64_t seed, int count, double tolerance = 0) {
  std::mt19937_64 random(seed);
  ConditionalEvidence evidence(tolerance);
  double top = -1e300;
  int look = 16;
  for (int i = 1; i <= count; ++i) {
    const std::size_t context = random() % truths.size();
    evidence.add(expected[context], drawn(truths[context], random), unit(random));
    if (i == look) {
      top = std::max(top, evidence.log_e_value());
      look *= 2;
    }
  }
  return top;
}

struct Contexts {
  std::vector<Law> targets, drafts;
  std::vector<PreparedLaws> prepared;
};

Contexts contexts(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Contexts made;
  for (int i = 0; i < 6; ++i) {
    made.targets.push_back(some_law(10, random));
    made.drafts.push_back(some_law(10, random));
    made.prepared.emplace_back(PositionLaws{made.targets.back(), made.drafts.back()});
  }
  return made;
}

TEST(ConditionalEvidence, EverReachesTwentyInFewerThanOneRunOfTwenty) {
  const Contexts right = contexts(3);
  int alarms = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed)
    alarms += largest(right.targets, right.prepared, seed, 1024) >= std::log(20.0) ? 1 : 0;
  EXPECT_LE(alarms, 20);  // Ville: 20 expected at most
}

TEST(ConditionalEvidence, JudgedAgainstWrongLawsBreaksThatBound) {
  const Contexts right = contexts(3), other = contexts(4);
  std::vector<Law> mixed = right.targets;
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    for (std::size_t token = 0; token < mixed[i].size(); ++token)
      mixed[i][token] = .85 * mixed[i][token] + .15 * right.drafts[i][token];
  }
  int alarms = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    alarms += largest(mixed, right.prepared, seed, 1024) >= std::log(20.0) ? 1 : 0;
  EXPECT_GT(alarms, 20);
}

TEST(ConditionalEvidence, ToleratesLawsWithinItsSlackAndNotTwiceIt) {
  // Half of the tokens e^.02 times as likely: within a tolerance of .02, five times outside .004.
  const Law target(10, .1);
  Law moved = target;
  for (std::size_t token = 0; token < 10; ++token)
    moved[token] = token < 5 ? .1 * std::exp(.02) : .2 - .1 * std::exp(.02);
  const std::vector<PreparedLaws> prepared = {PreparedLaws({target, {}})};
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    EXPECT_LT(largest({moved}, prepared, seed, 1 << 17, .02), std::log(20.0));
    EXPECT_GT(largest({moved}, prepared, seed, 1 << 17, 0), std::log(20.0));
  }
}

TEST(ConditionalEvidence, AlarmsFarBeyondABillionWhereAResidualIsNotSubtracted) {
  std::mt19937_64 random(5);
  const Law target = some_law(16, random, 0), draft = some_law(16, random, 0);
  const BetLaws bets({target, draft});
  Law wrong(16);
  for (std::size_t token = 0; token < 16; ++token)
    wrong[token] = target[token] * bets.ratio(7, token);
  ConditionalEvidence evidence;
  const PreparedLaws prepared({target, draft});
  for (int i = 0; i < 2000; ++i) evidence.add(prepared, drawn(wrong, random), unit(random));
  EXPECT_GT(evidence.log_e_value(), std::log(1e9));
  EXPECT_EQ(evidence.strongest(), "residual not subtracted");
}

TEST(ConditionalEvidence, MergesByAddition) {
  const Contexts right = contexts(6);
  std::mt19937_64 random(7);
  ConditionalEvidence whole, shards[2];
  for (int i = 0; i < 500; ++i) {
    const std::size_t context = random() % right.targets.size();
    const auto token = drawn(right.targets[context], random);
    const double coin = unit(random);
    whole.add(right.prepared[context], token, coin);
    shards[i % 2].add(right.prepared[context], token, coin);
  }
  shards[0].merge(shards[1]);
  EXPECT_EQ(shards[0].token_count(), 500U);
  EXPECT_EQ(shards[0].impossible_count(), whole.impossible_count());
  EXPECT_NEAR(shards[0].log_e_value(), whole.log_e_value(), 1e-9);
  EXPECT_THROW(shards[0].merge(ConditionalEvidence(.1)), BrokenInvariant);
}

TEST(ConditionalEvidence, ATokenOutsideTheSupportIsAProof) {
  const PreparedLaws laws({Law{.5, .5, 0}, {}});
  for (const reference::Token token : {2, 3, -1}) {
    ConditionalEvidence evidence;
    evidence.add(laws, 0, .5);
    EXPECT_LT(evidence.log_e_value(), 1);
    evidence.add(laws, token, .5);
    EXPECT_TRUE(std::isinf(evidence.log_e_value())) << token;
    EXPECT_EQ(evidence.impossible_count(), 1U);
    EXPECT_EQ(evidence.token_count(), 2U);
  }
}

}  // namespace
}  // namespace draftproof::oracle
