// Goal: the wrapping of the kernels, apart from what they decide: names, layouts, refusals, cost.
// Parity with the reference is tested in tests/differential.
#include "gpu/verifiers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <limits>
#include <sstream>
#include <string>

#include "gpu/emulated_device.h"
#include "gpu/kernels/arguments/verify.h"
#include "gpu/launches/shaping.h"
#include "gpu/launches/verify.h"
#include "gpu/packed_batch.h"
#include "gpu/verifier_buffers.h"
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

/// A greedy kernel that gives every request token 1 under a count and a reason of its own.
std::string text_that_writes(int emitted_count, int reason) {
  std::ostringstream text;
  const auto loads = [&](const char* to, std::size_t offset) {
    text << "ld.param.u64 " << to << ", [a+" << offset << "];\n";
  };
  text << ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry "
          "draftproof_verify_greedy(.param .align 8 .b8 a["
       << sizeof(draftproof_verify_arguments)
       << "])\n{\n"
          ".reg .b64 %rd<4>; .reg .b32 %r<6>; .reg .pred %p;\n"
          "mov.u32 %r1, %tid.x; setp.ne.u32 %p, %r1, 0; @%p bra done;\n"
          "mov.u32 %r1, 0; mov.u32 %r2, 1;\n";
  loads("%rd1", offsetof(draftproof_verify_arguments, emitted_tokens));
  loads("%rd2", offsetof(draftproof_verify_arguments, emitted_reasons));
  loads("%rd3", offsetof(draftproof_verify_arguments, outcomes));
  text << "mov.u32 %r3, " << emitted_count << "; mov.u32 %r4, " << reason << ";\n"
       << "st.global.u32 [%rd1], %r2; st.global.u32 [%rd2], %r4;\n"
          "st.global.u32 [%rd3], %r1; st.global.u32 [%rd3+4], %r3;\n"
          "st.global.u32 [%rd3+8], %r1; st.global.u32 [%rd3+12], %r1;\ndone:\nret;\n}\n";
  return text.str();
}

TEST_F(Verifiers, NeverTakeAWrongCountOrReasonForARightOne) {
  const auto first = [&](int emitted_count, int reason) {
    PatchedText text{"written", "words as told", embedded_texts()};
    text.modules["greedy"] = text_that_writes(emitted_count, reason);
    Batch batch = certain_batch(0, 0);
    batch.requests[0].proposal.tokens.clear();  // one slot, so that a larger count has no room
    batch.requests[0].target_rows.resize(1);
    return make_kernel_verifier(*device_, "greedy", text)
        ->verify(batch, reference::PhiloxCoins(7), {})
        .requests.at(0)
        .emitted;
  };
  const auto bonus = static_cast<int>(Reason::kBonus);
  const auto right = first(1, bonus);
  EXPECT_THAT(right, testing::ElementsAre(reference::EmittedToken{1, Reason::kBonus}));
  EXPECT_NE(first(2, bonus), right);
  EXPECT_NE(first(0, bonus), right);
  EXPECT_NE(first(-1, bonus), right);
  for (const int reason : {-1, 3, 258}) EXPECT_NE(first(1, reason), right) << reason;
}

TEST_F(Verifiers, SeeATokenLeftBehindTheCount) {
  PatchedText text{"written", "a token behind the count", embedded_texts()};
  text.modules["greedy"] = text_that_writes(0, static_cast<int>(Reason::kBonus));
  Batch batch = certain_batch(0, 0);
  batch.requests[0].proposal.tokens.clear();
  batch.requests[0].target_rows.resize(1);
  const auto outcome = make_kernel_verifier(*device_, "greedy", text)
                           ->verify(batch, reference::PhiloxCoins(7), {})
                           .requests.at(0);
  EXPECT_THAT(outcome.emitted, testing::SizeIs(1));
  EXPECT_EQ(outcome.emitted.front().token, 1);
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

/// A device that runs kernels and reports nothing, as a GPU does.
class Unwatched final : public Device {
 public:
  explicit Unwatched(Device& device) : device_(device) {}
  std::string name() const override { return "unwatched"; }
  bool observes() const override { return false; }
  std::unique_ptr<Module> load(std::string_view ptx, std::string_view file) override {
    return device_.load(ptx, file);
  }
  DevicePointer allocate(std::size_t bytes, std::string_view label) override {
    return device_.allocate(bytes, label);
  }
  void free(DevicePointer pointer) override { device_.free(pointer); }
  void write(DevicePointer to, std::span<const std::byte> from) override {
    device_.write(to, from);
  }
  void read(DevicePointer from, std::span<std::byte> to, std::optional<std::byte> poison) override {
    device_.read(from, to, poison);
  }
  LaunchReport launch(const Module& module, std::string_view entry, const LaunchOptions& options,
                      std::span<const Argument> arguments) override {
    return device_.launch(module, entry, options, arguments);
  }

 private:
  Device& device_;
};

TEST_F(Verifiers, AreWatchedOnlyWhereTheDeviceObserves) {
  Unwatched unwatched(*device_);
  EXPECT_TRUE(make_kernel_verifier(*device_, "chain")->traits().is_watched);
  EXPECT_FALSE(make_kernel_verifier(unwatched, "chain")->traits().is_watched);
}

TEST_F(Verifiers, RefuseAnUnknownRuleAndAMissingText) {
  EXPECT_THROW(make_kernel_verifier(*device_, "tree"), Error);
  PatchedText text{"half", "half of the kernels", embedded_texts()};
  text.modules.erase("shaping");
  EXPECT_THROW(make_kernel_verifier(*device_, "chain", text), Error);
}

/// What lies in device memory is no host's to check: a draft_count beyond the slots must not lead a
/// rule into its neighbour's.
TEST_F(Verifiers, OfChainsTakeADraftBeyondItsSlotsForOneThatFillsThem) {
  Batch batch = certain_batch(2, 0);
  batch.requests.push_back(batch.requests[0]);
  KernelModules modules(*device_, embedded_texts());
  for (const char* rule : {"chain", "greedy", "block"})
    for (const std::uint32_t draft_count : {3u, 1000000u, 0xffffffffu}) {
      const launches::VerifyRule& known = *launches::verify_rule(rule);
      PackingRule packing;
      packing.is_greedy_always = known.is_greedy;
      PackedBatch packed = pack(batch, reference::PhiloxCoins(7), {}, packing);
      for (std::size_t r = 0; r < 2; ++r)
        std::memcpy(packed.parameters.bytes.data() + r * sizeof(draftproof_request) +
                        offsetof(draftproof_request, draft_count),
                    &draft_count, sizeof(draft_count));
      const VerifierInputs inputs(*device_, packed);
      const VerifierOutputs outputs(*device_, packed, 2, false);
      draftproof_verify_arguments arguments{};
      inputs.fill(packed, arguments);
      outputs.fill(arguments);
      arguments.request_count = 2;
      draftproof_shape_rows_arguments shaping{};
      shaping.target_rows = arguments.target_rows;
      shaping.target_row_stride = arguments.target_row_stride;
      shaping.requests = arguments.requests;
      shaping.target_records = arguments.target_records;
      shaping.draft_kind = arguments.draft_kind;
      shaping.request_count = arguments.request_count;
      shaping.padded_draft_count = arguments.padded_draft_count;
      shaping.vocab_size = arguments.vocab_size;
      ASSERT_EQ(launches::check(shaping).code, DRAFTPROOF_OK) << launches::check(shaping).text;
      ASSERT_EQ(launches::check(known, arguments).code, DRAFTPROOF_OK);
      EXPECT_TRUE(modules.launch(launches::launch_of(shaping)).observations.empty());
      EXPECT_TRUE(modules.launch(launches::launch_of(known, arguments)).observations.empty())
          << rule << ", " << draft_count;
      EXPECT_EQ(outputs.outcomes(), verify(rule, batch).requests) << rule << ", " << draft_count;
    }
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
