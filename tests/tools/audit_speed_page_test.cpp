// The section on speed of an audit. Goal: times in the unit that is read at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tools/audit/busy_clock.h"
#include "tools/audit/speed.h"

namespace draftproof::tools::audit {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(SpeedSection, WritesShortTimesInMillisecondsAndLongOnesInSeconds) {
  properties::audits::Matrix matrix;
  matrix.settings.resize(1);
  matrix.cases.resize(1);
  matrix.cases[0].id = "t1/a";
  properties::audits::Evidence evidence;
  const auto add = [&](properties::Arm arm, double seconds) {
    properties::Transcript transcript;
    transcript.key = {arm, "t1/a", 0, 0};
    transcript.completion.token_ids = {0, 1};
    transcript.completion.timing = properties::Timing{.due = 1, .sent = 1, .ended = 1 + seconds};
    evidence.add(transcript);
  };
  add(properties::Arm::kBaseline, 0.25);
  add(properties::Arm::kSpeculative, 5.5);
  const auto section = speed_section(matrix, evidence, {});
  ASSERT_TRUE(section);
  EXPECT_THAT(section->text, HasSubstr(" 250 ms "));
  EXPECT_THAT(section->text, HasSubstr(" 5.5 s "));
  EXPECT_THAT(section->text, Not(HasSubstr("e+03")));
}

/// Two arms that take turns: each answers three tokens, one by one, in 1 s and 3 s of latency.
class Turns : public testing::Test {
 protected:
  Turns() {
    matrix_.settings.resize(1);
    matrix_.cases.resize(1);
    matrix_.cases[0].id = "t1/a";
    for (const double begin : {0.0, 10.0}) {
      add(properties::Arm::kBaseline, begin, {1.0, 2.0, 3.0});
      add(properties::Arm::kSpeculative, begin + 3, {0.5, 0.75, 1.0});
    }
  }
  void add(properties::Arm arm, double due, const std::vector<double>& pieces) {
    properties::Transcript transcript;
    transcript.key = {arm, "t1/a", static_cast<std::uint64_t>(due / 10), 0};
    transcript.completion.token_ids.assign(3, 0);
    properties::Timing timing{.due = due, .sent = due, .ended = due + pieces.back()};
    for (const double piece : pieces) timing.token_times.push_back(due + piece);
    timing.token_counts.assign(3, 1);
    transcript.completion.timing = timing;
    evidence_.add(transcript);
  }

  properties::audits::Matrix matrix_;
  properties::audits::Evidence evidence_;
};

TEST_F(Turns, CostNoArmTheTimeOfTheOther) {
  const CohortSpeed all = speeds_of(matrix_, evidence_, 0.95).front();
  EXPECT_NEAR(all.baseline.throughput.value(), 1, 1e-9);
  EXPECT_NEAR(all.speculative.throughput.value(), 3, 1e-9);
  EXPECT_FALSE(all.baseline.goodput) << "nobody stated a level";
  const auto trace = trace_of(matrix_, evidence_);
  for (const auto& request : trace.requests)
    EXPECT_LT(request.arrival.value(), 4) << "the wall clock runs to 10";
}

TEST_F(Turns, HaveTheGoodputOfAnswersWithinTheStatedLevel) {
  // Between tokens: 1 s in the baseline, .25 s with drafts; first tokens after 1 s and .5 s.
  const auto goodput = [&](const ServiceLevel& level) {
    const CohortSpeed all = speeds_of(matrix_, evidence_, 0.95, level).front();
    return std::pair(all.baseline.goodput.value(), all.speculative.goodput.value());
  };
  EXPECT_EQ(goodput({.ttft = 2, .itl = 2}), std::pair(1.0, 3.0));
  EXPECT_EQ(goodput({.ttft = {}, .itl = 0.5}), std::pair(0.0, 3.0));
  EXPECT_EQ(goodput({.ttft = 0.1, .itl = {}}), std::pair(0.0, 0.0));
  const auto section = speed_section(matrix_, evidence_, {"", {.ttft = 2, .itl = 0.5}});
  ASSERT_TRUE(section);
  EXPECT_THAT(section->text, HasSubstr("Goodput (first token within 2 s, between tokens at most "
                                       "500 ms in the mean)"));
  EXPECT_THAT(section->text, HasSubstr("baseline 0 (0%), speculative 3 (100%)"));
}

TEST_F(Turns, HaveNoGoodputWhereAnAnswerDoesNotTell) {
  properties::Transcript silent;
  silent.key = {properties::Arm::kSpeculative, "t1/a", 7, 0};
  silent.completion.token_ids = {0, 1};
  silent.completion.timing = properties::Timing{.due = 20, .sent = 20, .ended = 21};
  evidence_.add(silent);
  const CohortSpeed all = speeds_of(matrix_, evidence_, 0.95, {.ttft = 2, .itl = {}}).front();
  EXPECT_TRUE(all.baseline.goodput);
  EXPECT_FALSE(all.speculative.goodput);
  EXPECT_TRUE(all.speculative.throughput);
}

TEST_F(Turns, CountAnswersThatFailedAsNoneWithinTheLevel) {
  properties::Transcript broken;
  broken.key = {properties::Arm::kSpeculative, "t1/a", 7, 0};
  broken.completion.end = properties::CompletionEnd::kFailed;
  broken.completion.timing = properties::Timing{.due = 20, .sent = 20, .ended = 21};
  evidence_.add(broken);
  const ArmSpeed speed =
      speeds_of(matrix_, evidence_, 0.95, {.ttft = 2, .itl = {}}).front().speculative;
  EXPECT_NEAR(speed.good_share.value(), 2.0 / 3, 1e-9);
  EXPECT_NEAR(speed.goodput.value(), 2, 1e-9) << "six tokens in the three seconds of all requests";
}

TEST(BusyClock, RunsWhileSomethingIsInFlight) {
  const BusyClock clock({{10, 12}, {1, 3}, {2, 5}, {7, 6}, {5, 6}});
  EXPECT_DOUBLE_EQ(clock.total(), 7);
  for (const auto& [time, busy] :
       std::map<double, double>{{0, 0}, {1, 0}, {2.5, 1.5}, {6, 5}, {8, 5}, {11, 6}, {99, 7}})
    EXPECT_DOUBLE_EQ(clock.at(time), busy) << time;
  EXPECT_EQ(BusyClock({}).total(), 0);
  EXPECT_EQ(BusyClock({}).at(3), 0);
}

}  // namespace
}  // namespace draftproof::tools::audit
