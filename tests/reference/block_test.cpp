// The block rule: single decisions, coin addresses, the order of judging, and that it reads all.
#include "reference/verify/block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/error.h"
#include "reference/verify/chain.h"
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
const Row kOnly0 = {0, -kInfinity, -kInfinity};

RequestOutcome judged(const Batch& batch, const Coins& coins) {
  return block(batch, batch.requests[0], coins);
}

CoinAddress at(std::uint32_t position, Purpose purpose) { return {0, position, purpose, 0, 0}; }

std::vector<EmittedToken> emitted(std::vector<Token> accepted, Token last, Reason reason) {
  std::vector<EmittedToken> tokens;
  for (const Token token : accepted) tokens.push_back({token, Reason::kAccepted});
  tokens.push_back({last, reason});
  return tokens;
}

TEST(BlockVerify, KeepsTheWholeDraftByTheProductOfItsRatios) {
  // Ratios 1/2 and 1/2: P_2 = 1/4, so that the whole draft is kept below 2^62.
  const Batch batch = one_request({1, 1}, {kTarget, kTarget, kTarget}, {kDraft, kDraft});
  ScriptedCoins coins;
  coins.set(at(1, Purpose::kAccept), (std::uint64_t{1} << 62) - 1);
  EXPECT_EQ(judged(batch, coins).emitted, emitted({1, 1}, 0, Reason::kBonus));
  coins.set(at(1, Purpose::kAccept), std::uint64_t{1} << 62);
  // Behind token 1 half the target exceeds the draft nowhere: S_1 = 0, no coin keeps prefix 1.
  EXPECT_EQ(judged(batch, coins).emitted, emitted({}, 0, Reason::kRecovered));
}

TEST(BlockVerify, ARatioAboveOneMakesUpForOneBelow) {
  // Ratios 1/2 and 2: the chain would reject token 1 at half of its coins, the block at none.
  const Batch batch = one_request({1, 0}, {kTarget, kTarget, kTarget}, {kDraft, kDraft});
  const ScriptedCoins coins(kLargest);
  EXPECT_EQ(chain(batch, batch.requests[0], coins).accepted_count, 0);
  EXPECT_EQ(judged(batch, coins).accepted_count, 2);
}

TEST(BlockVerify, KeepsAPrefixBelowItsShareAndNotAtIt) {
  // P_1 = 1/2; behind it target (1, 0, 0), draft (1/4, 1/2, 1/4): S_1 = 1/4, d_1 = 3/4, so that
  // prefix 1 is kept by a third of the coins. Token 1 has no target mass there: P_2 = 0.
  const Batch batch = one_request({1, 1}, {kTarget, kOnly0, kTarget}, {kDraft, kDraft});
  ScriptedCoins coins;
  const std::uint64_t third = kLargest / 3;  // 2^64 = 3 third + 1
  coins.set(at(0, Purpose::kAccept), third);
  EXPECT_EQ(judged(batch, coins).emitted, emitted({1}, 0, Reason::kRecovered));
  coins.set(at(0, Purpose::kAccept), third + 1);
  EXPECT_EQ(judged(batch, coins).emitted, emitted({}, 0, Reason::kRecovered));
}

TEST(BlockVerify, RecoversFromTheTargetScaledByTheRatio) {
  // P_1 = 1/2: of target (1/2, 1/4, 1/4) and draft (1/8, 1/16, 13/16) it leaves (1/8, 1/16, 0).
  const MassRow target{{8, 4, 4}, 16, Status::kOk};
  const MassRow draft{{2, 1, 13}, 16, Status::kOk};
  const std::vector<Wide> weights = block_residual(kWholeRatio / 2, target, draft);
  EXPECT_EQ(weights[0], Wide::product(kWholeRatio, 32));  // (1/4 - 1/8) 16 16
  EXPECT_EQ(weights[1], Wide::product(kWholeRatio, 16));
  EXPECT_EQ(weights[2], Wide());
  const std::uint64_t third = kLargest / 3;
  EXPECT_EQ(draw(2 * third, weights), 0);
  EXPECT_EQ(draw(2 * third + 1, weights), 1);
  EXPECT_EQ(draw(kLargest, weights), 1);
  // S_1 = 3/16, d_1 = 11/16: 3/11 of the coins.
  const std::uint64_t last = static_cast<std::uint64_t>((WideMass{3} << 64) / 11);
  EXPECT_TRUE(is_candidate(last, kWholeRatio / 2, target, draft));
  EXPECT_FALSE(is_candidate(last + 1, kWholeRatio / 2, target, draft));
}

TEST(BlockVerify, CarriesRatiosRoundedDown) {
  const MassRow three{{1, 2}, 3, Status::kOk}, one{{1, 0}, 1, Status::kOk};
  const PrefixRatio third = carried(kWholeRatio, three, one, 0);
  EXPECT_EQ(third, kWholeRatio / 3);
  EXPECT_EQ(carried(third, three, one, 0), kWholeRatio / 9);
  EXPECT_EQ(carried(1, three, one, 0), 0U);
  EXPECT_EQ(carried(third, one, three, 0), kWholeRatio - 1);  // 3 floor(2^62 / 3)
  EXPECT_EQ(carried(third + 1, one, three, 0), kWholeRatio);
  EXPECT_EQ(carried(kWholeRatio, one, three, 1), 0U);
  EXPECT_THROW(carried(kWholeRatio, three, one, 1), BrokenInvariant);
}

TEST(BlockVerify, LooksAtTheCoinsOfThisIteration) {
  Batch batch = one_request({1, 1}, {kTarget, kOnly0, kTarget}, {kDraft, kDraft});
  batch.requests[0].id = 9;
  batch.requests[0].position = 100;
  batch.requests[0].iteration = 5;
  const ScriptedCoins all_high(kLargest);
  const RecordingCoins coins(all_high);
  EXPECT_EQ(judged(batch, coins).accepted_count, 0);
  EXPECT_THAT(coins.reads(),
              testing::UnorderedElementsAre(CoinAddress{9, 100, Purpose::kAccept, 0, 5},
                                            CoinAddress{9, 101, Purpose::kAccept, 0, 5},
                                            CoinAddress{9, 100, Purpose::kRecovered, 0, 5}));
  const ScriptedCoins all_low(0);
  const RecordingCoins low(all_low);
  batch.requests[0].proposal.tokens = {1, 0};
  EXPECT_EQ(judged(batch, low).accepted_count, 2);
  EXPECT_THAT(low.reads(), testing::Contains(CoinAddress{9, 102, Purpose::kBonus, 0, 5}));
}

TEST(BlockVerify, APlaceholderEndsTheBlock) {
  const Row bad = {kNan, kNan, kNan};
  const Batch batch =
      one_request({1, kPlaceholder, 99}, {kTarget, kTarget, bad, bad}, {kDraft, bad, bad});
  const Batch shorter = one_request({1}, {kTarget, kTarget}, {kDraft});
  for (const std::uint64_t coin : {std::uint64_t{0}, kLargest / 3, kLargest})
    EXPECT_EQ(judged(batch, ScriptedCoins(coin)), judged(shorter, ScriptedCoins(coin)));
  EXPECT_EQ(judged(batch, ScriptedCoins(0)).emitted, emitted({1}, 0, Reason::kBonus));
  const Batch empty = one_request({}, {kTarget}, {});
  EXPECT_EQ(judged(empty, ScriptedCoins(kLargest)).emitted, emitted({}, 2, Reason::kBonus));
}

struct StatusCase {
  const char* name;
  Batch batch;
  Status status;
  int position;
};

TEST(BlockVerify, AnyRowThatCannotBeJudgedEndsItWithNothingAccepted) {
  const Row bad_target = {kInfinity, 0, 0};
  const Row bad_draft = {kNan, 0, 0};
  const Row lacks_token_1 = {0, -kInfinity, 0};
  const StatusCase cases[] = {
      {"the id before the target row",
       one_request({0, 3}, {kTarget, bad_target, kTarget}, {kDraft, bad_draft}),
       Status::kDraftTokenRange, 1},
      {"a negative id that is no placeholder",
       one_request({0, -2}, {kTarget, bad_target, kTarget}, {kDraft, bad_draft}),
       Status::kDraftTokenRange, 1},
      {"the target row before the draft row",
       one_request({0, 1}, {kTarget, bad_target, kTarget}, {kDraft, bad_draft}),
       Status::kPositiveInfinity, 1},
      {"the draft row before its mass",
       one_request({0, 1}, {kTarget, kTarget, kTarget}, {kDraft, bad_draft}), Status::kNan, 1},
      {"a token that its law excludes",
       one_request({0, 1}, {kTarget, kTarget, kTarget}, {kDraft, lacks_token_1}),
       Status::kDraftMassZero, 1},
      {"the first of two",
       one_request({0, 1}, {kTarget, bad_target, {kNan, 0, 0}}, {kDraft, kDraft}),
       Status::kPositiveInfinity, 1},
      {"the bonus row, whether or not it is reached",
       one_request({1, 1}, {kTarget, kTarget, bad_target}, {kDraft, kDraft}),
       Status::kPositiveInfinity, 2},
      {"the bonus row of a placeholder",
       one_request({0, kPlaceholder}, {kTarget, bad_target, kTarget}, {kDraft, kDraft}),
       Status::kPositiveInfinity, 1},
      {"all -inf", one_request({0}, {{-kInfinity, -kInfinity, -kInfinity}, kTarget}, {kDraft}),
       Status::kEmptyRow, 0},
  };
  for (const StatusCase& entry : cases) {
    for (const std::uint64_t coin : {std::uint64_t{0}, kLargest}) {
      const RequestOutcome outcome = judged(entry.batch, ScriptedCoins(coin));
      EXPECT_EQ(outcome.status, entry.status) << entry.name;
      EXPECT_EQ(outcome.status_position, entry.position) << entry.name;
      EXPECT_EQ(outcome.accepted_count, 0) << entry.name;
      EXPECT_TRUE(outcome.emitted.empty()) << entry.name;
    }
  }
}

TEST(BlockVerify, OneDraftedTokenIsJudgedAsInTheChain) {
  // Ratios 1/2, 2 and 1 are whole in 62 bits, so the decisions agree coin by coin.
  for (const Token token : {0, 1, 2}) {
    const Batch batch = one_request({token}, {kTarget, kTarget}, {kDraft});
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      const PhiloxCoins coins(seed);
      EXPECT_EQ(judged(batch, coins), chain(batch, batch.requests[0], coins));
    }
    for (const std::uint64_t coin :
         {std::uint64_t{0}, kLargest >> 1, (kLargest >> 1) + 1, kLargest})
      EXPECT_EQ(judged(batch, ScriptedCoins(coin)),
                chain(batch, batch.requests[0], ScriptedCoins(coin)));
  }
}

TEST(BlockVerify, EqualLawsAcceptEveryCoin) {
  const Row rows[] = {{0.3F, -7, 2.5F}, {1, 0.1F, -30}, {-2, 0, 0.7F}};
  const Batch batch =
      one_request({2, 0, 1}, {rows[0], rows[1], rows[2], kTarget}, {rows[0], rows[1], rows[2]});
  EXPECT_EQ(judged(batch, ScriptedCoins(kLargest)).accepted_count, 3);
  EXPECT_EQ(judged(batch, ScriptedCoins(0)).accepted_count, 3);
}

TEST(BlockVerify, OneHotDraftsAreKeptByTheProductOfTheTargets) {
  Batch batch = one_request({1, 0}, {kTarget, kTarget, kTarget}, {});
  batch.draft_kind = RowKind::kOneHot;
  ScriptedCoins coins(kLargest);
  coins.set(at(1, Purpose::kAccept), (std::uint64_t{1} << 61) - 1);  // 1/4 1/2
  EXPECT_EQ(judged(batch, coins).accepted_count, 2);
  coins.set(at(1, Purpose::kAccept), std::uint64_t{1} << 61);
  EXPECT_EQ(judged(batch, coins).accepted_count, 0);
  // S_1 = P_1 (1 - 1/2) = 1/8, d_1 = 1/8 + 3/4: a seventh of the coins keeps prefix 1.
  coins.set(at(0, Purpose::kAccept), kLargest / 7);
  EXPECT_EQ(judged(batch, coins).emitted, emitted({1}, 2, Reason::kRecovered));
  coins.set(at(0, Purpose::kAccept), kLargest / 7 + 1);
  EXPECT_EQ(judged(batch, coins).accepted_count, 0);
}

TEST(BlockVerify, GreedyRequestsKeepExactlyTheFirstMaximum) {
  Batch batch = one_request({0, 0}, {{2, 2, 1}, {1, 2, 2}, kTarget}, {{5, 1, 1}, {5, 1, 1}});
  batch.requests[0].sampling.temperature = 0;
  for (const std::uint64_t coin : {std::uint64_t{0}, kLargest})
    EXPECT_EQ(judged(batch, ScriptedCoins(coin)).emitted, emitted({0}, 1, Reason::kRecovered));
}

TEST(BlockVerify, IsForChains) {
  Batch tree = one_request({0, 0}, {kTarget, kTarget, kTarget}, {kDraft, kDraft});
  tree.requests[0].proposal.parents = {-1, -1};
  EXPECT_THROW(make_verifier("block")->verify(tree, PhiloxCoins(1), {}), BrokenInvariant);
}

}  // namespace
}  // namespace draftproof::reference::verify
