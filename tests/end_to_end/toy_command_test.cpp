// toy: models for real engines, their manifests and their laws, as a user asks for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "tests/end_to_end/command.h"

namespace draftproof::tests {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

CommandResult in(const TemporaryFolder& folder, const std::vector<std::string>& arguments) {
  return draftproof(arguments, {.folder = folder.path(), .environment = {}});
}

TEST(Toy, WritesATargetAndItsDraftsAndPrintsTheirLaws) {
  const TemporaryFolder folder;
  const auto written = in(folder, {"toy", "write", "bigram", "--out", "toys", "--draft", "near",
                                   "--draft", "permuted", "--seed", "5"});
  ASSERT_EQ(written.exit_code, 0) << written.err;
  EXPECT_EQ(lines_in(written.out), 3u);
  EXPECT_THAT(written.out, HasSubstr("toys/bigram-permuted.gguf"));
  const auto law = in(folder, {"toy", "law", "toys/bigram.toy.json", "--prompt", "1,5", "--draft",
                               "toys/bigram-near.toy.json", "-o", "json"});
  ASSERT_EQ(law.exit_code, 0) << law.err;
  const auto json = nlohmann::json::parse(law.out);
  const auto probabilities = json.at("probabilities").get<std::vector<double>>();
  ASSERT_EQ(probabilities.size(), 16u);
  EXPECT_NEAR(std::accumulate(probabilities.begin(), probabilities.end(), 0.0), 1, 1e-12);
  EXPECT_EQ(probabilities[0], 0);
  EXPECT_GT(json.at("acceptance").get<double>(), 0.5);
  EXPECT_LT(json.at("acceptance").get<double>(), 1);
  const auto text = in(folder, {"toy", "law", "toys/bigram.toy.json", "--prompt", "5", "--draft",
                                "toys/bigram-permuted.toy.json"});
  EXPECT_THAT(text.out, HasSubstr("never: 4 ids"));
  EXPECT_THAT(text.out, HasSubstr("kept with probability 1"));
}

TEST(Toy, WritesAFolderForTransformersAndVllm) {
  const TemporaryFolder folder;
  const auto written = in(folder, {"toy", "write", "--kind", "integer", "--vocab", "20", "--format",
                                   "safetensors", "--dtype", "bf16", "--name", "small"});
  ASSERT_EQ(written.exit_code, 0) << written.err;
  for (const char* file : {"config.json", "tokenizer.json", "model.safetensors"})
    EXPECT_TRUE(std::filesystem::exists(folder.path() + "/small/" + file)) << file;
  const auto manifest = nlohmann::json::parse(folder.read("small.toy.json"));
  EXPECT_EQ(manifest.at("spec").at("vocab_size"), 20);
  EXPECT_EQ(manifest.at("model"), "small");
}

TEST(Toy, ListsToysThatCanBeWritten) {
  const TemporaryFolder folder;
  const auto listed = draftproof({"toy", "list", "-o", "jsonl"});
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  std::istringstream lines(listed.out);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const std::string id = nlohmann::json::parse(line).at("id");
    EXPECT_EQ(in(folder, {"toy", "write", id, "--out", "all"}).exit_code, 0) << id;
  }
  EXPECT_GE(count, 10u);
}

struct Refused {
  std::vector<std::string> arguments;
  const char* message;
};

TEST(Toy, RefusesWhatMeansNothingWithPlaceAndRemedy) {
  const TemporaryFolder folder;
  ASSERT_EQ(in(folder, {"toy", "write", "bigram", "--name", "a"}).exit_code, 0);
  ASSERT_EQ(in(folder, {"toy", "write", "integer", "--name", "b", "--draft", "near"}).exit_code, 0);
  folder.write("weights.gguf", "somebody's");
  const std::vector<std::string> law = {"toy", "law", "a.toy.json", "--prompt"};
  const auto law_with = [&](const std::vector<std::string>& more) {
    auto arguments = law;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  for (const auto& [arguments, message] : std::vector<Refused>{
           {{"toy"}, "subcommand"},
           {{"toy", "write"}, "name a built-in toy"},
           {{"toy", "write", "bigram", "--kind", "bigram"}, "name a built-in toy"},
           {{"toy", "write", "trigram"}, "there is no toy trigram; known: bigram"},
           {{"toy", "write", "bigram", "--draft", "distant"}, "--draft: there is no draft"},
           {{"toy", "write", "bigram", "--format", "onnx"}, "--format: there is no onnx"},
           {{"toy", "write", "bigram", "--dtype", "q4_0"}, "--dtype: there is no q4_0"},
           {{"toy", "write", "bigram", "--vocab", "3"}, "--vocab: is 3"},
           {{"toy", "write", "bigram", "--layers", "3"}, "--layers: changes nothing"},
           {{"toy", "write", "bigram", "--seed", "x"}, "--seed"},
           {{"toy", "write", "bigram", "--name", "weights"}, "weights.gguf: is there"},
           {{"toy", "write", "bigram", "--out", "/proc/toys"}, "--out"},
           {law_with({"1,x"}), "--prompt: has 'x'"},
           {law_with({"1,16"}), "ids 0 to 15"},
           {law_with({"1", "--contract", "nobody"}), "nobody"},
           {law_with({"1", "--draft", "b-near.toy.json"}), "no draft of this toy"},
           {law_with({"1", "--temperature", "-1"}), "temperature"},
           {{"toy", "law", "absent.toy.json", "--prompt", "1"}, "absent.toy.json"},
           {{"toy", "law", "weights.gguf", "--prompt", "1"}, "is no JSON"}}) {
    const auto result = in(folder, arguments);
    EXPECT_EQ(result.exit_code, 3) << testing::PrintToString(arguments);
    EXPECT_THAT(result.err, StartsWith("draftproof: "));
    EXPECT_THAT(result.err, HasSubstr(message)) << testing::PrintToString(arguments);
    EXPECT_EQ(lines_in(result.err), 1u) << result.err;
  }
  EXPECT_EQ(folder.read("weights.gguf"), "somebody's");
}

}  // namespace
}  // namespace draftproof::tests
