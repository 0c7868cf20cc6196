// False alarms: of thousands of audits of a right engine no more raise an alarm, in any check at
// any look, than the budget says. Evidence does not depend on the budget, so one set of audits is
// held against several; a bound that everybody keeps would show nothing, so its siblings break it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "oracle/family.h"
#include "toy_speculator.h"

namespace draftproof::properties::audits {
namespace {

constexpr std::uint64_t kAudits = 3000;

/// P(at least `count` of `of`) when each is one with probability `share`, exactly (binomial).
double at_least(std::uint64_t count, std::uint64_t of, double share) {
  double sum = 0;
  const auto log_factorial = [](std::uint64_t n) {
    return std::lgamma(static_cast<double>(n) + 1);
  };
  for (std::uint64_t k = count; k <= of; ++k)
    sum += std::exp(log_factorial(of) - log_factorial(k) - log_factorial(of - k) +
                    static_cast<double>(k) * std::log(share) +
                    static_cast<double>(of - k) * std::log1p(-share));
  return std::min(sum, 1.0);
}

TEST(BinomialTail, IsThatOfSmallNumbersCountedByHand) {
  EXPECT_NEAR(at_least(0, 5, 0.3), 1, 1e-12);
  EXPECT_NEAR(at_least(2, 2, 0.5), 0.25, 1e-12);
  EXPECT_NEAR(at_least(1, 3, 0.1), 1 - 0.729, 1e-12);
}

/// Largest e-value over its share of the checks: an audit's alarm is where it passes 1 / budget.
std::vector<double> log_alarms_of_right_engines() {
  std::vector<double> list;
  for (std::uint64_t seed = 1; seed <= kAudits; ++seed) {
    ToyAudit audit(Fault::kNone, seed, 3);
    audit.matrix.first_look = 8;
    audit.run(16);
    audit.settings.audits = {"baseline_law", "baseline_against_itself", "next_token_law",
                             "joint_law", "two_sample_law"};
    const auto verdicts = audit.verdicts();
    double largest = 0;
    for (const oracle::Verdict& verdict : verdicts)
      largest = std::max(largest, verdict.log_e_value.value_or(0) -
                                      std::log(static_cast<double>(verdicts.size())));
    list.push_back(largest);
  }
  return list;
}

TEST(FalseAlarms, AreNoMoreThanTheBudgetOfTheRun) {
  const std::vector<double> alarms = log_alarms_of_right_engines();
  const auto raised = [&](double budget) {
    return static_cast<std::uint64_t>(std::count_if(
        alarms.begin(), alarms.end(), [&](double each) { return each >= -std::log(budget); }));
  };
  for (const double budget : {0.1, 0.01}) {
    EXPECT_GT(at_least(raised(budget), kAudits, budget), 1e-6)
        << raised(budget) << " of " << kAudits << " at a budget of " << budget;
    RecordProperty("alarms_at_" + std::to_string(budget), std::to_string(raised(budget)));
  }
  // Siblings: the evidence moves, and an alarm that anything raises would break the bound.
  const auto moved = static_cast<std::uint64_t>(
      std::count_if(alarms.begin(), alarms.end(), [](double each) { return each > 0; }));
  EXPECT_GT(moved, 0u);
  EXPECT_LT(at_least(kAudits / 5, kAudits, 0.1), 1e-6);
}

/// Looking at a p-value again and again is what e-values spare: the same answers, each look a test
/// at the whole budget, alarm too often, and the bound says so.
TEST(FalseAlarms, BreakTheBoundWhereEveryLookSpendsTheWholeBudget) {
  constexpr double kBudget = 0.1;
  std::uint64_t alarms = 0;
  constexpr std::uint64_t kRuns = 1000;
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
    Random random(derived_seed(seed, "looks"));
    double sum = 0;
    bool is_raised = false;
    for (int n = 1; n <= 1024; ++n) {
      sum += random.unit() < 0.5 ? 1 : -1;
      const bool is_look = n >= 8 && (n & (n - 1)) == 0;
      is_raised = is_raised || (is_look && std::fabs(sum) > 1.645 * std::sqrt(n));
    }
    alarms += is_raised ? 1 : 0;
  }
  EXPECT_LT(at_least(alarms, kRuns, kBudget), 1e-6) << alarms;
}

}  // namespace
}  // namespace draftproof::properties::audits
