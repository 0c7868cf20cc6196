// The runner. Goal: results in the order of the jobs whatever the timing, nothing lost to a crash,
// a limit or an interrupt.
#include "tools/draftproof/check_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "reference/error.h"

namespace draftproof::tools {
namespace {

using oracle::VerdictKind;
using testing::ElementsAre;

class Recorder final : public report::Reporter {
 public:
  void on(const report::Event& event) override {
    if (const auto* check = std::get_if<report::CheckFinished>(&event)) {
      results.push_back(check->result);
    }
  }
  std::vector<std::string> ids() const {
    std::vector<std::string> names;
    for (const auto& result : results) names.push_back(result.id);
    return names;
  }
  std::vector<report::CheckResult> results;
};

void pause(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

CheckJob job(const std::string& id, VerdictKind kind, int milliseconds = 0) {
  report::CheckResult blank;
  blank.id = id;
  return {blank, [blank, kind, milliseconds](const CheckContext& context) {
            context.progress(1, 2);
            pause(milliseconds);
            report::CheckResult result = blank;
            result.verdict.kind = kind;
            return std::vector{result};
          }};
}

CheckJob throwing_job(const std::string& id, const std::function<void()>& fail) {
  CheckJob thrower = job(id, VerdictKind::kUpheld);
  thrower.run = [fail](const CheckContext&) -> std::vector<report::CheckResult> {
    fail();
    return {};
  };
  return thrower;
}

TEST(CheckRunner, ReportsInTheOrderOfTheJobsWhenTheFirstIsTheSlowest) {
  Recorder recorder;
  const auto end = run_checks({job("a", VerdictKind::kUpheld, 60), job("b", VerdictKind::kUpheld),
                               job("c", VerdictKind::kUpheld)},
                              {.workers = 2}, recorder);
  EXPECT_EQ(end, RunnerEnd::kComplete);
  EXPECT_THAT(recorder.ids(), ElementsAre("a", "b", "c"));
}

TEST(CheckRunner, KeepsTheOtherChecksWhenOneBreaksAnInvariant) {
  Recorder recorder;
  run_checks({throwing_job("a", [] { DRAFTPROOF_CHECK(1 == 2); }),
              throwing_job("b", [] { throw Error(ErrorKind::kEnvironment, "device lost"); }),
              job("c", VerdictKind::kUpheld), throwing_job("d", [] { throw 7; })},
             {.workers = 1}, recorder);
  ASSERT_THAT(recorder.ids(), ElementsAre("a", "b", "c", "d"));
  EXPECT_NE(recorder.results[3].internal_error, "");
  EXPECT_EQ(recorder.results[3].verdict.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(recorder.results[0].internal_error, testing::HasSubstr("1 == 2"));
  EXPECT_EQ(recorder.results[0].verdict.kind, VerdictKind::kInconclusive);
  EXPECT_EQ(recorder.results[1].world_error, "device lost");
  EXPECT_EQ(recorder.results[1].verdict.kind, VerdictKind::kInconclusive);
  EXPECT_EQ(recorder.results[2].verdict.kind, VerdictKind::kUpheld);
}

TEST(CheckRunner, ACheckWithoutAResultDoesNotVanish) {
  Recorder recorder;
  run_checks({throwing_job("a", [] {}), job("b", VerdictKind::kUpheld)}, {.workers = 1}, recorder);
  ASSERT_THAT(recorder.ids(), ElementsAre("a", "b"));
  EXPECT_EQ(recorder.results[0].verdict.kind, VerdictKind::kInconclusive);
  EXPECT_NE(recorder.results[0].internal_error, "");
}

TEST(CheckRunner, StopsAtTheFirstViolationInOrderWhenAsked) {
  Recorder recorder;
  run_checks({job("a", VerdictKind::kUpheld, 20), job("b", VerdictKind::kViolated),
              job("c", VerdictKind::kViolated), job("d", VerdictKind::kUpheld)},
             {.workers = 2, .stops_at_violation = true}, recorder);
  EXPECT_THAT(recorder.ids(), ElementsAre("a", "b"));
}

TEST(CheckRunner, CallsAJobThatTheTimeLimitCutsOffInconclusive) {
  Recorder recorder;
  run_checks({job("a", VerdictKind::kUpheld)}, {.is_time_up = [] { return true; }}, recorder);
  ASSERT_THAT(recorder.ids(), ElementsAre("a"));
  EXPECT_EQ(recorder.results[0].verdict.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(recorder.results[0].verdict.evidence, testing::HasSubstr("time limit"));
}

TEST(CheckRunner, TellsARunningCheckToStopAndReportsWhatItSaw) {
  Recorder recorder;
  const auto interrupted = std::make_shared<std::atomic<bool>>(false);
  CheckJob waiting = job("a", VerdictKind::kUpheld);
  waiting.run = [blank = waiting.blank, interrupted](const CheckContext& context) {
    *interrupted = true;
    while (!context.stopped()) pause(1);
    return std::vector{blank};
  };
  const auto end = run_checks(
      {waiting, job("b", VerdictKind::kUpheld)},
      {.workers = 1, .interrupted = [interrupted] { return interrupted->load(); }}, recorder);
  EXPECT_EQ(end, RunnerEnd::kInterrupted);
  EXPECT_THAT(recorder.ids(), ElementsAre("a"));
}

TEST(CheckRunner, DoesNotWaitForACheckThatIgnoresAnInterrupt) {
  Recorder recorder;
  const auto release = std::make_shared<std::atomic<bool>>(false);
  CheckJob deaf = job("a", VerdictKind::kUpheld);
  deaf.run = [blank = deaf.blank, release](const CheckContext&) {
    while (!*release) pause(1);
    return std::vector{blank};
  };
  const auto end =
      run_checks({deaf}, {.interrupted = [] { return true; }, .grace_seconds = 0.05}, recorder);
  // An interrupt that comes before the job began leaves nothing to abandon.
  EXPECT_NE(end, RunnerEnd::kComplete);
  EXPECT_THAT(recorder.ids(), ElementsAre());
  *release = true;
}

}  // namespace
}  // namespace draftproof::tools
