// The section on speed of an audit. Goal: times in the unit that is read at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  const auto section = speed_section(matrix, evidence, "");
  ASSERT_TRUE(section);
  EXPECT_THAT(section->text, HasSubstr(" 250 ms "));
  EXPECT_THAT(section->text, HasSubstr(" 5.5 s "));
  EXPECT_THAT(section->text, Not(HasSubstr("e+03")));
}

}  // namespace
}  // namespace draftproof::tools::audit
