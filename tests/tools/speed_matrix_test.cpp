// Benchmark matrix. Goal: the product less the exclusions, by count; the cover meets every pair
// that a run may have; bad matrices are refused at their line.
#include "tools/draftproof/speed_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "reference/error.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools {
namespace {

using testing::HasSubstr;

const std::string kHead = "schema = \"draftproof/matrix/1\"\nname = \"m\"\n";
const std::string kAxes =
    "[[axes]]\nname = \"a\"\nvalues = [1, 2, \"x\"]\n[[axes]]\nname = \"b\"\nvalues = [1, 2]\n"
    "[[axes]]\nname = \"c\"\nvalues = [\"u\", \"v\", \"w\", \"z\"]\n";

BenchmarkMatrix read(const std::string& text) { return matrix_from_toml(text, "m.toml"); }

using Pair = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;

std::set<Pair> pairs_of(const std::vector<MatrixRun>& runs) {
  std::set<Pair> pairs;
  for (const MatrixRun& run : runs)
    for (std::size_t a = 0; a < run.size(); ++a)
      for (std::size_t b = a + 1; b < run.size(); ++b) pairs.emplace(a, run[a], b, run[b]);
  return pairs;
}

TEST(Matrix, IsTheProductInTheOrderOfTheAxes) {
  const auto matrix = read(kHead + "cover = \"all\"\n" + kAxes);
  const auto plan = plan_of(matrix, "m.toml");
  EXPECT_EQ(plan.runs.size(), 24u);
  EXPECT_EQ(plan.runs[1], (MatrixRun{0, 0, 1}));
  EXPECT_EQ(std::set<MatrixRun>(plan.runs.begin(), plan.runs.end()).size(), 24u);
}

TEST(Matrix, LeavesOutWhatAnExclusionNames) {
  const auto matrix = read(kHead + "cover = \"all\"\n" + kAxes +
                           "[[exclude]]\nreason = \"r\"\na = [1, \"x\"]\nc = \"w\"\n");
  const auto plan = plan_of(matrix, "m.toml");
  EXPECT_EQ(plan.excluded, 4u);  // two of a, both of b, one of c
  EXPECT_EQ(plan.runs.size(), 20u);
  for (const MatrixRun& run : plan.runs) EXPECT_FALSE(run[0] != 1 && run[2] == 2);
}

TEST(Matrix, OfTheFixtureMeetsEveryPairThatARunMayHave) {
  const std::string file = DRAFTPROOF_SOURCE_DIR "/fixtures/benchmarks/matrix.toml";
  BenchmarkMatrix matrix = matrix_from_toml(store::read_file(file), file);
  const MatrixPlan cover = plan_of(matrix, file);
  matrix.cover = MatrixCover::kAll;
  const MatrixPlan all = plan_of(matrix, file);
  // 5 lengths x 8 methods x 4 batches x 3 contexts x 4 outputs x 3 samplings x 4 features x 4
  // starts.
  EXPECT_EQ(all.product, 92160u);
  // 1/16 + 1/16 of the starts, and of the rest 1/20: tool calls with long drafts.
  EXPECT_EQ(all.excluded, 15552u);
  EXPECT_EQ(pairs_of(cover.runs), pairs_of(all.runs));
  EXPECT_LT(cover.runs.size(), 80u) << "twice what two largest axes, 5 x 8, need at least";
  const std::set<MatrixRun> allowed(all.runs.begin(), all.runs.end());
  for (const MatrixRun& run : cover.runs) EXPECT_TRUE(allowed.contains(run));
}

TEST(Matrix, CoverSeesAPairThatIsMissing) {
  const auto matrix = read(kHead + "cover = \"pairs\"\n" + kAxes);
  auto runs = plan_of(matrix, "m.toml").runs;
  EXPECT_EQ(pairs_of(runs).size(), 3u * 2 + 3 * 4 + 2 * 4);
  runs.pop_back();
  EXPECT_LT(pairs_of(runs).size(), 26u);
}

TEST(Matrix, IsWrittenAsATableOrForPrograms) {
  const auto matrix = read(kHead + "cover = \"all\"\n" + kAxes);
  const auto plan = plan_of(matrix, "m.toml");
  EXPECT_THAT(matrix_page(matrix, plan, "text"), HasSubstr("m: 24 runs, each with both arms"));
  EXPECT_THAT(matrix_page(matrix, plan, "csv"), HasSubstr("run,a,b,c\n0,1,1,u\n"));
  EXPECT_THAT(matrix_page(matrix, plan, "json"), HasSubstr(R"({"a":"1","b":"1","c":"u"})"));
}

struct Bad {
  std::string name, text, place, reason;
};

std::vector<Bad> bad_matrices() {
  const std::string head = kHead + "cover = \"all\"\n";
  return {
      {"Malformed", "schema = = 1", "m.toml:1", ""},
      {"UnknownSchema", "schema = \"x\"\n", "m.toml:1", "draftproof/matrix/1"},
      {"UnknownCover", kHead + "cover = \"some\"\n" + kAxes, "m.toml", "\"all\" or \"pairs\""},
      {"NoAxes", head, "m.toml", "[[axes]]"},
      {"UnknownKey", head + "axis = 1\n" + kAxes, "m.toml:4", "unknown key 'axis'"},
      {"EmptyAxis", head + "[[axes]]\nname = \"a\"\nvalues = []\n", "m.toml:4", "not empty"},
      {"ValueTwice", head + "[[axes]]\nname = \"a\"\nvalues = [1, 1]\n", "m.toml:6", "twice"},
      {"FractionForAValue", head + "[[axes]]\nname = \"a\"\nvalues = [1.5]\n", "m.toml:6",
       "whole number"},
      {"AxisTwice", head + kAxes + "[[axes]]\nname = \"a\"\nvalues = [1]\n", "m.toml:13", "twice"},
      {"ExcludesNoAxis", head + kAxes + "[[exclude]]\nreason = \"r\"\nd = 1\n", "m.toml:15",
       "there are: a, b, c"},
      {"ExcludesNoValue", head + kAxes + "[[exclude]]\nreason = \"r\"\nb = 3\n", "m.toml:15",
       "it has: 1, 2"},
      {"ExcludesAll", head + kAxes + "[[exclude]]\nreason = \"r\"\nb = [1, 2]\n", "m.toml",
       "leave no run"},
      {"ExcludesWithoutCondition", head + kAxes + "[[exclude]]\nreason = \"r\"\n", "m.toml:13",
       "name an axis"},
  };
}

class BadMatrices : public testing::TestWithParam<Bad> {};

TEST_P(BadMatrices, AreRefusedAtTheirLine) {
  try {
    plan_of(read(GetParam().text), "m.toml");
    ADD_FAILURE() << "was taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(GetParam().place));
    EXPECT_THAT(error.what(), HasSubstr(GetParam().reason));
  }
}

INSTANTIATE_TEST_SUITE_P(All, BadMatrices, testing::ValuesIn(bad_matrices()),
                         [](const auto& info) { return info.param.name; });

TEST(Matrix, IsRefusedWhenItIsTooLargeToWriteOut) {
  std::string text = kHead + "cover = \"pairs\"\n";
  for (const char* name : {"a", "b", "c", "d", "e", "f"})
    text += std::string("[[axes]]\nname = \"") + name + "\"\nvalues = [1,2,3,4,5,6,7,8,9,10]\n";
  EXPECT_THROW(read(text), Error);
}

}  // namespace
}  // namespace draftproof::tools
