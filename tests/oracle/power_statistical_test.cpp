// Power: predicted needs against simulated ones, within a fifth; a prediction for another fault
// fails the same comparison. Medians of runs with fixed seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "oracle/bet_growth.h"
#include "oracle/distance.h"
#include "oracle/power.h"
#include "oracle/sequential.h"
#include "oracle/two_sample.h"
#include "reference/error.h"
#include "tests/oracle/sampled_laws.h"

namespace draftproof::oracle {
namespace {

using sampled::drawn;
using sampled::hardest;
using sampled::Law;
using sampled::unit;
const double kAlarm = std::log(1e9);

/// Median over runs of where `step` (which draws one sample and, when asked, tells its evidence)
/// first alarms. Looked at every three percent.
template <class Run>
double median_need(int runs, const Run& run) {
  std::vector<double> needs;
  for (int seed = 1; seed <= runs; ++seed) needs.push_back(run(static_cast<std::uint64_t>(seed)));
  std::nth_element(needs.begin(), needs.begin() + runs / 2, needs.end());
  return needs[static_cast<std::size_t>(runs / 2)];
}

bool within_a_fifth(double predicted, double seen) {
  return predicted >= .8 * seen && predicted <= 1.2 * seen;
}

template <class Draw, class Evidence>
double first_alarm(const Draw& draw, const Evidence& evidence, double level, double look = 16) {
  for (double n = 1; n < 3e6; ++n) {
    draw();
    if (n < look) continue;
    if (evidence() >= level) return n;
    look = std::ceil(look * 1.03);
  }
  return kNever;
}

TEST(SamplesToSee, IsWhatTheMixtureTakes) {
  struct Row {
    std::size_t cells;
    double distance;
  };
  for (const Row& row : {Row{2, .1}, Row{8, .05}, Row{16, .03}, Row{64, .05}}) {
    const Law truth = hardest(row.cells, row.distance);
    const Law law(row.cells, 1.0 / static_cast<double>(row.cells));
    const double seen = median_need(15, [&](std::uint64_t seed) {
      std::mt19937_64 random(seed);
      std::vector<std::uint64_t> counts(row.cells);
      return first_alarm([&] { ++counts[drawn(truth, random)]; },
                         [&] { return log_evidence(counts, law); }, kAlarm);
    });
    const auto predicted = static_cast<double>(samples_to_see(row.distance, kAlarm, row.cells));
    EXPECT_TRUE(within_a_fifth(predicted, seen)) << row.cells << ": " << predicted << ", " << seen;
    EXPECT_FALSE(within_a_fifth(
        static_cast<double>(samples_to_see(row.distance * .8, kAlarm, row.cells)), seen));
  }
}

TEST(PairsToSee, IsWhatPairsTake) {
  struct Row {
    std::size_t cells;
    double distance;
  };
  for (const Row& row : {Row{4, .15}, Row{16, .1}, Row{64, .12}}) {
    const Law one(row.cells, 1.0 / static_cast<double>(row.cells));
    const Law other = hardest(row.cells, row.distance);
    const double seen = median_need(11, [&](std::uint64_t seed) {
      std::mt19937_64 random(seed);
      TwoSampleEvidence evidence(row.cells);
      return first_alarm(
          [&] {
            const auto x = static_cast<reference::Token>(drawn(one, random));
            const auto y = static_cast<reference::Token>(drawn(other, random));
            evidence.add({&x, 1}, {&y, 1});
          },
          [&] { return evidence.log_e_value(); }, kAlarm);
    });
    const auto predicted = static_cast<double>(pairs_to_see(row.distance, kAlarm, row.cells));
    EXPECT_TRUE(within_a_fifth(predicted, seen)) << row.cells << ": " << predicted << ", " << seen;
  }
}

TEST(SamplesToCertify, IsWhereTheBoundOfARightEngineArrives) {
  for (const std::size_t cells : {4U, 16U, 64U}) {
    const Law law(cells, 1.0 / static_cast<double>(cells));
    const std::uint64_t needed = samples_to_certify(.02, 1e-6, cells);
    std::mt19937_64 random(cells);
    double sum = 0;
    for (int run = 0; run < 5; ++run) {
      std::vector<std::uint64_t> counts(cells);
      for (std::uint64_t i = 0; i < needed; ++i) ++counts[drawn(law, random)];
      sum += certified_distance(counts, law, 1e-6) / 5;
    }
    EXPECT_NEAR(sum, .02, .002) << cells;
  }
  // Tabulated in the design for a miss of 1e-9.
  EXPECT_NEAR(static_cast<double>(samples_to_certify(1e-3, 1e-9, 8)) / 1.9e7, 1, .1);
  EXPECT_NEAR(static_cast<double>(samples_to_certify(1e-3, 1e-9, 64)) / 3.8e7, 1, .1);
  EXPECT_NEAR(static_cast<double>(samples_to_certify(1e-3, 1e-9, 4096)) / 2.7e8, 1, .1);
}

/// A fault: the law that one of the bets is named after, on a share of the tokens.
TEST(BetGrowth, ForetellsWhatConditionalEvidenceTakes) {
  std::mt19937_64 seeds(1);
  Law target(12), draft(12);
  for (Law* law : {&target, &draft}) {
    double total = 0;
    for (double& each : *law) total += each = std::pow(unit(seeds), 2) + .01;
    for (double& each : *law) each /= total;
  }
  const PreparedLaws prepared({target, draft});
  const BetLaws bets({target, draft});
  for (const std::size_t fault : {3U, 7U, 9U, 13U}) {
    for (const double share : {1.0, .3}) {
      Law actual(12);
      for (std::size_t i = 0; i < 12; ++i)
        actual[i] = target[i] * (1 - share + share * bets.ratio(fault, i));
      BetGrowth growth;
      growth.add(prepared, actual, 1);
      const auto need = [&](double (ConditionalEvidence::*log)() const, double look) {
        return median_need(31, [&](std::uint64_t seed) {
          std::mt19937_64 random(seed);
          ConditionalEvidence evidence;
          return first_alarm(
              [&] {
                const auto token = static_cast<reference::Token>(drawn(actual, random));
                evidence.add(prepared, token, unit(random));
              },
              [&] { return (evidence.*log)(); }, kAlarm, look);
        });
      };
      const auto predicted = [&](BetKind kind) {
        return static_cast<double>(growth.tokens_to_alarm(kind, kAlarm));
      };
      // Fewer than a hundred tokens are overshot by the one that alarms.
      // Looks start at a third of the need: what alarms sooner alarms there.
      const auto expect = [&](BetKind which, double (ConditionalEvidence::*log)() const,
                              const char* kind) {
        const double foretold = predicted(which), seen = need(log, std::ceil(foretold / 3));
        EXPECT_TRUE(within_a_fifth(foretold, seen) || std::fabs(foretold - seen) < 16)
            << directed_bets()[fault] << " x " << share << ", " << kind << ": " << foretold << ", "
            << seen;
      };
      expect(BetKind::kDirected, &ConditionalEvidence::log_e_value_of_directed, "directed");
      expect(BetKind::kPlaces, &ConditionalEvidence::log_e_value_of_places, "places");
      expect(BetKind::kJoint, &ConditionalEvidence::log_e_value, "joint");
    }
  }
}

TEST(Power, InvertsItself) {
  for (const std::size_t cells : {2U, 16U, 256U}) {
    for (const double distance : {.3, .05, .002}) {
      const std::uint64_t samples = samples_to_see(distance, kAlarm, cells);
      EXPECT_NEAR(visible_distance(samples, kAlarm, cells) / distance, 1, .01);
      const std::uint64_t pairs = pairs_to_see(distance, kAlarm, cells);
      EXPECT_NEAR(visible_distance_of_pairs(pairs, kAlarm, cells) / distance, 1, .01);
      EXPECT_GT(pairs, samples);
    }
  }
  EXPECT_EQ(visible_distance(0, kAlarm, 16), 1);
  // No sample sees what arithmetic may do: a fault's divergence has to be more than that.
  for (const double slack : {.001, .02}) {
    const double least = visible_distance(std::uint64_t{1} << 50, kAlarm, 16, slack);
    EXPECT_NEAR(2 * least * least / slack, 1, .05);
    EXPECT_GT(visible_distance(10000, kAlarm, 16, slack), visible_distance(10000, kAlarm, 16));
    EXPECT_GT(visible_distance_of_pairs(10000, kAlarm, 16, slack),
              visible_distance_of_pairs(10000, kAlarm, 16));
  }
  EXPECT_EQ(visible_distance_of_pairs(3, kAlarm, 16), 1);
}

TEST(Power, OfADirectedBetIsTheAlarmOverItsGrowth) {
  EXPECT_EQ(tokens_to_alarm(.01, 20, 1), 2000U);
  EXPECT_EQ(tokens_to_alarm(0, 20, 1), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(tokens_to_alarm(0, 20, 16), std::numeric_limits<std::uint64_t>::max());
  EXPECT_GT(tokens_to_alarm(.01, 20, 16), 2000U);
}

TEST(VisibleShare, IsWhatSoManyTokensWouldHaveShown) {
  const double share = visible_share(1000, 1e-3);
  EXPECT_NEAR(std::pow(1 - share, 1000), 1e-3, 1e-12);
  EXPECT_EQ(visible_share(0, .1), 1);
}

}  // namespace
}  // namespace draftproof::oracle
