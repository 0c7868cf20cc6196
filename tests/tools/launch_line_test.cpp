// Launch lines and alert rules. Goal: what a version lacks is named with its present spelling, what
// gives the law up is named as that, what was never read is not called wrong; rules are YAML with
// metrics that the engines export.
#include "tools/audit/launch_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "reference/error.h"
#include "tools/audit/alert_rules.h"

namespace draftproof::tests {
namespace {

namespace audit = tools::audit;
using audit::LaunchFinding;
using audit::LaunchReport;
using audit::Standing;
using testing::ElementsAre;
using testing::HasSubstr;

LaunchReport read(const std::string& line, const std::string& version = "") {
  return audit::read_launch_line(line, "", version);
}

const LaunchFinding* find(const LaunchReport& report, const std::string& option) {
  for (const LaunchFinding& each : report.findings)
    if (each.option == option) return &each;
  return nullptr;
}

Standing standing(const LaunchReport& report, const std::string& option) {
  const LaunchFinding* found = find(report, option);
  EXPECT_NE(found, nullptr) << option;
  return found == nullptr ? Standing::kHolds : found->standing;
}

TEST(LaunchLine, IsCutAsAShellCutsIt) {
  EXPECT_THAT(audit::words_of("a  'b c' \"d \\\" e\" f\\ g '' \\\n h='{\"k\": 1}'"),
              ElementsAre("a", "b c", "d \" e", "f g", "", "h={\"k\": 1}"));
  EXPECT_THROW(audit::words_of("a 'b"), Error);
}

TEST(LaunchLine, NamesOptionsOfLlamaThatAreGoneWithTheirPresentSpelling) {
  const std::string line = "llama-server -m a.gguf -md b.gguf --draft-max 8 --draft-min=1 --port 1";
  const LaunchReport present = read(line, "11549");
  EXPECT_EQ(standing(present, "--draft-max"), Standing::kFails);
  EXPECT_THAT(find(present, "--draft-max")->now, HasSubstr("--spec-draft-n-max"));
  EXPECT_THAT(find(present, "--draft-min")->now, HasSubstr("--spec-draft-n-min"));
  EXPECT_EQ(standing(present, "-md"), Standing::kHolds);
  EXPECT_EQ(audit::exit_code_of(present), 3);
  EXPECT_TRUE(present.starts_speculation);
  EXPECT_EQ(present.other_options, 2U);
  // The newest that was read answers where no version is told, and where it is newer.
  EXPECT_EQ(standing(read(line), "--draft-max"), Standing::kFails);
  EXPECT_EQ(standing(read(line, "b20000"), "--draft-max"), Standing::kFails);
  EXPECT_EQ(standing(read(line, "0"), "--draft-max"), Standing::kHolds);
  // Between two that were read and differ, nothing is claimed.
  EXPECT_EQ(standing(read(line, "b8000"), "--draft-max"), Standing::kNotKnown);
}

TEST(LaunchLine, WarnsOfDraftsThatAreNeverMade) {
  const LaunchReport silent = read("llama-server -m a --spec-type ngram-simple");
  EXPECT_EQ(standing(silent, "--spec-type"), Standing::kHolds);
  EXPECT_THAT(audit::page_of(silent, audit::DoctorForm::kText), HasSubstr("nothing says so"));
  EXPECT_EQ(audit::exit_code_of(silent), 2);
  const LaunchReport told =
      read("llama-server -m a --spec-type ngram-simple --spec-ngram-simple-size-n 2");
  EXPECT_EQ(audit::exit_code_of(told), 0);
}

TEST(LaunchLine, NamesWhatGivesTheLawUp) {
  EXPECT_THAT(find(read("llama-server --spec-synth-len 3"), "--spec-synth-len")->says,
              HasSubstr("LOSSY BY DESIGN"));
  const std::string sglang = "python -m sglang.launch_server --speculative-algorithm EAGLE ";
  EXPECT_THAT(find(read(sglang + "--speculative-accept-threshold-acc 0.9"),
                   "--speculative-accept-threshold-acc")
                  ->says,
              HasSubstr("LOSSY BY DESIGN"));
  EXPECT_EQ(audit::exit_code_of(read(sglang + "--speculative-accept-threshold-acc 1.0")), 0);
  const LaunchReport vllm = read(
      "vllm serve m --speculative-config '{\"method\": \"ngram\", "
      "\"rejection_sample_method\": \"synthetic\", \"num_speculative_tokens\": 3}'");
  EXPECT_THAT(find(vllm, "--speculative-config rejection_sample_method")->says,
              HasSubstr("LOSSY BY DESIGN"));
  EXPECT_EQ(audit::exit_code_of(vllm), 2);
}

TEST(LaunchLine, SendsOptionsOfVllmIntoItsJson) {
  const LaunchReport old =
      read("vllm serve m --speculative-model d --num-speculative-tokens 5", "0.32.0");
  EXPECT_THAT(find(old, "--speculative-model")->now, HasSubstr("--speculative-config"));
  EXPECT_THAT(find(old, "--num-speculative-tokens")->now, HasSubstr("num_speculative_tokens"));
  EXPECT_EQ(audit::exit_code_of(old), 3);
  const LaunchReport right = read(
      "vllm serve m --speculative-config '{\"method\":\"ngram\",\"num_speculative_tokens\":3}'");
  EXPECT_EQ(audit::exit_code_of(right), 0);
  EXPECT_TRUE(right.starts_speculation);
  EXPECT_EQ(audit::exit_code_of(read("vllm serve m --speculative-config {method:ngram}")), 3);
  EXPECT_EQ(standing(read("vllm serve m --speculative-config '{\"metod\": 1}'"),
                     "--speculative-config metod"),
            Standing::kNotKnown);
}

TEST(LaunchLine, CallsNothingWrongForBeingUnknown) {
  for (const std::string line :
       {"llama-server --spec-brand-new 3", "sglang serve --speculative-brand-new",
        "trtllm-serve m --speculative_config x", "vllm serve --spec-decode-thing 1"}) {
    const LaunchReport report = read(line);
    ASSERT_EQ(report.findings.size(), 1U) << line;
    EXPECT_EQ(report.findings[0].standing, Standing::kNotKnown) << line;
    EXPECT_EQ(audit::exit_code_of(report), 2) << line;
  }
  const LaunchReport plain = read("vllm serve m --max-model-len 4096 --seed -1");
  EXPECT_TRUE(plain.findings.empty());
  EXPECT_EQ(plain.other_options, 2U);
  EXPECT_FALSE(plain.starts_speculation);
  EXPECT_EQ(audit::exit_code_of(plain), 0);
}

TEST(LaunchLine, RefusesWhatStartsNoEngine) {
  EXPECT_THROW(read("ls -l"), Error);
  EXPECT_THROW(read(""), Error);
  EXPECT_THROW(read("vllm serve", "latest"), Error);
  EXPECT_EQ(audit::read_launch_line("./server --draft-max 3", "llama.cpp", "").findings.size(), 1U);
  EXPECT_EQ(read("SPECULATE=3 text-generation-launcher --model-id m").starts_speculation, true);
}

TEST(LaunchLine, IsWrittenAsJson) {
  const auto page = nlohmann::json::parse(
      audit::page_of(read("llama-server --draft 3"), audit::DoctorForm::kJson));
  EXPECT_EQ(page["findings"][0]["option"], "--draft");
  EXPECT_EQ(page["findings"][0]["standing"], "NO");
  EXPECT_EQ(page["exit_code"], 3);
}

TEST(AlertRules, NameMetricsOfTheirEngineAlone) {
  const std::vector<std::pair<std::string, std::string>> prefixes = {
      {"vllm", "vllm:"}, {"sglang", "sglang:"}, {"llama.cpp", "llamacpp:"}};
  for (const auto& [engine, prefix] : prefixes) {
    const std::string page = audit::alert_rules(engine);
    EXPECT_THAT(page, HasSubstr("AcceptanceNearZero")) << engine;
    EXPECT_THAT(page, HasSubstr("AcceptanceNearOne")) << engine;
    EXPECT_THAT(page, HasSubstr("AcceptedLengthDropped")) << engine;
    static const std::regex metric(R"(([a-z]+:)[a-z_]+)");
    int count = 0;
    for (std::sregex_iterator at(page.begin(), page.end(), metric), end; at != end; ++at) {
      EXPECT_EQ((*at)[1], prefix) << page;
      ++count;
    }
    EXPECT_GT(count, 2) << engine;
  }
  EXPECT_THAT(audit::alert_rules("vllm"), HasSubstr("BlocksLeaked"));
  EXPECT_THAT(audit::alert_rules("llama.cpp"), HasSubstr("DraftNotEngaged"));
  EXPECT_THROW(audit::alert_rules("tgi"), Error);
}

TEST(AlertRules, ShiftCountersInsideOfTheirRates) {
  // An offset belongs to the selector; behind a rate it is a syntax error of Prometheus.
  EXPECT_THAT(audit::alert_rules("vllm"), HasSubstr("[5m] offset 1d)"));
  EXPECT_THAT(audit::alert_rules("auto"), testing::Not(HasSubstr(") offset")));
}

TEST(AlertRules, HaveNamesOfTheirOwnInOneFileOfAllEngines) {
  const std::string page = audit::alert_rules("auto");
  static const std::regex alert(R"(- alert: (\w+))");
  std::set<std::string> names;
  int count = 0;
  for (std::sregex_iterator at(page.begin(), page.end(), alert), end; at != end; ++at) {
    EXPECT_TRUE(names.insert((*at)[1]).second) << (*at)[1];
    ++count;
  }
  EXPECT_GE(count, 12);
}

}  // namespace
}  // namespace draftproof::tests
