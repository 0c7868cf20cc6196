// The reviewer's checklist. Goal: it names properties that exist, and silence is never an answer.
#include "tools/report/checklist.h"

#include <gtest/gtest.h>

#include <set>

#include "properties/property.h"
#include "tests/tools/sample_run.h"

namespace draftproof::tools::report {
namespace {

TEST(Checklist, NamesOnlyPropertiesOfTheCatalog) {
  std::set<std::string> known;
  for (const auto& property : properties::catalog()) known.insert(property.id);
  for (const ChecklistPoint& point : checklist()) {
    for (const std::string& id : point.properties) EXPECT_TRUE(known.contains(id)) << id;
  }
}

TEST(Checklist, CallsWhatNoCheckTouchedNotExercised) {
  const ChecklistPoint point{"a", "b", {"nothing_outside_the_support"}};
  EXPECT_EQ(answer_of(point, tests::sample_run({tests::upheld_check()})), "not exercised");
  EXPECT_EQ(answer_of(point, tests::sample_run()), "violated");
  EXPECT_EQ(answer_of({"a", "b", {}}, tests::sample_run()), "not exercised");
}

TEST(Checklist, UpholdsAPointOnlyWhenAllOfItWasExercised) {
  const auto run = tests::sample_run({tests::upheld_check()});
  const std::string upheld = "identity_draft_accepts_all";
  EXPECT_EQ(answer_of({"a", "b", {upheld}}, run), "upheld");
  EXPECT_EQ(answer_of({"a", "b", {upheld, "greedy_limits"}}, run), "upheld") << "exempt";
  EXPECT_EQ(answer_of({"a", "b", {upheld, "race_free"}}, run), "inconclusive");
}

}  // namespace
}  // namespace draftproof::tools::report
