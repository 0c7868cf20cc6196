// The chain rule: single decisions, coin addresses, the order of judging, and what is not read.
#include "reference/verify/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/error.h"
#include "reference/verify/verifiers.h"
#include "tests/reference/batches.h"

namespace draftproof::reference::verify {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint64_t kLargest = ~std::uint64_t{0};

// Masses at scale 1: (1/2, 1/4, 1/4) and (1/4, 1/2, 1/4) of 2^45.
const Row kTarget = {0, -1, -1};
const Row kDraft = {-1, 0, -1};

RequestOutcome judged(const Batch& batch, const Coins& coins) {
  return chain(batch, batch.requests[0], coins);
}

EmittedToken accepted(Token token) { return {token, Reason::kAccepted}; }

TEST(ChainVerify, AcceptsBelowTheRatioAndNotAtIt) {
  // Token 1: target / draft = 1/2, so that the first rejecting coin is 2^63.
  const Batch batch = one_request({1}, {kTarget, kTarget}, {kDraft});
  ScriptedCoins coins;
  coins.set({0, 0, Purpose::kAccept}, (std::uint64_t{1} << 63) - 1);
  EXPECT_EQ(judged(batch, coins).accepted_count, 1);
  coins.set({0, 0, Purpose::kAccept}, std::uint64_t{1} << 63);
  const RequestOutcome outcome = judged(batch, coins);
  EXPECT_EQ(outcome.accepted_count, 0);
  // The residual is all on token 0: the only one the target has more of.
  EXPECT_THAT(outcome.emitted, testing::ElementsAre(EmittedToken{0, Reason::kRecovered}));
}

TEST(ChainVerify, BonusIsTheFirstTokenWhosePrefixExceedsTheCoin) {
  const Batch batch = one_request({}, {kTarget}, {});
  const auto bonus = [&](std::uint64_t coin) {
    ScriptedCoins coins;
    coins.set({0, 0, Purpose::kBonus}, coin);
    const RequestOutcome outcome = judged(batch, coins);
    EXPECT_EQ(outcome.emitted.at(0).reason, Reason::kBonus);
    return outcome.emitted.at(0).token;
  };
  EXPECT_EQ(bonus(0), 0);
  EXPECT_EQ(bonus((std::uint64_t{1} << 63) - 1), 0);
  EXPECT_EQ(bonus(std::uint64_t{1} << 63), 1);
  EXPECT_EQ(bonus((std::uint64_t{3} << 62) - 1), 1);
  EXPECT_EQ(bonus(std::uint64_t{3} << 62), 2);
  EXPECT_EQ(bonus(kLargest), 2);
}

TEST(ChainVerify, LooksAtExactlyTheCoinsOfItsPath) {
  Batch batch =
      one_request({0, 0, 1}, {kTarget, kTarget, kTarget, kTarget}, {kDraft, kDraft, kDraft});
  batch.requests[0].id = 9;
  batch.requests[0].position = 100;
  using testing::ElementsAre;
  const ScriptedCoins all_low(0);
  const RecordingCoins low(all_low);
  EXPECT_EQ(judged(batch, low).accepted_count, 3);
  EXPECT_THAT(
      low.reads(),
      ElementsAre(CoinAddress{9, 100, Purpose::kAccept}, CoinAddress{9, 101, Purpose::kAccept},
                  CoinAddress{9, 102, Purpose::kAccept}, CoinAddress{9, 103, Purpose::kBonus}));
  const ScriptedCoins all_high(kLargest);
  const RecordingCoins high(all_high);
  EXPECT_EQ(judged(batch, high).accepted_count, 2) << "target >= draft holds for token 0";
  EXPECT_THAT(
      high.reads(),
      ElementsAre(CoinAddress{9, 100, Purpose::kAccept}, CoinAddress{9, 101, Purpose::kAccept},
                  CoinAddress{9, 102, Purpose::kAccept}, CoinAddress{9, 102, Purpose::kRecovered}));
}

TEST(ChainVerify, APlaceholderEndsTheDraftWithABonus) {
  Batch batch = one_request({0, kPlaceholder, 99}, {kTarget, kTarget, {kNan, 0, 0}, {kNan, 0, 0}},
                            {kDraft, {kNan, kNan, kNan}, {kNan, 0, 0}});
  const ScriptedCoins none;
  const RecordingCoins coins(none);
  const RequestOutcome outcome = judged(batch, coins);
  EXPECT_EQ(outcome.status, Status::kOk);
  EXPECT_THAT(outcome.emitted, testing::ElementsAre(accepted(0), EmittedToken{0, Reason::kBonus}));
  EXPECT_THAT(coins.reads(), testing::ElementsAre(CoinAddress{0, 0, Purpose::kAccept},
                                                  CoinAddress{0, 1, Purpose::kBonus}));
}

struct StatusCase {
  const char* name;
  Batch batch;
  Status status;
};

TEST(ChainVerify, ChecksInTheDocumentedOrder) {
  const Row bad_target = {kInfinity, 0, 0};
  const Row bad_draft = {kNan, 0, 0};
  const Row lacks_token_1 = {0, -kInfinity, 0};
  const StatusCase cases[] = {
      {"the id before the target row",
       one_request({0, 3}, {kTarget, bad_target, kTarget}, {kDraft, bad_draft}),
       Status::kDraftTokenRange},
      {"a negative id that is no placeholder",
       one_request({0, -2}, {kTarget, bad_target, kTarget}, {kDraft, bad_draft}),
       Status::kDraftTokenRange},
      {"the target row before the draft row",
       one_request({0, 1}, {kTarget, bad_target, kTarget}, {kDraft, bad_draft}),
       Status::kPositiveInfinity},
      {"the draft row before its mass",
       one_request({0, 1}, {kTarget, kTarget, kTarget}, {kDraft, bad_draft}), Status::kNan},
      {"a token that its law excludes",
       one_request({0, 1}, {kTarget, kTarget, kTarget}, {kDraft, lacks_token_1}),
       Status::kDraftMassZero},
      {"the bonus row when the draft ends there",
       one_request({0, kPlaceholder}, {kTarget, bad_target, kTarget}, {kDraft, bad_draft}),
       Status::kPositiveInfinity},
      {"the bonus row behind the last drafted token",
       one_request({0}, {kTarget, bad_target}, {kDraft}), Status::kPositiveInfinity},
  };
  for (const StatusCase& entry : cases) {
    const RequestOutcome outcome = judged(entry.batch, ScriptedCoins(0));
    EXPECT_EQ(outcome.status, entry.status) << entry.name;
    EXPECT_EQ(outcome.status_position, 1) << entry.name;
    EXPECT_EQ(outcome.accepted_count, 1) << entry.name;
    EXPECT_THAT(outcome.emitted, testing::ElementsAre(accepted(0))) << entry.name;
  }
}

TEST(ChainVerify, NothingBehindTheFirstRejectionIsRead) {
  const Row bad = {kNan, kNan, kNan};
  const Batch batch = one_request({1, 77}, {kTarget, bad, bad}, {kDraft, bad});
  const RequestOutcome outcome = judged(batch, ScriptedCoins(kLargest));
  EXPECT_EQ(outcome.status, Status::kOk);
  EXPECT_EQ(outcome.accepted_count, 0);
}

TEST(ChainVerify, ATokenOfTargetMassZeroIsRejectedEvenByCoinZero) {
  const Batch batch = one_request({1}, {{0, -kInfinity, 0}, kTarget}, {kDraft});
  EXPECT_EQ(judged(batch, ScriptedCoins(0)).accepted_count, 0);
  Batch one_hot_draft = one_request({1}, {{0, -100, 0}, kTarget}, {});
  one_hot_draft.draft_kind = RowKind::kOneHot;
  EXPECT_EQ(judged(one_hot_draft, ScriptedCoins(0)).accepted_count, 0);
}

TEST(ChainVerify, EqualLawsAcceptEveryCoin) {
  for (const Row& row : {kTarget, Row{0.3F, -7, 2.5F}, Row{-kInfinity, 1, -30}}) {
    const Token drafted = row[0] < -1e9F ? 1 : 0;
    const Batch batch = one_request({drafted}, {row, kTarget}, {row});
    EXPECT_EQ(judged(batch, ScriptedCoins(kLargest)).accepted_count, 1);
  }
}

TEST(ChainVerify, OneHotDraftsAreKeptWithTheTargetsProbability) {
  Batch batch = one_request({1}, {kTarget, kTarget}, {});
  batch.draft_kind = RowKind::kOneHot;
  EXPECT_EQ(judged(batch, ScriptedCoins((std::uint64_t{1} << 62) - 1)).accepted_count, 1);
  EXPECT_EQ(judged(batch, ScriptedCoins(std::uint64_t{1} << 62)).accepted_count, 0);
}

TEST(ChainVerify, ProbabilitiesAreFinalLaws) {
  Batch batch = one_request({1}, {{.5F, .25F, .25F}, {0, 0, 1}}, {{.25F, .5F, .25F}});
  batch.draft_kind = batch.target_kind = RowKind::kProbabilities;
  batch.requests[0].sampling.top_k = 1;  // shapes logits only
  const RequestOutcome outcome = judged(batch, ScriptedCoins((std::uint64_t{1} << 63) - 1));
  EXPECT_THAT(outcome.emitted, testing::ElementsAre(accepted(1), EmittedToken{2, Reason::kBonus}));
  batch.requests[0].proposal.rows[0][2] = 1.5F;
  EXPECT_EQ(judged(batch, ScriptedCoins(0)).status, Status::kBadProbability);
}

TEST(ChainVerify, GreedyRequestsKeepExactlyTheFirstMaximum) {
  Batch batch = one_request({0, 0}, {{2, 2, 1}, {1, 2, 2}, kTarget}, {{5, 1, 1}, {5, 1, 1}});
  batch.requests[0].sampling.temperature = 0;
  for (std::uint64_t coin : {std::uint64_t{0}, kLargest})
    EXPECT_THAT(judged(batch, ScriptedCoins(coin)).emitted,
                testing::ElementsAre(accepted(0), EmittedToken{1, Reason::kRecovered}));
}

TEST(ReferenceVerifier, AnswersPerRequestAndNamesItsRule) {
  Batch batch = one_request({}, {kTarget}, {});
  batch.requests.push_back(batch.requests[0]);
  batch.requests[1].id = 1;
  const Batch before = batch;
  for (const std::string& rule : rules()) {
    const auto verifier = make_verifier(rule);
    EXPECT_EQ(verifier->traits().name, "reference");
    EXPECT_EQ(verifier->traits().rule, rule);
    EXPECT_EQ(verifier->verify(batch, PhiloxCoins(1), {}).requests.size(), 2U);
    EXPECT_EQ(batch, before);
  }
}

TEST(ReferenceVerifier, RefusesWhatItCannotJudge) {
  try {
    make_verifier("chian");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("chain, greedy"));
  }
  Batch tree = one_request({0, 0}, {kTarget, kTarget, kTarget}, {kDraft, kDraft});
  tree.requests[0].proposal.parents = {-1, -1};
  EXPECT_THROW(make_verifier("chain")->verify(tree, PhiloxCoins(1), {}), BrokenInvariant);
  Batch unequal = one_request({0}, {kTarget}, {kDraft});
  EXPECT_THROW(make_verifier("chain")->verify(unequal, PhiloxCoins(1), {}), BrokenInvariant);
}

}  // namespace
}  // namespace draftproof::reference::verify
