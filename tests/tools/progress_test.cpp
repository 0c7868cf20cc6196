// Progress lines on a clock of our own. Goal: honest numbers, and silence where none is wanted.
#include "tools/report/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace draftproof::tools::report {
namespace {

using testing::HasSubstr;

struct Shown {
  double now = 0;
  std::string text;
  ProgressReporter reporter(ProgressKind kind) {
    return ProgressReporter(
        kind, [this](const std::string& part) { text += part; }, [this] { return now; });
  }
};

RunStarted run_of(std::size_t checks) {
  RunStarted started;
  started.check_count = checks;
  return started;
}

TEST(Clock, ReadsAsMinutesAndHours) {
  EXPECT_EQ(clock_of(0), "0:00");
  EXPECT_EQ(clock_of(65.9), "1:05");
  EXPECT_EQ(clock_of(3600 * 12 + 3), "12:00:03");
}

TEST(PlainProgress, WritesALineEveryTenSecondsWithAnEstimate) {
  Shown shown;
  auto reporter = shown.reporter(ProgressKind::kPlain);
  reporter.on(run_of(3));
  reporter.on(CheckStarted{0, "law/chain"});
  shown.now = 5;
  reporter.on(CheckProgress{0, 1000, 4000});
  EXPECT_EQ(shown.text, "");
  shown.now = 10;
  reporter.on(CheckProgress{0, 2000, 4000});
  EXPECT_EQ(shown.text, "0 of 3 checks  0:10  | law/chain 2 000 / 4 000, about 0:10 left\n");
}

TEST(BarProgress, RewritesItsLineAndClearsItAtTheEnd) {
  Shown shown;
  auto reporter = shown.reporter(ProgressKind::kBar);
  reporter.on(run_of(1));
  reporter.on(CheckStarted{0, "law/chain"});
  EXPECT_THAT(shown.text, HasSubstr("law/chain"));
  EXPECT_THAT(shown.text, testing::Not(HasSubstr("\n")));
  reporter.on(RunFinished{});
  EXPECT_TRUE(shown.text.ends_with("\r\x1b[K"));
}

TEST(BarProgress, GivesNoEstimateFromNothing) {
  Shown shown;
  auto reporter = shown.reporter(ProgressKind::kBar);
  reporter.on(run_of(1));
  reporter.on(CheckStarted{0, "law/chain"});
  shown.now = 1;
  reporter.on(CheckProgress{0, 1, 1000000});
  EXPECT_THAT(shown.text, testing::Not(HasSubstr("left")));
}

TEST(NoProgress, IsSilent) {
  Shown shown;
  auto reporter = shown.reporter(ProgressKind::kNone);
  reporter.on(run_of(1));
  reporter.on(CheckStarted{0, "law/chain"});
  shown.now = 100;
  reporter.on(CheckProgress{0, 1, 2});
  reporter.on(RunFinished{});
  EXPECT_EQ(shown.text, "");
}

}  // namespace
}  // namespace draftproof::tools::report
