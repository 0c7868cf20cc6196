// Calibration: the smoke battery upholds every check with the default seed, what is stopped is
// inconclusive, and a check whose control passes is never upheld. Each check compares something
// wrong on purpose beside the oracle, which must fall: that is part of its verdict.
#include <gtest/gtest.h>

#include <set>

#include "properties/calibration/calibration.h"
#include "properties/calibration/toy_laws.h"

namespace draftproof::properties::calibration {
namespace {

TEST(Calibration, OfTheSmokeBatteryIsUpheldWithEveryControlFallen) {
  Settings settings;
  settings.battery = Battery::kSmoke;
  for (const Calibration& each : calibrations()) {
    const Finding finding = each.run(settings);
    EXPECT_EQ(verdict_of(finding), oracle::VerdictKind::kUpheld)
        << each.id << ": " << finding.seen << "; control: " << finding.control;
    EXPECT_GT(finding.runs, 0U) << each.id;
  }
}

TEST(Calibration, ThatIsStoppedIsNeverUpheld) {
  Settings settings;
  settings.battery = Battery::kSmoke;
  settings.stopped = [] { return true; };
  for (const Calibration& each : calibrations())
    EXPECT_NE(verdict_of(each.run(settings)), oracle::VerdictKind::kUpheld) << each.id;
}

TEST(Calibration, IsTheSameForTheSameSeed) {
  Settings settings;
  settings.battery = Battery::kSmoke;
  settings.seed = 5;
  const auto& uniform = calibrations().at(1);
  EXPECT_EQ(uniform.run(settings).seen, uniform.run(settings).seen);
  Settings other = settings;
  other.seed = 6;
  EXPECT_NE(uniform.run(settings).seen, uniform.run(other).seen);
}

TEST(VerdictOf, ACheckWhoseControlPassesIsInconclusive) {
  Finding finding;
  finding.holds = finding.control_falls = true;
  EXPECT_EQ(verdict_of(finding), oracle::VerdictKind::kUpheld);
  finding.control_falls = false;
  EXPECT_EQ(verdict_of(finding), oracle::VerdictKind::kInconclusive);
  finding.holds = false;
  EXPECT_EQ(verdict_of(finding), oracle::VerdictKind::kViolated);
}

TEST(Faults, AreLawsAndDifferFromTheTarget) {
  std::set<std::string> names;
  for (const Fault& fault : faults()) {
    names.insert(fault.name);
    double farthest = 0;
    for (const Context& context : toy_contexts()) {
      const Law law = fault.law(context);
      double total = 0, distance = 0;
      for (std::size_t token = 0; token < law.size(); ++token) {
        EXPECT_GE(law[token], 0) << fault.name;
        total += law[token];
        distance += std::abs(law[token] - context.target[token]) / 2;
      }
      EXPECT_NEAR(total, 1, 1e-12) << fault.name;
      farthest = std::max(farthest, distance);
    }
    EXPECT_GT(farthest, 1e-4) << fault.name;
  }
  EXPECT_EQ(names.size(), faults().size());
}

}  // namespace
}  // namespace draftproof::properties::calibration
