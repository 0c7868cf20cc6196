// Draft length, tiles, admission. Goal: every rule that saves work is held against trying
// everything.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "oracle/speed/acceptance.h"
#include "oracle/speed/admission.h"
#include "oracle/speed/draft_length.h"
#include "oracle/speed/tile.h"
#include "reference/error.h"

namespace draftproof::oracle::speed {
namespace {

TEST(MarginalLength, IsTheBestOfAllLengths) {
  int lengths_seen = 0;
  for (double rate = 0; rate <= 1.0001; rate += 0.05)
    for (const double rho : {0.0, 0.01, 0.05, 0.11, 0.2, 0.5, 0.9, 1.5}) {
      const double bounded = std::min(rate, 1.0);
      const auto by_rule = marginal_length(bounded, rho, 200);
      const auto best = best_iid_length(bounded, rho, 0, 200);
      const double speed =
          expected_committed(bounded, by_rule) / (1 + rho * static_cast<double>(by_rule));
      // Equal speeds may be one rounding apart; the length itself is then not decided.
      EXPECT_NEAR(speed, best.speed, 1e-12 * best.speed) << rate << " " << rho;
      lengths_seen += by_rule == best.draft_length ? 1 : 0;
    }
  EXPECT_GT(lengths_seen, 150) << "of 168";
}

TEST(MarginalLength, DraftsNothingWhenADraftCostsMoreThanItBrings) {
  EXPECT_EQ(marginal_length(0.5, 0.6, 100), 0);
  EXPECT_EQ(marginal_length(0, 0.01, 100), 0);
  EXPECT_EQ(marginal_length(1, 0.9, 100), 100);
  EXPECT_EQ(marginal_length(1, 1, 100), 0);
}

TEST(BestLength, FallsWithTheSlopeOfTheVerify) {
  EXPECT_EQ(best_iid_length(0.8, 0.05, 0, 100).draft_length, 8);
  EXPECT_EQ(best_iid_length(0.8, 0.05, 0.15, 100).draft_length, 4);  // as rho = 0.2
  EXPECT_EQ(best_iid_length(0.8, 0.05, 1, 100).draft_length, 0);
  EXPECT_EQ(best_iid_length(0.8, 0.05, 1, 100).speed, 1);
}

TEST(SteppedVerify, IsPaddedToTheNextCapturedSizeAndLinearBehindTheLast) {
  const StepCosts costs{{{1, 10}, {2, 10.5}, {4, 11}, {8, 13}}, 2};
  EXPECT_EQ(time_of_rows(costs, 1), 10);
  EXPECT_EQ(time_of_rows(costs, 3), 11);
  EXPECT_EQ(time_of_rows(costs, 8), 13);
  EXPECT_EQ(time_of_rows(costs, 11), 19);
  EXPECT_THROW(time_of_rows({}, 1), BrokenInvariant);
  EXPECT_THROW(time_of_rows({{{4, 1}, {4, 2}}, 0}, 1), BrokenInvariant);
}

TEST(SteppedVerify, MakesAFreeDraftEndOnACapturedSize) {
  SteppedProblem problem;
  problem.survivals = survivals(std::vector<double>(15, 0.7));
  problem.batch = 2;
  problem.verify = {{{2, 10}, {8, 12}, {16, 30}, {32, 80}}, 3};
  // Rows 2 (1 + D): within a size every further token is free, so D + 1 is 1, 4, 8 or 16. By hand:
  // E[N_3] = 2.533 at 12 is the best: 2.533 x 10 / 12 = 2.11; E[N_7] = 3.14 x 10 / 30 = 1.05.
  const BestLength best = best_stepped_length(problem);
  EXPECT_EQ(best.draft_length, 3);
  EXPECT_NEAR(best.speed, 2.533 * 10 / 12, 1e-12);
  problem.draft_time = 8;  // .7 tokens of 10 each do not pay 8 and 2 more
  EXPECT_EQ(best_stepped_length(problem).draft_length, 0);
}

TEST(Tile, FillingLengthIsTheLeastOneByTrying) {
  for (const std::int64_t tile : {16, 64, 96, 128})
    for (std::int64_t rows = 1; rows <= 40; ++rows) {
      std::int64_t least = 0;
      while (rows * (1 + least) % tile != 0) ++least;
      EXPECT_EQ(filling_draft_length(rows, tile), least) << rows << " " << tile;
    }
}

TEST(Tile, RulesOfAttentionAndGemmDiffer) {
  EXPECT_EQ(attention_rows(4, 31), 128);
  EXPECT_EQ(gemm_rows(32, 3), 128);
  // Eight query heads, 32 sequences: attention fills its tile at 15, the weight products at 3.
  EXPECT_EQ(filling_draft_length(8, 128), 15);
  EXPECT_EQ(filling_draft_length(32, 128), 3);
}

TEST(Tile, FreeLengthIsTheLargestWithoutAnotherTile) {
  for (std::int64_t rows = 1; rows <= 200; ++rows) {
    std::int64_t largest = 0;
    while (tile_use(rows * (2 + largest), 64).tiles == tile_use(rows, 64).tiles) ++largest;
    EXPECT_EQ(free_draft_length(rows, 64), largest) << rows;
  }
  EXPECT_DOUBLE_EQ(tile_use(96, 64).fill, 0.75);
  EXPECT_THROW(tile_use(0, 64), BrokenInvariant);
}

/// The largest rate over every choice of prefixes, one request after the other.
double best_rate(const AdmissionProblem& problem, std::size_t request, double committed,
                 std::size_t slots) {
  if (slots > problem.budget) return 0;
  if (request == problem.survivals.size()) {
    return committed / (problem.base_time + problem.slot_time * static_cast<double>(slots));
  }
  double best = 0, taken = committed + 1;
  for (std::size_t length = 0; length <= problem.survivals[request].size(); ++length) {
    if (length > 0) taken += problem.survivals[request][length - 1];
    best = std::max(best, best_rate(problem, request + 1, taken, slots + length));
  }
  return best;
}

AdmissionProblem random_problem(std::mt19937_64& random) {
  std::uniform_real_distribution<double> unit(0, 1);
  AdmissionProblem problem;
  problem.base_time = 1 + 9 * unit(random);
  problem.slot_time = unit(random) < 0.1 ? 0 : unit(random);
  problem.budget = random() % 12;
  problem.survivals.resize(1 + random() % 4);
  for (auto& request : problem.survivals) {
    double survival = 1;
    const std::size_t length = random() % 5;
    for (std::size_t i = 0; i < length; ++i) {
      // Ties and dead ends on purpose.
      survival *= random() % 8 == 0 ? 1 : random() % 12 == 0 ? 0 : unit(random);
      request.push_back(survival);
    }
  }
  return problem;
}

TEST(Admission, IsTheBestChoiceOfPrefixesByTryingAll) {
  std::mt19937_64 random(3);
  int stopped_short = 0;
  for (int n = 0; n < 3000; ++n) {
    const AdmissionProblem problem = random_problem(random);
    const Admission admission = admit(problem);
    const double best = best_rate(problem, 0, 0, 0);
    ASSERT_NEAR(admission.rate, best, 1e-12 * best);
    stopped_short += admission.slots < problem.budget ? 1 : 0;
  }
  EXPECT_GT(stopped_short, 300) << "the budget decided nearly every case";
}

TEST(Admission, AdmitsASlotIffItsSurvivalIsAtLeastLambda) {
  std::mt19937_64 random(5);
  for (int n = 0; n < 2000; ++n) {
    AdmissionProblem problem = random_problem(random);
    problem.budget = 1000;
    const Admission admission = admit(problem);
    for (std::size_t r = 0; r < problem.survivals.size(); ++r)
      for (std::size_t i = 0; i < problem.survivals[r].size(); ++i) {
        const double survival = problem.survivals[r][i];
        // At equality admitting changes nothing; both answers are best.
        if (std::abs(survival - admission.lambda) < 1e-12) continue;
        EXPECT_EQ(i<admission.draft_lengths[r], survival> admission.lambda);
      }
  }
}

TEST(Admission, TheBestOfEachRequestAloneIsNotTheBestOfTheBatch) {
  // Alone, request 0 pays (1 + .4) / 1.5 < 1 and drafts nothing; beside a strong companion still
  // nothing; without slot cost everything is admitted.
  AdmissionProblem problem{{{0.4, 0.3}, {0.9, 0.85}}, 2, 0.5, 4};
  const Admission admission = admit(problem);
  EXPECT_EQ(admission.draft_lengths, (std::vector<std::size_t>{0, 2}));
  // (2 + .9 + .85) / (2 + 1) = 1.25; lambda = .5 x 1.25 = .625, above .4.
  EXPECT_DOUBLE_EQ(admission.rate, 1.25);
  EXPECT_DOUBLE_EQ(admission.lambda, 0.625);
  problem.slot_time = 0;
  EXPECT_EQ(admit(problem).slots, 4u);
  problem.survivals[0] = {0.3, 0.4};
  EXPECT_THROW(admit(problem), BrokenInvariant);
}

}  // namespace
}  // namespace draftproof::oracle::speed
