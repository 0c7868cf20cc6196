// Reader of traces. Goal: units and defaults are as stated, every damaged line is refused with its
// place and a remedy, and none is lost when the rest is judged.
#include "tools/draftproof/speed_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/error.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools {
namespace {

using testing::HasSubstr;

const std::string kSetup = R"({"record":"setup","schema":"draftproof/trace/1"})";
const std::string kDraft =
    R"({"record":"iteration","arm":"speculative","request":"a","index":0,"drafted":4,)"
    R"("accepted":2,"emitted":3,"draft_us":4000,"verify_ms":20,"step_s":0.025})";
const std::string kPlain =
    R"({"record":"iteration","arm":"baseline","request":"a","index":0,"emitted":1,"step_ms":20})";

oracle::speed::Trace read(const std::vector<std::string>& lines, bool allows_damaged = false) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return trace_from_json_lines(text, "t.jsonl", allows_damaged);
}

std::string refusal(const std::string& text) {
  try {
    trace_from_json_lines(text, "t.jsonl", false);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(SpeedTrace, TakesEveryTimeInItsOwnUnit) {
  const auto trace = read({kSetup, kDraft, kPlain});
  ASSERT_EQ(trace.iterations.size(), 2u);
  EXPECT_DOUBLE_EQ(*trace.iterations[0].draft, 0.004);
  EXPECT_DOUBLE_EQ(*trace.iterations[0].verify, 0.020);
  EXPECT_DOUBLE_EQ(*trace.iterations[0].step, 0.025);
  EXPECT_FALSE(trace.iterations[0].accept);
  EXPECT_EQ(trace.iterations[0].cohort, "all");
  EXPECT_EQ(trace.iterations[1].line, 3);
  EXPECT_EQ(trace.iterations[1].drafted, 0);
}

TEST(SpeedTrace, TakesNullForNotReportedAndSkipsBlankLines) {
  const auto trace = trace_from_json_lines(
      kSetup + "\r\n\n  \n" +
          R"({"record":"iteration","arm":"baseline","request":"a","index":0,"emitted":1,)"
          R"("step_ms":null,"batch":null})",
      "t.jsonl", false);
  ASSERT_EQ(trace.iterations.size(), 1u);
  EXPECT_FALSE(trace.iterations[0].step);
  EXPECT_EQ(trace.iterations[0].line, 4);
}

TEST(SpeedTrace, TakesCountsThatContradictEachOtherForTheIdentitiesToName) {
  std::string line = kDraft;
  line.replace(line.find("\"accepted\":2"), 12, "\"accepted\":9");
  EXPECT_EQ(read({kSetup, line}).iterations[0].accepted, 9);
}

TEST(SpeedTrace, OfTheFixturesIsWhole) {
  const std::string file = DRAFTPROOF_SOURCE_DIR "/fixtures/traces/example.jsonl";
  const auto trace = trace_from_json_lines(store::read_file(file), file, false);
  EXPECT_EQ(oracle::speed::cohorts_of(trace).size(), 3u);
  EXPECT_TRUE(trace.damaged.empty());
}

struct Damaged {
  std::string name;
  std::string line;
  std::string reason;
};

/// `kDraft` with one text put in the place of another.
std::string with(const std::string& from, const std::string& to) {
  std::string line = kDraft;
  line.replace(line.find(from), from.size(), to);
  return line;
}

std::vector<Damaged> damages() {
  return {
      {"CutOff", kDraft.substr(0, 60), "cut off"},
      {"NoJson", "drafted 4, accepted 2", "is no JSON at column"},
      {"NoObject", "[1, 2]", "is no JSON object"},
      {"TwoObjects", kDraft + kDraft, "is no JSON at column"},
      {"NotUtf8", "{\"record\":\"\xff\xfe\"}", "is no JSON at column"},
      {"NotANumber", with("\"verify_ms\":20", "\"verify_ms\":NaN"), "is no JSON at column"},
      {"BeyondDouble", with("20", "1e999"), "no double can carry"},
      {"NegativeCount", with("\"accepted\":2", "\"accepted\":-2"), "'accepted' is -2"},
      {"HugeCount", with("\"drafted\":4", "\"drafted\":99999999999999999999"), "'drafted' is"},
      {"HugeWholeCount", with("\"drafted\":4", "\"drafted\":18446744073709551615"),
       "must be 0 to 1048576"},
      {"FractionOfAToken", with("\"accepted\":2", "\"accepted\":2.5"), "write a whole number"},
      {"TextForACount", with("\"accepted\":2", "\"accepted\":\"2\""), "write a whole number"},
      {"NegativeTime", with("20", "-20"), "'verify_ms' is -20"},
      {"ZeroTime", with("20", "0"), "leave it out"},
      {"TimeBeyondReason", with("0.025", "3e9"), "look at its unit"},
      {"TimeInTwoUnits", with("\"step_s\"", "\"verify_us\":20000,\"step_s\""),
       "'verify_ms' and 'verify_us' are one time in two units"},
      {"TimeWithoutUnit", with("\"verify_ms\"", "\"verify\""), "has no unit; write verify_s"},
      {"UnknownField", with("\"emitted\":3", "\"emitted\":3,\"acepted\":2"),
       "unknown field \"acepted\""},
      {"FieldGivenTwice", with("\"emitted\":3", "\"emitted\":3,\"emitted\":4"),
       "\"emitted\" is given twice"},
      {"MissingField", with("\"accepted\":2,", ""), "lacks 'accepted'"},
      {"UnknownRecord", R"({"record":"step"})", "setup, iteration or request"},
      {"UnknownArm", with("speculative", "on"), "baseline or speculative"},
      {"IterationGivenTwice", kDraft, "was given at line 2"},
      {"RequestInTwoCohorts", with("\"index\":0", "\"index\":1,\"cohort\":\"b\""),
       "another cohort"},
      {"SecondSetup", kSetup, "a second setup"},
      {"EmptyRequest", with("\"request\":\"a\"", "\"request\":\"\""), "lacks 'request'"},
  };
}

class DamagedLines : public testing::TestWithParam<Damaged> {};

TEST_P(DamagedLines, AreRefusedWithPlaceAndRemedy) {
  const std::string message = refusal(kSetup + "\n" + kDraft + "\n" + GetParam().line + "\n");
  EXPECT_THAT(message, HasSubstr("t.jsonl:3: "));
  EXPECT_THAT(message, HasSubstr(GetParam().reason));
  EXPECT_THAT(message, HasSubstr("--allow-damaged"));
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST_P(DamagedLines, AreListedWhenTheRestIsJudged) {
  const auto trace = read({kSetup, kDraft, GetParam().line, kPlain}, true);
  EXPECT_EQ(trace.iterations.size(), 2u);
  ASSERT_EQ(trace.damaged.size(), 1u);
  EXPECT_EQ(trace.damaged[0].line, 3);
  EXPECT_THAT(trace.damaged[0].reason, HasSubstr(GetParam().reason));
}

INSTANTIATE_TEST_SUITE_P(All, DamagedLines, testing::ValuesIn(damages()),
                         [](const auto& info) { return info.param.name; });

TEST(SpeedTrace, NamesThePlacesOfAllDamagedLines) {
  const std::string message =
      refusal(kSetup + "\n{\n" + kDraft + "\n{}\n{\"record\":\"x\"}\n" + kPlain);
  EXPECT_THAT(message, HasSubstr("t.jsonl:2: "));
  EXPECT_THAT(message, HasSubstr("2 more damaged lines: 4, 5"));
}

TEST(SpeedTrace, IsRefusedWithoutASetupOrAnIteration) {
  EXPECT_THAT(refusal(""), HasSubstr("t.jsonl: is empty"));
  EXPECT_THAT(refusal("\n \n"), HasSubstr("is empty"));
  EXPECT_THAT(refusal(kDraft), HasSubstr("t.jsonl:1: the first line must be the setup"));
  EXPECT_THAT(refusal(kSetup), HasSubstr("holds no iteration"));
  EXPECT_THAT(refusal(R"({"record":"setup","schema":"draftproof/trace/9"})"),
              HasSubstr("draftproof/trace/1"));
  EXPECT_THAT(refusal(R"({"record":"setup","schema":"draftproof/trace/1","placement":"near"})"),
              HasSubstr("serial, overlapped or remote"));
  // Without a setup nothing behind it can be read, damaged lines allowed or not.
  EXPECT_THROW(trace_from_json_lines("{", "t.jsonl", true), Error);
}

TEST(SpeedTrace, ReadsTheShapeOfTheTargetAndTheRatesOfTheDevice) {
  const auto trace = read(
      {R"({"record":"setup","schema":"draftproof/trace/1","draft_passes":"one","tile":64,)"
       R"("shape":{"dense_bytes":1e9,"experts":8,"experts_per_token":2},)"
       R"("device":{"memory_bytes_per_second":1e12,"operations_per_second":1e14,"exchange_us":5}})",
       kPlain});
  EXPECT_EQ(trace.setup.shape->experts, 8);
  EXPECT_DOUBLE_EQ(trace.setup.device->exchange_seconds, 5e-6);
  EXPECT_EQ(trace.setup.passes, oracle::speed::DraftPasses::kOne);
  EXPECT_THAT(refusal(R"({"record":"setup","schema":"draftproof/trace/1","shape":{"expert":1}})"),
              HasSubstr("unknown field"));
  EXPECT_THAT(refusal(R"({"record":"setup","schema":"draftproof/trace/1",)"
                      R"("shape":{"experts":2,"experts_per_token":4}})"),
              HasSubstr("above 'experts'"));
  EXPECT_THAT(refusal(R"({"record":"setup","schema":"draftproof/trace/1","device":{}})"),
              HasSubstr("memory_bytes_per_second"));
}

}  // namespace
}  // namespace draftproof::tools
