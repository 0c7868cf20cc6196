// Verifiers that are wrong as seldom, as deep or as politely as we could think of, and next to each
// a right one: what the batteries are made of has to catch the first and spare the second.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "properties/laws.h"
#include "reference/error.h"
#include "wrong_verifiers.h"

namespace draftproof::properties {
namespace {

using oracle::VerdictKind;
using reference::Batch;
using reference::Execution;
using reference::Outcome;
using reference::Reason;
using reference::Request;
using reference::RequestOutcome;
using reference::Status;

constexpr VerdictKind kViolated = VerdictKind::kViolated;

/// Clears the outcome of every request that `is_meant` picks.
Altered losing(std::function<bool(const Batch&, std::size_t)> is_meant) {
  return Altered([is_meant](Outcome& outcome, Batch& batch, const Execution&) {
    for (std::size_t r = 0; r < outcome.requests.size(); ++r)
      if (is_meant(batch, r)) outcome.requests[r].emitted.clear();
  });
}

TEST(SubtlyWrongVerifier, InWhatOnlyFewBatchesHaveFailsParity) {
  Altered large = losing(
      [](const Batch& batch, std::size_t) { return batch.vocab_size > (std::size_t{1} << 18); });
  EXPECT_EQ(kind_of("kernel_equals_reference", large), kViolated);
  Altered long_draft = losing([](const Batch& batch, std::size_t r) {
    return batch.requests[r].proposal.tokens.size() > 64;
  });
  EXPECT_EQ(kind_of("kernel_equals_reference", long_draft), kViolated);
  Altered twins = losing([](const Batch& batch, std::size_t r) {
    return r > 0 && batch.requests[r].target_rows == batch.requests[r - 1].target_rows &&
           batch.vocab_size > 64;
  });
  EXPECT_EQ(kind_of("kernel_equals_reference", twins), kViolated);
  Altered high_id =
      losing([](const Batch& batch, std::size_t r) { return batch.requests[r].id >= 0x80000000u; });
  EXPECT_EQ(kind_of("kernel_equals_reference", high_id), kViolated);
  Altered bfloat_zero = losing([](const Batch& batch, std::size_t r) {
    if (batch.format != reference::LogitFormat::kBfloat16 || batch.vocab_size < 3300) return false;
    const reference::Row& row = batch.requests[r].target_rows[0];
    return std::any_of(row.begin(), row.end(), [](float z) { return z == 0 && std::signbit(z); });
  });
  EXPECT_EQ(kind_of("kernel_equals_reference", bfloat_zero), kViolated);
  Altered never = losing([](const Batch&, std::size_t) { return false; });
  EXPECT_EQ(kind_of("kernel_equals_reference", never), VerdictKind::kUpheld);
}

/// Wrong on every `period`-th call only: state kept between calls.
TEST(SubtlyWrongVerifier, OnEveryHundredthCallFailsParity) {
  int calls = 0;
  Altered wrong([&](Outcome& outcome, Batch&, const Execution&) {
    if (++calls % 100 == 0) outcome.requests.back().emitted.clear();
  });
  const oracle::Verdict verdict = verdict_of("kernel_equals_reference", wrong);
  EXPECT_EQ(verdict.kind, kViolated);
  EXPECT_TRUE(verdict.witness);
}

/// A hole away from every edge, a quarter of the accepting side wide: edges cannot see it.
TEST(SubtlyWrongVerifier, WithAHoleAwayFromEveryEdgeFailsTheLaw) {
  class Holed final : public reference::Coins {
   public:
    explicit Holed(const reference::Coins& coins) : coins_(coins) {}
    std::uint64_t coin(const reference::CoinAddress& address) const override {
      const std::uint64_t coin = coins_.coin(address);
      const bool is_hit = address.purpose == reference::Purpose::kBonus && coin >> 58 == 9;
      return is_hit ? ~coin : coin;
    }

   private:
    const reference::Coins& coins_;
  };
  class Subject final : public reference::Verifier {
   public:
    const reference::VerifierTraits& traits() const override { return inner_->traits(); }
    Outcome verify(Batch& batch, const reference::Coins& coins, const Execution& how) override {
      return inner_->verify(batch, Holed(coins), how);
    }

   private:
    std::unique_ptr<reference::Verifier> inner_ = reference::verify::make_verifier("chain");
  } holed;
  EXPECT_EQ(kind_of("emitted_law_is_target_law", holed), kViolated);
  Altered whole(nullptr);
  const oracle::Verdict verdict = verdict_of("emitted_law_is_target_law", whole);
  EXPECT_EQ(verdict.kind, VerdictKind::kUpheld);
  EXPECT_THAT(verdict.assumption, ::testing::HasSubstr("would have been met"));
}

TEST(SubtlyWrongVerifier, ThatGivesNoAnswerIsNotSkipped) {
  for (const char* id : {"target_at_least_draft_is_accepted", "identity_draft_accepts_all",
                         "greedy_limits", "unjudgeable_rows_give_a_status"}) {
    Altered silent([](Outcome& outcome, Batch&, const Execution&) { outcome.requests.clear(); });
    EXPECT_EQ(kind_of(id, silent), kViolated) << id;
    Altered right(nullptr);
    EXPECT_EQ(kind_of(id, right), VerdictKind::kUpheld) << id;
  }
}

/// A black box that refuses to answer whenever it would have drawn token 1, or always.
TEST(SubtlyWrongVerifier, ThatRefusesWhatItDoesNotLikeFailsTheSampledLaw) {
  for (bool always : {false, true}) {
    Altered picky(each_outcome([always](RequestOutcome& out, const Request&) {
      if (!always && (out.emitted.empty() || out.emitted.back().token != 1)) return;
      out.emitted.clear();
      out.accepted_count = 0;
      out.status = Status::kNan;
    }));
    picky.traits().rule = "other";
    const oracle::Verdict verdict = verdict_of("emitted_law_is_target_law", picky);
    EXPECT_EQ(verdict.kind, kViolated);
    EXPECT_THAT(verdict.witness->observed, ::testing::HasSubstr("P(no token)"));
  }
}

/// Wrong once, and broken in the middle of the search for a smaller case: the violation stands.
TEST(SubtlyWrongVerifier, ThatBreaksDownAfterAViolationStaysViolated) {
  int calls = 0;
  Altered wrong([&](Outcome& outcome, Batch&, const Execution&) {
    if (++calls > 3) throw Error(ErrorKind::kEnvironment, "the device is gone");
    if (calls == 3) outcome.requests[0].emitted.clear();
  });
  EXPECT_EQ(kind_of("kernel_equals_reference", wrong), kViolated);
  Altered broken([](Outcome&, Batch&, const Execution&) {
    throw Error(ErrorKind::kEnvironment, "the device is gone");
  });
  EXPECT_EQ(kind_of("kernel_equals_reference", broken), VerdictKind::kInconclusive);
}

}  // namespace
}  // namespace draftproof::properties
