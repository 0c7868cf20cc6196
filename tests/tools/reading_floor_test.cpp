// How far two readers of one prompt may be apart. Goal: rounding is measured and paid for, other
// weights are refused and never taken for rounding.
#include "tools/audit/reading_floor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/error.h"

namespace draftproof::tools::audit {
namespace {

using properties::TokenLogprob;
using reference::Token;
using testing::HasSubstr;
using Rows = std::vector<std::vector<TokenLogprob>>;

/// Reads two candidates of each token but the first, one of them `gap` off at `far` positions.
class Reader final : public engines::ArmClient {
 public:
  Reader(int vocab_size, double gap, std::size_t far) : far_(far), gap_(gap) {
    capabilities_.vocab_size = vocab_size;
  }
  properties::Capabilities capabilities() const override { return capabilities_; }
  engines::ArmFacts facts() override { return {}; }
  properties::Completion complete(const properties::SamplingRequest&) override { return {}; }
  std::string curl_of(const properties::SamplingRequest&) const override { return ""; }
  Rows score(const std::vector<Token>& tokens, int) override {
    if (is_mute) return {};
    Rows rows(1);
    for (std::size_t i = 1; i < tokens.size(); ++i)
      rows.push_back({{first, -0.5 + (i <= far_ ? gap_ : 0)}, {first + 1, -2}});
    return rows;
  }

  bool is_mute = false;
  Token first = 3;

 private:
  properties::Capabilities capabilities_;
  std::size_t far_;
  double gap_;
};

properties::audits::Matrix prompt_of(std::size_t length) {
  properties::audits::Matrix matrix;
  properties::SamplingRequest request;
  request.prompt.assign(length, 1);
  matrix.settings.push_back({"t1", request, 1});
  matrix.cases.push_back(
      {"t1/p", 0, "p", request, properties::audits::Seeding::kIndependent, "", 1});
  return matrix;
}

ReadingFloor between(Reader& drafting, Reader& scorer, std::size_t length = 6) {
  return reading_floor(drafting, scorer, prompt_of(length));
}

std::string complaint(Reader drafting, Reader scorer, std::size_t length = 6) {
  try {
    between(drafting, scorer, length);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_EQ(error.place(), "target.scorer");
    return error.message();
  }
  return "";
}

TEST(ReadingFloor, IsTheWidestGapOfTwoReadings) {
  Reader drafting(16, 0, 0), scorer(16, 0.7, 1);
  const ReadingFloor floor = between(drafting, scorer);
  EXPECT_NEAR(floor.gap_max, 0.7, 1e-12);
  EXPECT_EQ(floor.gap_count, 10u);
  EXPECT_EQ(floor.prompt_count, 1u);
  EXPECT_EQ(between(drafting, drafting).gap_max, 0);
}

TEST(ReadingFloor, TakesNoOtherWeightsForRounding) {
  const Reader drafting(16, 0, 0);
  EXPECT_THAT(complaint(drafting, Reader(16, 1.1, 1)), HasSubstr("not the same weights"));
  for (const double none : {std::nan(""), -std::numeric_limits<double>::infinity()})
    EXPECT_THAT(complaint(drafting, Reader(16, none, 1)), HasSubstr("not the same weights"));
  EXPECT_THAT(complaint(drafting, Reader(9, 0, 0)), HasSubstr("has 9 token ids"));
  EXPECT_EQ(complaint(drafting, Reader(0, 0, 0)), "") << "not told is no difference";
}

TEST(ReadingFloor, TakesNoGapForRoundingThatEveryTokenHas) {
  // One candidate of two is off at each of these: half of all gaps.
  EXPECT_THAT(complaint(Reader(16, 0, 0), Reader(16, 0.3, 5)), HasSubstr("every second logprob"));
  EXPECT_EQ(complaint(Reader(16, 0, 0), Reader(16, 0.3, 4)), "");
  EXPECT_EQ(complaint(Reader(16, 0, 0), Reader(16, 0.12, 5)), "");
}

TEST(ReadingFloor, NeedsReadingsOfMoreThanOneTokenThatNameTheSameCandidates) {
  const Reader drafting(16, 0, 0);
  Reader mute(16, 0, 0), stranger(16, 0, 0);
  mute.is_mute = true;
  stranger.first = 7;
  EXPECT_THAT(complaint(drafting, mute), HasSubstr("the scorer gives no logprobs of prompts"));
  EXPECT_THAT(complaint(drafting, stranger), HasSubstr("no candidate in common"));
  EXPECT_THAT(complaint(drafting, drafting, 1), HasSubstr("no prompt has two tokens"));
}

}  // namespace
}  // namespace draftproof::tools::audit
