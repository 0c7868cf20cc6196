// Scores of a task and valid answers as the budget of a mode that is declared lossy. Goal: budgets
// that are kept are upheld, those that are not are violated, few samples leave both open; whatever
// a log or a command does wrong is named, and never counted.
#include "tools/audit/task_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "reference/error.h"
#include "tools/audit/approximate_checks.h"

namespace draftproof::tools::audit {
namespace {

namespace fs = std::filesystem;
using oracle::VerdictKind;
using properties::Arm;
using properties::audits::Evidence;
using properties::audits::JudgeSettings;
using properties::audits::Matrix;
using testing::HasSubstr;

std::string error_of(const std::function<void()>& use) {
  try {
    use();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class TaskScores : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("draftproof-scores-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    matrix_.settings = {{.id = "t1"}};
    matrix_.settings[0].request.prompt = {1};
    matrix_.cases.resize(1);
    matrix_.cases[0].id = "t1/one";
    matrix_.cases[0].request = matrix_.settings[0].request;
    judge_.lossy = {"synthetic acceptance", "the configuration", {}};
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path file(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name) << content;
    return folder_ / name;
  }

  /// A log of so many documents, the first `solved` of which are right.
  fs::path log(const std::string& name, int solved, int count) const {
    std::string lines;
    for (int i = 0; i < count; ++i)
      lines += R"({"doc_id": )" + std::to_string(i) +
               R"(, "doc_hash": "h", "filter": "strict-match", "metrics": ["exact_match"], )" +
               R"("resps": [["7"]], "exact_match": )" + (i < solved ? "1.0" : "0.0") + "}\n";
    return file(name, lines);
  }

  void answer(Arm arm, const std::vector<std::string>& texts,
              properties::CompletionEnd end = properties::CompletionEnd::kStop) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      properties::Transcript transcript{
          .key = {arm, "t1/one", i, 0}, .request = matrix_.settings[0].request, .completion = {}};
      transcript.completion.token_ids = {2};
      transcript.completion.text = texts[i];
      transcript.completion.end = end;
      evidence_.add(transcript);
    }
  }

  report::CheckResult only_check(const ApproximateGate& gate, const std::string& why = "") const {
    ApproximateOrder order{.gate = gate,
                           .matrix = matrix_,
                           .evidence = evidence_,
                           .judge = judge_,
                           .false_alarms = 0.01,
                           .folder = folder_,
                           .time_limit_s = 5};
    order.why_not_started = why;
    const auto checks = approximate_checks(order);
    EXPECT_EQ(checks.size(), 1u);
    return checks.empty() ? report::CheckResult{} : checks.front();
  }

  ScoreSeries scored(const std::string& command) const {
    return run_score_command({command, folder_ / "it's", 5}, matrix_, evidence_);
  }

  fs::path folder_;
  Matrix matrix_;
  Evidence evidence_;
  JudgeSettings judge_;
};

TEST_F(TaskScores, OfLogsAreJudgedByTheBudgetThatWasDeclared) {
  const auto kind = [&](int solved, int count, double budget) {
    ApproximateGate gate;
    gate.task_score_drop = budget;
    gate.score_logs = {log("off", count * 8 / 10, count), log("on", solved, count)};
    const auto check = only_check(gate);
    EXPECT_EQ(check.verdict.label, oracle::Label::kLossyByDesign);
    EXPECT_EQ(check.verdict.witness.has_value(), check.verdict.kind == VerdictKind::kViolated);
    return check.verdict.kind;
  };
  EXPECT_EQ(kind(790, 1000, 0.05), VerdictKind::kUpheld);
  EXPECT_EQ(kind(600, 1000, 0.05), VerdictKind::kViolated);
  EXPECT_EQ(kind(7, 10, 0.05), VerdictKind::kInconclusive);
}

TEST_F(TaskScores, PairFiltersAndMetricsApart) {
  const std::string lines =
      "{\"doc_id\": 3, \"filter\": \"a\", \"exact_match\": 1, \"bleu\": 31.5, \"ter\": 2}\n"
      "{\"doc_id\": 3, \"filter\": \"b\", \"exact_match\": true, \"bleu\": 30}\n";
  const auto list = read_score_logs(file("x", lines), file("y", lines));
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[0].name, "bleu,a");
  EXPECT_FALSE(list[0].is_bounded);
  EXPECT_EQ(list[3].name, "exact_match,b");
  EXPECT_TRUE(list[3].is_bounded);
  EXPECT_EQ(list[3].scores.front().baseline, 1);
}

TEST_F(TaskScores, OfBadLogsAreRefusedByWhatIsWrong) {
  const fs::path good = log("good", 1, 2);
  const auto with = [&](const std::string& lines) {
    return error_of([&] { read_score_logs(good, file("bad", lines)); });
  };
  const std::string start = R"({"doc_id": 0, "doc_hash": "h", "filter": "strict-match", )";
  EXPECT_THAT(with(""), HasSubstr("has no samples"));
  EXPECT_THAT(with("words\n"), HasSubstr("bad:1: should be a JSON object"));
  EXPECT_THAT(with("{\"exact_match\": 1}\n"), HasSubstr("lacks doc_id"));
  EXPECT_THAT(with(start + "\"word_perplexity\": 1}\n"), HasSubstr("no metric"));
  EXPECT_THAT(with(start + "\"exact_match\": 1}\n"), HasSubstr("lacks doc_id 1"));
  const std::string one = start + "\"exact_match\": 1}\n";
  EXPECT_THAT(with(one + one), HasSubstr("bad:2: doc_id 0 came before"));
  EXPECT_THAT(error_of([&] { read_score_logs(good, folder_ / "absent"); }), HasSubstr("absent"));
  std::string other;
  for (const char* id : {"0", "1"})
    other += std::string("{\"doc_id\": ") + id +
             ", \"doc_hash\": \"i\", \"filter\": \"strict-match\", \"exact_match\": 1}\n";
  EXPECT_THAT(with(other), HasSubstr("another document"));
}

TEST_F(TaskScores, OfACommandAreItsNumbersOfPairedAnswers) {
  answer(Arm::kBaseline, {"a", "b", "c"});
  answer(Arm::kSpeculative, {"a", "b"});
  const auto series = scored(
      "while read line; do echo \"$line\" | grep -c '\"text\":\"a\"'; done; "
      "test -n \"$DRAFTPROOF_ARM\"");
  ASSERT_EQ(series.scores.size(), 2u);
  EXPECT_EQ(series.scores[0].baseline, 1);
  EXPECT_EQ(series.scores[1].speculative, 0);
  EXPECT_TRUE(series.is_bounded);
  EXPECT_FALSE(scored("printf '7\\n9'").is_bounded);  // a last line without its end counts
}

TEST_F(TaskScores, OfACommandThatGoesWrongAreNone) {
  answer(Arm::kBaseline, {"a", "b"});
  answer(Arm::kSpeculative, {"a", "b"});
  const auto with = [&](const std::string& command) { return error_of([&] { scored(command); }); };
  EXPECT_THAT(with("echo 1"), HasSubstr("printed 1 numbers for 2 samples"));
  EXPECT_THAT(with("echo 1; echo good"), HasSubstr("its line 2 is \"good\""));
  EXPECT_THAT(with("echo 1; echo nan"), HasSubstr("its line 2 is \"nan\""));
  EXPECT_THAT(with("echo sorry >&2; exit 3"), HasSubstr("exit code 3\nsorry"));
  EXPECT_THAT(error_of([&] {
                run_score_command({"sleep 60", folder_, 0.2}, matrix_, evidence_);
              }),
              HasSubstr("gave 0 of 2 numbers in 0.2 s"));
  ApproximateGate gate;
  gate.task_score_drop = 0.1;
  gate.score_command = "exit 3";
  const auto check = only_check(gate);
  EXPECT_EQ(check.verdict.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(check.world_error, HasSubstr("exit code 3"));
  EXPECT_THAT(only_check(gate, "not from a file").verdict.evidence, HasSubstr("not from a file"));
}

TEST_F(TaskScores, AreNoBudgetForWhatIsNotLossy) {
  ApproximateGate gate;
  gate.schema_valid = 0.9;
  need_lossy_mode(gate, judge_);
  judge_.lossy.reset();
  EXPECT_THAT(error_of([&] { need_lossy_mode(gate, judge_); }), HasSubstr("declared_lossy"));
  EXPECT_TRUE(approximate_checks({gate, matrix_, evidence_, judge_, 0.01, folder_}).empty());
}

TEST_F(TaskScores, CountValidAnswersByGrammarElseAsJson) {
  ApproximateGate gate;
  gate.schema_valid = 0.9;
  const std::vector<std::string> good(100, "{\"a\": 1}");
  answer(Arm::kSpeculative, good);
  EXPECT_EQ(only_check(gate).verdict.kind, VerdictKind::kUpheld);
  matrix_.settings[0].request.grammar = "[a-z]+";
  const auto broken = only_check(gate);
  EXPECT_EQ(broken.verdict.kind, VerdictKind::kViolated);
  EXPECT_THAT(broken.verdict.evidence, HasSubstr("0 of 100 answers are valid"));
}

TEST_F(TaskScores, DoNotCountAnswersThatWereCut) {
  ApproximateGate gate;
  gate.schema_valid = 0.9;
  answer(Arm::kSpeculative, std::vector<std::string>(50, "{\"a\": "),
         properties::CompletionEnd::kLength);
  const auto check = only_check(gate);
  EXPECT_EQ(check.verdict.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(check.verdict.notes, testing::Contains(HasSubstr("50 answers were cut")));
}

/// One of a hundred is missed by nobody; with two, theirs may be those that are worse.
TEST_F(TaskScores, UpholdNothingOnWhatTooManyFailuresLeave) {
  ApproximateGate valid, drop;
  valid.schema_valid = 0.9;
  drop.task_score_drop = 0.5;
  drop.score_command = "while read line; do echo 0.75; done";
  answer(Arm::kBaseline, std::vector<std::string>(102, "{}"));
  answer(Arm::kSpeculative, std::vector<std::string>(100, "{}"));
  for (const std::uint64_t failed : {100, 101}) {
    properties::Transcript lost{.key = {Arm::kSpeculative, "t1/one", failed, 0},
                                .request = matrix_.settings[0].request,
                                .completion = {}};
    lost.completion.end = properties::CompletionEnd::kFailed;
    evidence_.add(lost);
    for (const ApproximateGate* gate : {&valid, &drop})
      EXPECT_EQ(only_check(*gate).verdict.kind,
                failed == 100 ? VerdictKind::kUpheld : VerdictKind::kInconclusive)
          << only_check(*gate).verdict.evidence;
  }
}

TEST_F(TaskScores, SettleALawThatHasNoBudgetOfItsOwn) {
  report::CheckResult law, score, lossless;
  law.verdict.label = score.verdict.label = oracle::Label::kLossyByDesign;
  law.verdict.kind = lossless.verdict.kind = VerdictKind::kViolated;
  lossless.verdict.label = oracle::Label::kUnsafe;
  const auto settled = [&](VerdictKind kind, std::optional<double> tv) {
    score.verdict.kind = kind;
    ApproximateGate gate;
    gate.tv = tv;
    std::vector<report::CheckResult> checks = {law, lossless};
    settle_by_scores(gate, {score}, checks);
    EXPECT_EQ(checks[1].verdict.kind, VerdictKind::kViolated);
    return checks[0].verdict.kind;
  };
  EXPECT_EQ(settled(VerdictKind::kUpheld, {}), VerdictKind::kUpheld);
  EXPECT_EQ(settled(VerdictKind::kViolated, {}), VerdictKind::kInconclusive);
  EXPECT_EQ(settled(VerdictKind::kUpheld, 0.1), VerdictKind::kViolated);
}

}  // namespace
}  // namespace draftproof::tools::audit
