// The length of drafts that runners tell. Goal: a length where it binds every draft, and 0 where
// the engine chooses it, since counter_identities believes it. Method: the programs' own function,
// under their own command lines, without the engines.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace draftproof::tests {
namespace {

/// What `python3` prints of draft_count_of() in runners/NAME.py.
std::string told_by(const std::string& name, const std::string& arguments) {
  const std::string folder = std::string(DRAFTPROOF_SOURCE_DIR) + "/tools/engines/runners";
  const std::string command = "cd '" + folder + "' && python3 -B -c 'import " + name +
                              " as program; print(program.draft_count_of(program.parse()))' " +
                              "--model . " + arguments + " 2>&1";
  std::FILE* output = ::popen(command.c_str(), "r");
  std::string text;
  for (int c; (c = std::fgetc(output)) != EOF;) text += static_cast<char>(c);
  ::pclose(output);
  return text;
}

TEST(RunnerDraftCount, IsZeroWhereTransformersChangesIt) {
  const std::string arm = "transformers_lines", assistant = "--assistant-model . ";
  EXPECT_EQ(told_by(arm, ""), "0\n");
  EXPECT_EQ(told_by(arm, "--prompt-lookup-num-tokens 4"), "4\n");
  EXPECT_EQ(told_by(arm, assistant + "--num-assistant-tokens 5"), "5\n");
  EXPECT_EQ(told_by(arm, "--assistant-early-exit 1 --num-assistant-tokens 5"), "5\n");
  for (const char* schedule : {"heuristic", "heuristic_transient"})
    EXPECT_EQ(told_by(arm, assistant + "--num-assistant-tokens-schedule " + schedule), "0\n");
}

TEST(RunnerDraftCount, IsZeroWhereOpenvinoEndsDraftsByAThreshold) {
  const std::string arm = "openvino_genai_lines", draft = "--draft-model . ";
  EXPECT_EQ(told_by(arm, ""), "0\n");
  EXPECT_EQ(told_by(arm, "--prompt-lookup"), "3\n");
  EXPECT_EQ(told_by(arm, draft + "--num-assistant-tokens 8"), "8\n");
  EXPECT_EQ(told_by(arm, draft + "--assistant-confidence-threshold 0.3"), "0\n");
}

}  // namespace
}  // namespace draftproof::tests
