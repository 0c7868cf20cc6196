// Goal: the wrapping of the kernels, apart from what they decide: names, layouts, refusals, cost.
// Parity with the reference is tested in tests/differential.
#include "gpu/verifiers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/emulated_device.h"
#include "reference/error.h"

namespace draftproof::gpu {
namespace {

using reference::Batch;
using reference::Outcome;
using reference::Reason;
using reference::Status;

/// One request of two drafted tokens whose rows put all mass on tokens 2, 0 and 1.
Batch certain_batch(reference::Token first, reference::Token second) {
  constexpr float kMasked = -std::numeric_limits<float>::infinity();
  Batch batch;
  batch.vocab_size = 3;
  batch.preset = reference::preset("default");
  batch.draft_kind = reference::RowKind::kOneHot;
  reference::Request request;
  request.proposal.tokens = {first, second};
  request.target_rows = {{kMasked, kMasked, 0}, {0, kMasked, kMasked}, {kMasked, 0, kMasked}};
  batch.requests = {request};
  return batch;
}

class Verifiers : public testing::Test {
 protected:
  void SetUp() override {
    if (!kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
    device_ = make_emulated_device();
  }

  Outcome verify(const char* rule, Batch batch, const reference::Execution& execution = {}) {
    const auto verifier = make_kernel_verifier(*device_, rule);
    return verifier->verify(batch, reference::PhiloxCoins(7), execution);
  }

  std::unique_ptr<Device> device_;
};

TEST_F(Verifiers, AcceptADraftThatTheTargetIsCertainOf) {
  for (const char* rule : {"chain", "greedy"}) {
    const Outcome outcome = verify(rule, certain_batch(2, 0));
    ASSERT_EQ(outcome.requests.size(), 1u);
    EXPECT_EQ(outcome.requests[0].accepted_count, 2);
    EXPECT_THAT(outcome.requests[0].emitted,
                testing::ElementsAre(reference::EmittedToken{2, Reason::kAccepted},
                                     reference::EmittedToken{0, Reason::kAccepted},
                                     reference::EmittedToken{1, Reason::kBonus}));
    EXPECT_THAT(outcome.observations, testing::IsEmpty());
  }
}

TEST_F(Verifiers, RecoverAtTheFirstWrongToken) {
  for (const char* rule : {"chain", "greedy"}) {
    const Outcome outcome = verify(rule, certain_batch(2, 1));
    EXPECT_EQ(outcome.requests[0].accepted_count, 1);
    EXPECT_THAT(outcome.requests[0].emitted,
                testing::ElementsAre(reference::EmittedToken{2, Reason::kAccepted},
                                     reference::EmittedToken{0, Reason::kRecovered}));
  }
}

TEST_F(Verifiers, ReportAStatusAndKeepTheAcceptedPrefix) {
  for (const char* rule : {"chain", "greedy"}) {
    Batch batch = certain_batch(2, 0);
    batch.requests[0].target_rows[1][2] = std::numeric_limits<float>::quiet_NaN();
    const Outcome outcome = verify(rule, batch);
    EXPECT_EQ(outcome.requests[0].status, Status::kNan);
    EXPECT_EQ(outcome.requests[0].status_position, 1);
    EXPECT_EQ(outcome.requests[0].emitted.size(), 1u);
  }
}

TEST_F(Verifiers, LaunchTwiceHoweverManyRequests) {
  Batch batch = certain_batch(2, 0);
  batch.requests.resize(500, batch.requests[0]);
  const Outcome outcome = verify("chain", batch);
  EXPECT_EQ(outcome.counts.launches, 2u);
  EXPECT_GT(outcome.counts.warp_instructions, 500u);
  EXPECT_EQ(outcome.requests.size(), 500u);
  EXPECT_EQ(outcome.requests.front(), outcome.requests.back());
}

TEST_F(Verifiers, HaveNothingToDoForNoRequests) {
  Batch batch = certain_batch(2, 0);
  batch.requests.clear();
  EXPECT_EQ(verify("chain", batch).counts.launches, 0u);
}

TEST_F(Verifiers, StateTheBlocksTheyTakeAndRefuseOthers) {
  const auto verifier = make_kernel_verifier(*device_, "chain");
  EXPECT_EQ(verifier->traits().name, "kernels");
  EXPECT_THAT(verifier->traits().block_threads,
              testing::ElementsAre(32, 64, 96, 128, 256, 512, 1024));
  reference::Execution execution;
  execution.block_threads = 48;
  EXPECT_THROW(verify("chain", certain_batch(2, 0), execution), Error);
}

TEST_F(Verifiers, RefuseAnUnknownRuleAndAMissingText) {
  EXPECT_THROW(make_kernel_verifier(*device_, "tree"), Error);
  PatchedText text{"half", "half of the kernels", embedded_texts()};
  text.modules.erase("shaping");
  EXPECT_THROW(make_kernel_verifier(*device_, "chain", text), Error);
}

TEST_F(Verifiers, RefuseABatchThatDoesNotFitTogether) {
  Batch batch = certain_batch(2, 0);
  batch.requests[0].target_rows.pop_back();
  EXPECT_THROW(verify("chain", batch), BrokenInvariant);
}

TEST(KernelTexts, NameTheRemedyWhereThereAreNone) {
  if (kernels_are_embedded()) GTEST_SKIP() << "this build has own kernels";
  try {
    embedded_texts();
    FAIL() << "no kernels, and no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_THAT(error.what(), testing::HasSubstr("DRAFTPROOF_PTX_DIR"));
  }
}

}  // namespace
}  // namespace draftproof::gpu
