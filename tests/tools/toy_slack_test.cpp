// What a run grants an engine's arithmetic: never less than what was seen of a right engine
// (tools/docs/toys.md), more where caches are coarse or temperatures low, and told in the report.
#include "tools/audit/toy_slack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/error.h"

namespace draftproof::tools::audit {
namespace {

RunRecord granted(const std::string& engine, const std::string& cache, double temperature = 1) {
  RunRecord record;
  record.matrix.cases.resize(1);
  record.matrix.cases[0].request.sampling.temperature = temperature;
  grant_toy_slack(DRAFTPROOF_SOURCE_DIR "/fixtures/transcripts/attention.toy.json", engine, cache,
                  record);
  return record;
}

TEST(ToySlack, CoversWhatWasSeenOfRightEngines) {
  EXPECT_GT(granted("llama.cpp", "f32").judge.tolerance, 2.5e-6);
  EXPECT_GT(granted("transformers", "f32").judge.tolerance, 4.3e-6);
  EXPECT_GT(granted("llama.cpp", "f16").judge.tolerance, 3.2e-3);
  EXPECT_GE(granted("", "f32").judge.tolerance, granted("transformers", "f32").judge.tolerance);
}

TEST(ToySlack, IsSmallWhereNothingIsRounded) {
  EXPECT_LT(granted("llama.cpp", "f32").judge.tolerance, 1e-3);
  EXPECT_LT(granted("llama.cpp", "f32").judge.near_tie_bound, 1e-3);
}

TEST(ToySlack, GrowsAtLowTemperaturesAndIsTold) {
  const RunRecord cold = granted("llama.cpp", "f32", .25);
  EXPECT_GT(cold.judge.tolerance, 2 * granted("llama.cpp", "f32").judge.tolerance);
  EXPECT_EQ(lowest_temperature(cold.matrix), .25);
  ASSERT_EQ(cold.told.size(), 1u);
  EXPECT_THAT(cold.told[0].second, testing::HasSubstr("keys and values in f32"));
}

TEST(ToySlack, RefusesAFormatThatIsNone) { EXPECT_THROW(granted("vllm", "q8_0"), Error); }

}  // namespace
}  // namespace draftproof::tools::audit
