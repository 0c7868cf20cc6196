// Schemas of configurations and transcripts. Goal: the schema of configurations knows the keys that
// the reader knows and no other one, both schemas take what is right and refuse what the readers
// refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "properties/transcript.h"
#include "reference/error.h"
#include "tests/tools/schema.h"
#include "tools/audit/config_keys.h"

namespace draftproof::tests {
namespace {

using nlohmann::json;

constexpr const char* kConfig = "config.schema.json";
constexpr const char* kTranscript = "transcript.schema.json";

class AuditSchema : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_validate()) GTEST_SKIP() << "python3-jsonschema is not installed";
  }
};

/// Which of `documents` conform, asked in one go: Python takes a third of a second to start.
std::vector<bool> conform(const std::string& name, const std::vector<std::string>& documents) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("draftproof-documents-" + std::to_string(::getpid()) + ".jsonl");
  std::ofstream stream(file);
  for (const std::string& each : documents) stream << each << "\n";
  stream.close();
  const std::string script =
      "import json,sys,jsonschema\n"
      "judge=jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))\n"
      "print(json.dumps([judge.is_valid(json.loads(line)) for line in open(sys.argv[2])]))\n";
  const std::string answer =
      output_of("python3 -c \"" + script + "\" " DRAFTPROOF_SOURCE_DIR "/tools/schema/" + name +
                " " + file.string());
  std::filesystem::remove(file);
  return json::parse(answer).get<std::vector<bool>>();
}

json schema_of(const std::string& name) {
  std::ifstream stream(std::string(DRAFTPROOF_SOURCE_DIR "/tools/schema/") + name);
  return json::parse(stream);
}

void collect(const json& root, const json& at, const std::string& prefix,
             std::set<std::string>& names) {
  const json& object = at.contains("$ref") ? root["$defs"]["arm"] : at;
  if (!object.contains("properties")) {
    names.insert(prefix);
    return;
  }
  EXPECT_EQ(object["additionalProperties"], false) << prefix;
  for (const auto& [name, inner] : object["properties"].items())
    collect(root, inner, prefix.empty() ? name : prefix + "." + name, names);
}

/// TOML as JSON, by Python's own reader.
std::string json_of_toml(const std::string& text) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("draftproof-toml-" + std::to_string(::getpid()) + ".toml");
  std::ofstream(file) << text;
  const std::string result = output_of(
      "python3 -c \"import json,sys,tomllib\n"
      "print(json.dumps(tomllib.load(open(sys.argv[1],'rb'))))\" " +
      file.string() + " 2>&1");
  std::filesystem::remove(file);
  return result;
}

constexpr const char* kExample = R"(
[run]
seed = 20260117
false_alarms = 1e-6
effect_tv = 0.01
time_limit = "20m"
[target]
toy = "toy.toy.json"
[arm.baseline]
engine = "vllm"
url = "http://127.0.0.1:8000"
[arm.speculative]
command = "vllm serve toy --port {port}"
expect = { method = "ngram", draft_count = 4 }
[sampling]
temperature = [0.0, 0.7, 1.0]
top_k = 8
stop_token_ids = [[3], [4, 5]]
allowed_ids = [1, 2]
stream = [true, false]
[prompts]
builtin = ["two_token", "near_tie"]
file = "prompts.jsonl"
[audits]
include = ["greedy-parity", "support"]
[gate]
require = ["greedy-exact"]
inconclusive = "fail"
[gate.approximate]
tv = 0.02
[report]
formats = ["json", "junit", "md", "github"]
[speed]
arrivals = "poisson:4"
)";

TEST(AuditSchemaKeys, AreThoseOfTheReader) {
  const json root = schema_of(kConfig);
  std::set<std::string> published;
  collect(root, root, "", published);
  std::set<std::string> read;
  for (const auto& key : tools::audit::config_keys()) read.insert(key.name);
  EXPECT_EQ(published, read);
}

TEST_F(AuditSchema, OfConfigurationsTakesTheExampleAndRefusesSlips) {
  const std::string example = json_of_toml(kExample);
  EXPECT_EQ(schema_complaint(kConfig, example), "");
  EXPECT_EQ(schema_complaint(kConfig, "{}"), "");
  const std::vector<std::string> wrong = {R"({"run": {"sed": 1}})",
                                          R"({"run": {"seed": -1}})",
                                          R"({"run": {"seed": "1"}})",
                                          R"({"run": {"time_limit": "soon"}})",
                                          R"({"sampling": {"temperature": []}})",
                                          R"({"sampling": {"temperature": [0.5, -1]}})",
                                          R"({"sampling": {"stop_token_ids": [[-4]]}})",
                                          R"({"arm": {"third": {}}})",
                                          R"({"arm": {"baseline": {"uri": "x"}}})",
                                          R"({"gate": {"inconclusive": "maybe"}})",
                                          R"({"speculation": 4})"};
  const std::vector<bool> taken = conform(kConfig, wrong);
  for (std::size_t i = 0; i < wrong.size(); ++i) EXPECT_FALSE(taken[i]) << wrong[i];
}

properties::Transcript full_transcript() {
  properties::Transcript transcript;
  transcript.key = {properties::Arm::kSpeculative, "t0.7-k8/two_token", 3, 1};
  auto& request = transcript.request;
  request.prompt = {1, 2};
  request.adjustments.logit_bias = {{3, -std::numeric_limits<double>::infinity()}};
  request.adjustments.allowed_ids = {{1, 2, 3}};
  request.adjustments.bad_words = {{1}, {2, 3}};
  request.adjustments.penalties.last_n = -1;
  request.adjustments.grammar_mask = {{true, false}};
  request.seed = ~std::uint64_t{0};
  request.grammar = "a+";
  request.stop_token_ids = {4};
  auto& completion = transcript.completion;
  completion.token_ids = {5, 6};
  completion.finish_reason = "length";
  completion.counters = {3, 2, 2};
  completion.logprobs = {-0.5, -std::numeric_limits<double>::infinity()};
  completion.top_logprobs = {{{5, -0.5}}, {{6, -1}, {7, -2}}};
  completion.steps = {{{6}, 1, {-0.5}, {-0.25}}};
  completion.timing = {{0, 0.5, 1, {0.75, 1}, {1, 1}}};
  completion.text = "fg";
  transcript.logprob_kind = properties::LogprobKind::kRaw;
  return transcript;
}

TEST_F(AuditSchema, OfTranscriptsTakesWhatIsWritten) {
  EXPECT_EQ(schema_complaint(kTranscript, line_of(full_transcript())), "");
  properties::Transcript scored;
  scored.key = {properties::Arm::kBaseline, "c", 0, properties::kScoreRepeat};
  scored.request.prompt_text = "hello";
  scored.completion.end = properties::CompletionEnd::kFailed;
  scored.completion.failure = "HTTP 502";
  scored.completion.failure_cause = properties::FailureCause::kTransport;
  EXPECT_EQ(schema_complaint(kTranscript, line_of(scored)), "");
}

TEST_F(AuditSchema, OfTranscriptsRefusesWhatTheReaderRefuses) {
  const json right = json::parse(line_of(full_transcript()));
  std::vector<std::string> lines = {right.dump()};
  for (const char* name :
       {"schema", "arm", "case", "trial", "prompt_token_ids", "token_ids", "sampling"}) {
    json line = right;
    line.erase(name);
    lines.push_back(line.dump());
  }
  const std::vector<std::pair<std::string, json>> wrong = {
      {"/schema", "draftproof/transcript/2"},
      {"/arm", "third"},
      {"/case", ""},
      {"/trial", -1},
      {"/repeat", "twice"},
      {"/end", "aborted"},
      {"/sampling/temprature", 1},
      {"/sampling/max_tokens", -1},
      {"/sampling/grammar_mask", "012"},
      {"/logprobs/0/kind", "cooked"},
      {"/logprobs/0/logprob", "low"},
      {"/steps/0/accepted", nullptr},
      {"/counters/emitted", "two"},
      {"/surprise", 1},
  };
  for (const auto& [pointer, value] : wrong) {
    json line = right;
    line[json::json_pointer(pointer)] = value;
    lines.push_back(line.dump());
  }
  const std::vector<bool> taken = conform(kTranscript, lines);
  EXPECT_TRUE(taken[0]);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    EXPECT_FALSE(taken[i]) << lines[i];
    EXPECT_THROW(properties::transcript_from(lines[i], "line 1"), Error) << lines[i];
  }
}

}  // namespace
}  // namespace draftproof::tests
