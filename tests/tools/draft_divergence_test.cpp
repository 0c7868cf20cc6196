// Divergence of drafts. Goal: the number of the laws where both are known, the same one on average
// from logprobs of drawn drafts, and none where nothing was told.
#include "tools/audit/draft_divergence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace draftproof::tools::audit {
namespace {

using properties::Arm;
using properties::VerifyStep;

class OneLaw final : public properties::audits::KnownTarget {
 public:
  explicit OneLaw(std::vector<double> law) : law_(std::move(law)) {}
  int vocab_size() const override { return static_cast<int>(law_.size()); }
  std::vector<double> next(const properties::SamplingRequest&,
                           std::span<const reference::Token>) const override {
    return law_;
  }

 private:
  std::vector<double> law_;
};

const std::vector<double> kTarget = {0.5, 0.25, 0.25};
const std::vector<double> kDraft = {0.25, 0.25, 0.5};
/// 1/2 log 2 + 1/4 log 1/2
const double kNats = 0.25 * std::log(2.0);

VerifyStep step_of(reference::Token token) {
  const auto at = static_cast<std::size_t>(token);
  VerifyStep step;
  step.draft_ids = {token};
  step.target_logprobs = {std::log(kTarget[at])};
  step.draft_logprobs = {std::log(kDraft[at])};
  return step;
}

class DraftDivergenceOf : public testing::Test {
 protected:
  void SetUp() override {
    matrix_.cases.resize(2);
    matrix_.cases[0].id = "t1/a";
    matrix_.cases[0].cohort = "tool_call";
    matrix_.cases[1].id = "t1/b";
  }
  void add(const std::string& case_id, const std::vector<VerifyStep>& steps) {
    properties::Transcript transcript;
    transcript.key = {Arm::kSpeculative, case_id, 0, 0};
    transcript.completion.token_ids = {0, 1};
    transcript.completion.steps = steps;
    evidence_.add(transcript);
  }

  properties::audits::Matrix matrix_;
  properties::audits::Evidence evidence_;
};

TEST_F(DraftDivergenceOf, KnownLawsIsExact) {
  add("t1/a", {});
  const OneLaw target(kTarget), draft(kDraft), narrow({0.5, 0.5, 0});
  const auto found = draft_divergence(matrix_, "all", evidence_, &target, &draft);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_exact);
  EXPECT_EQ(found->positions, 2u);
  EXPECT_NEAR(found->nats, kNats, 1e-12);
  EXPECT_TRUE(std::isinf(draft_divergence(matrix_, "all", evidence_, &target, &narrow)->nats));
  EXPECT_EQ(draft_divergence(matrix_, "all", evidence_, &target, &target)->nats, 0);
  EXPECT_FALSE(draft_divergence(matrix_, "free_text", evidence_, &target, &draft));
}

TEST_F(DraftDivergenceOf, LogprobsOfDrawnDraftsHasTheSameMean) {
  // Tokens as often as the draft draws them; as often as the target would, it is another number.
  add("t1/a", {step_of(0), step_of(1), step_of(2), step_of(2)});
  add("t1/b", {step_of(0), step_of(0), step_of(1), step_of(2)});
  const auto drawn = draft_divergence(matrix_, "tool_call", evidence_, nullptr, nullptr);
  ASSERT_TRUE(drawn);
  EXPECT_FALSE(drawn->is_exact);
  EXPECT_EQ(drawn->positions, 4u);
  EXPECT_NEAR(drawn->nats, kNats, 1e-12);
  const auto both = draft_divergence(matrix_, "all", evidence_, nullptr, nullptr);
  EXPECT_EQ(both->positions, 8u);
  EXPECT_GT(std::fabs(both->nats - kNats), 1e-3);
}

TEST_F(DraftDivergenceOf, NothingToldIsNotReported) {
  VerifyStep silent = step_of(0);
  silent.draft_logprobs.clear();
  VerifyStep impossible = step_of(0);
  impossible.draft_logprobs = {-INFINITY};
  EXPECT_FALSE(divergence_of(silent));
  EXPECT_FALSE(divergence_of(impossible));
  add("t1/a", {silent});
  EXPECT_FALSE(draft_divergence(matrix_, "all", evidence_, nullptr, nullptr));
}

}  // namespace
}  // namespace draftproof::tools::audit
