// The explore command. Goal: a right world is upheld, a fault is violated with a shortest history
// that says what was expected, limits are inconclusive, and what is written conforms to its schema.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reference/error.h"
#include "tests/tools/schema.h"
#include "tools/draftproof/explore_result.h"

namespace draftproof::tests {
namespace {

using testing::HasSubstr;
using tools::ExitCode;
using tools::explore_json;
using tools::explore_page;
using tools::ExploreResult;
using tools::ExploreSettings;

ExploreResult result_of(const ExploreSettings& settings) {
  return tools::explore_result(settings, {});
}

std::string refusal_of(const ExploreSettings& settings) {
  try {
    static_cast<void>(result_of(settings));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Explore, UpholdsAWorldOfTheRightEngine) {
  ExploreSettings settings;
  settings.world = "max-tokens-3";
  const ExploreResult result = result_of(settings);
  EXPECT_EQ(result.exit_code(), ExitCode::kUpheld);
  const std::string page = explore_page(result);
  EXPECT_THAT(page, HasSubstr("clean, complete"));
  EXPECT_THAT(page, HasSubstr("1 of 1 worlds"));
  EXPECT_THAT(page, HasSubstr("| verify"));
}

TEST(Explore, ShowsAFaultByAShortestHistory) {
  ExploreSettings settings;
  settings.bug = "rollback_does_nothing";
  const ExploreResult result = result_of(settings);
  EXPECT_EQ(result.exit_code(), ExitCode::kViolated);
  const std::string page = explore_page(result);
  for (const char* part : {"DIVERGES", "Let        rule", "  1. submit 0", "Expected   KV length",
                           "Observed", "Check      target cells", "B081", "Effect     lossy",
                           "Replay     draftproof explore --bug rollback_does"})
    EXPECT_THAT(page, HasSubstr(part));
}

TEST(Explore, FindsNothingInAControl) {
  ExploreSettings settings;
  settings.bug = "last_page_not_published";
  settings.depth = 5;
  const ExploreResult result = result_of(settings);
  EXPECT_EQ(result.exit_code(), ExitCode::kUpheld);
  EXPECT_THAT(explore_page(result), HasSubstr("No state differs"));
}

TEST(Explore, IsInconclusiveWhereTimeEndsItAndSaysThatItWasInterrupted) {
  ExploreSettings settings;
  settings.world = "pages-1";
  ExploreResult cut = tools::explore_result(settings, [] { return true; });
  EXPECT_EQ(cut.exit_code(), ExitCode::kInterrupted);
  EXPECT_THAT(explore_page(cut), HasSubstr("clean, cut short"));
  cut.is_interrupted = false;  // it was time that ended it
  EXPECT_EQ(cut.exit_code(), ExitCode::kInconclusive);
  cut.explorations.front().result.exception = "broken";
  EXPECT_EQ(cut.exit_code(), ExitCode::kViolated);
}

TEST(Explore, SoaksAndPrintsItsSeed) {
  ExploreSettings settings;
  settings.soak_tokens = 3000;
  settings.seed = "9";
  const ExploreResult result = result_of(settings);
  EXPECT_EQ(result.exit_code(), ExitCode::kUpheld);
  EXPECT_THAT(explore_page(result), HasSubstr("seed 9: clean, and nothing is left"));
}

TEST(Explore, RefusesWhatIsNotThereAndSaysWhatIs) {
  ExploreSettings world, bug, seed;
  world.world = "flat";
  bug.bug = "none_such";
  seed.seed = "x";
  seed.world = "eos";
  EXPECT_THAT(refusal_of(world), HasSubstr("pages-1"));
  EXPECT_THAT(refusal_of(bug), HasSubstr("--bug: \"none_such\" is no fault of an engine, see: "
                                         "draftproof list state-faults"));
  EXPECT_THAT(refusal_of(seed), HasSubstr("--seed"));
}

TEST(Explore, WritesWhatItsSchemaSays) {
  if (!can_validate()) GTEST_SKIP() << "python3-jsonschema is not installed";
  ExploreSettings world, bug, soak;
  world.world = "max-tokens-3";
  bug.bug = "trim_by_a_stale_count";  // throws
  soak.soak_tokens = 1000;
  for (const ExploreSettings& settings : {world, bug, soak})
    EXPECT_EQ(schema_complaint("explore.schema.json", explore_json(result_of(settings))), "");
  auto broken = nlohmann::json::parse(explore_json(result_of(world)));
  broken["worlds"][0].erase("states");
  EXPECT_THAT(schema_complaint("explore.schema.json", broken.dump()), HasSubstr("states"));
}

}  // namespace
}  // namespace draftproof::tests
