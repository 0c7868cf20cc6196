// draftproof speed, end to end. Goal: a trace in, an advice out; exit 0, 1 for a trace that
// contradicts itself, 3 with place and remedy for everything named or written wrongly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/end_to_end/command.h"

namespace draftproof::tests {
namespace {

using testing::HasSubstr;

const std::string kExample = DRAFTPROOF_SOURCE_DIR "/fixtures/traces/example.jsonl";
const std::string kMatrix = DRAFTPROOF_SOURCE_DIR "/fixtures/benchmarks/matrix.toml";

std::string example_text() {
  std::ifstream file(kExample);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(SpeedCommand, AdvisesEveryCohortOfTheExample) {
  const CommandResult result = draftproof({"speed", kExample});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  for (const char* line : {"cohort chat, batch 1: use", "cohort code, batch 64: switch off",
                           "cohort reasoning, batch 8: shorten", "committed per target call",
                           "ITL ratio, off / on", "the term that decides"})
    EXPECT_THAT(result.out, HasSubstr(line));
}

TEST(SpeedCommand, WritesJsonMarkdownAndCsv) {
  const auto json = nlohmann::json::parse(draftproof({"speed", kExample, "-o", "json"}).out);
  EXPECT_EQ(json["schema_version"], "draftproof/speed/1");
  EXPECT_EQ(json["cohorts"][1]["decision"]["advice"], "switch off");
  EXPECT_THAT(draftproof({"speed", kExample, "-o", "md"}).out, HasSubstr("| term |"));
  EXPECT_THAT(draftproof({"speed", kExample, "-o", "csv"}).out,
              HasSubstr("cohort,kind,id,label,value,unit\n"));
}

TEST(SpeedCommand, WritesTheGainMapToAFileOrToStdout) {
  const TemporaryFolder folder;
  const std::string map = folder.path() + "/map.csv";
  const CommandResult result =
      draftproof({"speed", kExample, "--map", map, "--length-limit", "2", "--batches", "1,8"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string csv = folder.read("map.csv");
  EXPECT_EQ(lines_in(csv), 1 + 2 * 2 * 21u);
  EXPECT_THAT(csv, testing::StartsWith("draft_length,batch,conditional_acceptance,"));
  const CommandResult piped =
      draftproof({"speed", kExample, "--map", "-", "--length-limit", "2", "--batches", "1,8"});
  EXPECT_EQ(piped.out, csv);
}

TEST(SpeedCommand, RecomputesThePublishedNumbers) {
  const CommandResult result = draftproof({"speed", "--examples"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("best-length-0.9-0.05"));
  EXPECT_THAT(result.out, testing::Not(HasSubstr("| NO ")));
}

TEST(SpeedCommand, ExpandsTheBenchmarkMatrix) {
  const CommandResult result = draftproof({"speed", "--matrix", kMatrix, "-o", "csv"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, testing::StartsWith("run,draft_length,method,batch,context,"));
  EXPECT_GT(lines_in(result.out), 40u);
}

TEST(SpeedCommand, EndsWithOneWhenCountersContradictEachOther) {
  const TemporaryFolder folder;
  std::string text = example_text();
  const std::string from = "\"drafted\": 4, \"accepted\": ";
  text.replace(text.find(from), from.size() + 1, "\"drafted\": 4, \"accepted\": 7");
  const std::string file = folder.write("t.jsonl", text);
  const CommandResult result = draftproof({"speed", file});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("BROKEN"));
  EXPECT_THAT(result.out, HasSubstr("request chat-0, iteration 0, line "));
  EXPECT_THAT(result.out, HasSubstr("cohort chat, batch 1: inconclusive"));
  EXPECT_THAT(result.out, HasSubstr("repair the counters first"));
}

TEST(SpeedCommand, ListsDamagedLinesWhenToldToGoOn) {
  const TemporaryFolder folder;
  // Cut inside the last line, as a crash leaves it.
  std::string text = example_text();
  text.resize(text.size() - 40);
  const std::string file = folder.write("t.jsonl", text);
  const CommandResult refused = draftproof({"speed", file});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, HasSubstr("t.jsonl:559: the line ends inside its JSON"));
  const CommandResult listed = draftproof({"speed", file, "--allow-damaged"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("1 damaged lines left out"));
  EXPECT_THAT(listed.out, HasSubstr("line 559"));
}

struct Wrong {
  std::string name;
  std::vector<std::string> arguments;
  std::string place, remedy;
};

std::vector<Wrong> wrong_words() {
  return {
      {"NoTrace", {"speed"}, "speed: ", "TRACE"},
      {"TraceAndExamples", {"speed", kExample, "--examples"}, "speed: ", "name one of"},
      {"MissingFile", {"speed", "absent.jsonl"}, "absent.jsonl: no such file", "path"},
      {"MissingMatrix", {"speed", "--matrix", "absent.toml"}, "absent.toml: no such file", "path"},
      {"NoJson", {"speed", kMatrix}, "matrix.toml:1: ", "one JSON object a line"},
      {"MapWithoutTrace", {"speed", "--examples", "--map", "-"}, "--map: ", "trace"},
      {"UnknownFormat", {"speed", kExample, "-o", "xml"}, "xml", "draftproof speed --help"},
      {"UnknownPlacement", {"speed", kExample, "--placement", "near"}, "near", "--help"},
      {"TileOfNothing", {"speed", kExample, "--tile", "0"}, "--tile", "--help"},
      {"MoreExpertsPerTokenThanExperts",
       {"speed", kExample, "--experts", "4", "--experts-per-token", "5"},
       "--experts-per-token: ",
       "at most"},
  };
}

class WrongWords : public testing::TestWithParam<Wrong> {};

TEST_P(WrongWords, EndWithOneLineThatNamesPlaceAndRemedy) {
  const CommandResult result = draftproof(GetParam().arguments);
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(lines_in(result.err), 1u) << result.err;
  EXPECT_THAT(result.err, HasSubstr(GetParam().place));
  EXPECT_THAT(result.err, HasSubstr(GetParam().remedy));
}

INSTANTIATE_TEST_SUITE_P(Speed, WrongWords, testing::ValuesIn(wrong_words()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace draftproof::tests
