// The gate of an audit, and what is typed at its edges: accepted findings, shards, arrivals. Goal:
// no way to a green exit code that nobody chose, and every slip is named where it was typed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>

#include "reference/error.h"
#include "tests/tools/sample_run.h"
#include "tools/audit/arrivals.h"
#include "tools/audit/gate.h"
#include "tools/audit/shard.h"

namespace draftproof::tools::audit {
namespace {

using oracle::VerdictKind;
using report::CheckResult;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CheckResult check(VerdictKind kind, const std::string& setting = "t1") {
  return tests::audit_check(kind, setting);
}

ExitCode code(std::vector<CheckResult> checks, const GateSettings& settings = {}) {
  return judge_gate(settings, "2026-11-30", checks).code;
}

std::string complaint(const std::function<void()>& use) {
  try {
    use();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string file(const std::string& content) {
  const auto path =
      std::filesystem::temp_directory_path() / ("draftproof-gate-" + std::to_string(::getpid()));
  std::ofstream(path) << content;
  return path.string();
}

TEST(Gate, AViolationDominatesAndSilenceIsNoAnswer) {
  EXPECT_EQ(code({check(VerdictKind::kUpheld)}), ExitCode::kUpheld);
  EXPECT_EQ(code({check(VerdictKind::kUpheld), check(VerdictKind::kInconclusive, "t2")}),
            ExitCode::kInconclusive);
  EXPECT_EQ(code({check(VerdictKind::kViolated), check(VerdictKind::kInconclusive, "t2")}),
            ExitCode::kViolated);
  EXPECT_EQ(code({}), ExitCode::kInconclusive);
  GateSettings lenient;
  lenient.inconclusive_is_failure = false;
  EXPECT_EQ(code({check(VerdictKind::kInconclusive)}, lenient), ExitCode::kUpheld);
  EXPECT_EQ(code({check(VerdictKind::kViolated)}, lenient), ExitCode::kViolated);
}

TEST(Gate, ARequiredClaimNeedsACheckThatShowsIt) {
  GateSettings required;
  required.required_claims = {"support-safe"};
  // A stronger claim that is upheld implies a weaker one; the other way round nothing follows.
  EXPECT_EQ(code({check(VerdictKind::kUpheld)}, required), ExitCode::kUpheld);
  required.required_claims = {"sequence-lossless"};
  std::vector<CheckResult> checks = {check(VerdictKind::kUpheld)};
  const GateResult result = judge_gate(required, "2026-11-30", checks);
  EXPECT_EQ(result.code, ExitCode::kInconclusive);
  EXPECT_THAT(result.reasons, ElementsAre(HasSubstr("sequence-lossless: no check speaks of it")));
  // Claims that nobody asked for may stay open.
  required.required_claims = {"marginal-lossless"};
  CheckResult other = check(VerdictKind::kInconclusive, "t2");
  other.verdict.claim = oracle::Claim::kSeedStable;
  EXPECT_EQ(code({check(VerdictKind::kUpheld), other}, required), ExitCode::kUpheld);
}

TEST(Gate, SideClaimsMayStayOpenUnlessTheyAreAskedFor) {
  CheckResult seeds = check(VerdictKind::kInconclusive, "t2");
  seeds.verdict.claim = oracle::Claim::kSeedStable;
  EXPECT_EQ(code({check(VerdictKind::kUpheld), seeds}), ExitCode::kUpheld);
  EXPECT_EQ(code({seeds}), ExitCode::kInconclusive) << "nothing else was shown";
  GateSettings required;
  required.required_claims = {"seed-stable"};
  EXPECT_EQ(code({check(VerdictKind::kUpheld), seeds}, required), ExitCode::kInconclusive);
  seeds.verdict.kind = VerdictKind::kViolated;
  EXPECT_EQ(code({check(VerdictKind::kUpheld), seeds}), ExitCode::kViolated);
}

TEST(Gate, WhatWasNotExercisedIsNeverGreen) {
  CheckResult idle = check(VerdictKind::kInconclusive, "t2");
  idle.verdict.label = oracle::Label::kNotExercised;
  EXPECT_EQ(code({idle}), ExitCode::kInconclusive);
  EXPECT_EQ(code({idle, check(VerdictKind::kUpheld)}), ExitCode::kUpheld);
}

TEST(KnownFindings, AreReadWithAReasonAndADay) {
  const auto known =
      read_known(file("[[finding]]\nid = \"next_token_law/t1\"\nreason = "
                      "\"engine#1\"\nexpires = 2027-03-01\n"));
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].expires, "2027-03-01");
  EXPECT_THAT(known[0].place, testing::EndsWith(":1"));
  const auto words = [](const std::string& text) {
    return complaint([&] { read_known(file(text)); });
  };
  EXPECT_THAT(words("[[finding]]\nid = \"a\"\nreason = \"b\"\n"), HasSubstr("lacks 'expires'"));
  EXPECT_THAT(words("[[finding]]\nid = \"a\"\nreson = \"b\"\n"), HasSubstr(":3: there is no key"));
  EXPECT_THAT(words("[[finding]]\nid = \"a\"\nexpires = \"soon\"\n"), HasSubstr("is no date"));
  EXPECT_THAT(words("[[findings]]\nid = \"a\"\n"), HasSubstr("[[finding]]"));
  EXPECT_THAT(words("a = "), HasSubstr("no TOML"));
  const std::string one = "[[finding]]\nid = \"a\"\nreason = \"b\"\nexpires = 2027-03-01\n";
  EXPECT_THAT(words(one + one), HasSubstr("accepted already"));
}

TEST(KnownFindings, AcceptForATimeAndFailWhenTheirFindingIsGone) {
  GateSettings settings;
  settings.known = {{"next_token_law/t*", "engine#1", "2026-11-30", "known.toml:1"}};
  std::vector<CheckResult> checks = {check(VerdictKind::kViolated), check(VerdictKind::kUpheld)};
  EXPECT_EQ(judge_gate(settings, "2026-11-30", checks).code, ExitCode::kUpheld);
  EXPECT_THAT(checks[0].accepted, HasSubstr("engine#1"));
  EXPECT_EQ(checks[0].verdict.kind, VerdictKind::kViolated);
  EXPECT_THAT(checks[1].accepted, IsEmpty());

  checks = {check(VerdictKind::kViolated)};
  GateResult late = judge_gate(settings, "2026-12-01", checks);
  EXPECT_EQ(late.code, ExitCode::kViolated);
  EXPECT_THAT(late.reasons[0], HasSubstr("ended on 2026-11-30"));

  checks = {check(VerdictKind::kUpheld)};
  late = judge_gate(settings, "2026-11-30", checks);
  EXPECT_EQ(late.code, ExitCode::kViolated);
  EXPECT_THAT(late.reasons[0], HasSubstr("no longer found: remove the entry"));

  checks = {check(VerdictKind::kInconclusive)};
  EXPECT_EQ(judge_gate(settings, "2026-11-30", checks).code, ExitCode::kInconclusive);
}

TEST(Shards, AreTypedOrTakenFromTheScheduler) {
  EXPECT_EQ(shard_from("2/8").index, 1u);
  EXPECT_EQ(shard_from("2/8").count, 8u);
  for (const char* wrong : {"0/8", "9/8", "2", "a/b", "2/", "/8", "-1/8", "2/8/1", "1/0", ""})
    EXPECT_THAT(complaint([&] { shard_from(wrong); }), HasSubstr("--shard")) << wrong;
  for (const char* name : {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT",
                           "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "JOB_COMPLETION_INDEX"})
    ::unsetenv(name);
  EXPECT_THAT(complaint([] { shard_from("auto/4"); }), HasSubstr("JOB_COMPLETION_INDEX"));
  ::setenv("JOB_COMPLETION_INDEX", "3", 1);
  EXPECT_EQ(shard_from("auto/4").index, 3u);
  EXPECT_THAT(complaint([] { shard_from("auto"); }), HasSubstr("auto/8"));
  EXPECT_THAT(complaint([] { shard_from("auto/3"); }), HasSubstr("number 3 from 0, of 3"));
  ::setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  ::setenv("OMPI_COMM_WORLD_SIZE", "5", 1);
  EXPECT_EQ(shard_from("auto").index, 1u);
  EXPECT_EQ(shard_from("auto").count, 5u);
  ::setenv("SLURM_ARRAY_TASK_ID", "12", 1);
  ::setenv("SLURM_ARRAY_TASK_MIN", "10", 1);
  ::setenv("SLURM_ARRAY_TASK_COUNT", "6", 1);
  EXPECT_EQ(shard_from("auto").index, 2u);
  EXPECT_EQ(shard_from("auto").count, 6u);
  ::setenv("SLURM_ARRAY_TASK_ID", "x", 1);
  EXPECT_THAT(complaint([] { shard_from("auto"); }), HasSubstr("SLURM_ARRAY_TASK_ID"));
  for (const char* name : {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT",
                           "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "JOB_COMPLETION_INDEX"})
    ::unsetenv(name);
}

TEST(Arrivals, AreAFunctionOfTheirSeedWithTheRateThatWasAskedFor) {
  const Arrivals one("poisson:4", 7), same("poisson:4", 7), other("poisson:4", 8);
  EXPECT_EQ(one.gap(0), 0);
  double sum = 0;
  bool has_another = false;
  constexpr int kCount = 20000;
  for (int i = 1; i <= kCount; ++i) {
    const auto index = static_cast<std::size_t>(i);
    EXPECT_EQ(one.gap(index), same.gap(index));
    has_another = has_another || one.gap(index) != other.gap(index);
    sum += one.gap(index);
  }
  EXPECT_TRUE(has_another);
  // A fixed seed; the mean of 20,000 exponentials is within six deviations.
  EXPECT_NEAR(sum / kCount, 0.25, 6 * 0.25 / std::sqrt(kCount));
}

TEST(Arrivals, OfAFileAreReadAndBeginAnew) {
  const Arrivals recorded(file("0.5\n0.75\n\n2\n"), 1);
  EXPECT_EQ(recorded.gap(1), 0.25);
  EXPECT_EQ(recorded.gap(2), 1.25);
  EXPECT_EQ(recorded.gap(4), 0.25);
  const auto words = [](const std::string& text) {
    return complaint([&] { Arrivals(file(text), 1); });
  };
  EXPECT_THAT(words("1\n0.5\n"), HasSubstr(":2: an arrival lies before"));
  EXPECT_THAT(words("1 2\n"), HasSubstr(":1: \"1 2\" is no time"));
  EXPECT_THAT(words("nan\n"), HasSubstr("is no time"));
  EXPECT_THAT(words("-1\n"), HasSubstr("is no time"));
  EXPECT_THAT(words(""), HasSubstr("holds no arrival"));
  for (const char* wrong : {"poisson:", "poisson:0", "poisson:-1", "poisson:x", "poisson:1x"})
    EXPECT_THAT(complaint([&] { Arrivals(wrong, 1); }), HasSubstr("poisson:2.5")) << wrong;
}

}  // namespace
}  // namespace draftproof::tools::audit
