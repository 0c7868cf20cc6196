// JSON on stdout. Goal: whatever a command prints as JSON names its form, that form is published
// below tools/schema under the same name, and the text conforms to it; a form that nobody published
// fails here. Commands that take servers or minutes are held to theirs by their own tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/command.h"
#include "tests/tools/schema.h"

namespace draftproof::tests {
namespace {

using Words = std::vector<std::string>;

/// "draftproof/toy-law/1" -> "toy-law"
std::string name_of_form(const nlohmann::json& json) {
  const std::string form = json.value("schema_version", "");
  const auto begin = form.find('/'), end = form.rfind('/');
  return begin == end ? "" : form.substr(begin + 1, end - begin - 1);
}

struct JsonOutput {
  const char* name;
  Words words;
};

void PrintTo(const JsonOutput& output, std::ostream* out) { *out << output.name; }

class JsonOutputs : public testing::TestWithParam<JsonOutput> {};

TEST_P(JsonOutputs, ConformToTheSchemaThatTheyName) {
  if (!can_validate()) GTEST_SKIP() << "python3-jsonschema is not installed";
  const TemporaryFolder folder;
  folder.write("one.ptx", ".version 8.0\n.target sm_80\n.address_size 64\n.entry f() { ret; }\n");
  CommandOptions options;
  options.folder = folder.path();
  ASSERT_EQ(draftproof({"toy", "write", "bigram", "--draft", "near"}, options).exit_code, 0);
  Words words = GetParam().words;
  words.insert(words.end(), {"-o", "json"});
  const CommandResult result = draftproof(words, options);
  EXPECT_LE(result.exit_code, 3) << result.err;
  const auto json = nlohmann::json::parse(result.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << result.out.substr(0, 500) << result.err;
  const std::string name = name_of_form(json);
  ASSERT_TRUE(
      std::filesystem::exists(DRAFTPROOF_SOURCE_DIR "/tools/schema/" + name + ".schema.json"))
      << "no schema of \"" << name << "\"";
  EXPECT_EQ(schema_complaint(name + ".schema.json", result.out), "");
  auto broken = json;
  broken["no such field"] = 0;
  EXPECT_NE(schema_complaint(name + ".schema.json", broken.dump()), "");
}

const std::string kFixtures = DRAFTPROOF_SOURCE_DIR "/fixtures/";

INSTANTIATE_TEST_SUITE_P(
    Commands, JsonOutputs,
    testing::Values(
        JsonOutput{"Law", {"law", "--target", ".1,.9", "--draft", ".7,.3", "--length", "1"}},
        JsonOutput{"FamilyTable", {"table", "rules", "--toy", "two-tokens"}},
        JsonOutput{"PowerTable", {"table", "power", "--battery", "smoke"}},
        JsonOutput{"Calibration", {"check", "calibration", "--time-limit", "1s"}},
        JsonOutput{"Inspect", {"inspect", "one.ptx"}},
        JsonOutput{"Speed", {"speed", kFixtures + "traces/example.jsonl"}},
        JsonOutput{"SpeedExamples", {"speed", "--examples"}},
        JsonOutput{"SpeedMatrix", {"speed", "--matrix", kFixtures + "benchmarks/matrix.toml"}},
        JsonOutput{"Launch", {"doctor", "--command", "llama-server -md d.gguf --draft 8"}},
        JsonOutput{"Plan", {"plan", "--toy", "bigram.toy.json"}},
        JsonOutput{"LawOfAToy", {"toy", "law", "bigram.toy.json", "--prompt", "1"}},
        JsonOutput{
            "LawOfADraft",
            {"toy", "law", "bigram.toy.json", "--prompt", "1", "--draft", "bigram-near.toy.json"}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace draftproof::tests
