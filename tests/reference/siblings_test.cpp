// Sampled siblings, with and without replacement: hand-computed decisions, coin addresses, the
// order of judging, the shortened residual, and that one child is the chain rule bit for bit.
#include "reference/verify/siblings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "reference/verify/chain.h"
#include "reference/verify/target_only.h"
#include "tests/reference/big_integers.h"
#include "tests/reference/trees.h"

namespace draftproof::reference::verify {
namespace {

using testing::ElementsAre;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint64_t kLargest = ~std::uint64_t{0};
constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;

// At scale 1: (1/8, 1/4, 1/8, 1/2) and (1/8, 1/2, 1/4, 1/8).
const Row kTarget = {-2, -1, -2, 0};
const Row kDraft = {-2, 0, -1, -2};

using Judge = RequestOutcome (*)(const Batch&, const Request&, const Coins&);
const Judge kBoth[] = {with_replacement, without_replacement};

RequestOutcome judged(Judge judge, const Batch& batch, const Coins& coins) {
  return judge(batch, batch.requests[0], coins);
}

CoinAddress accept_coin(std::uint32_t slot) { return {0, 0, Purpose::kAccept, slot, 0}; }

/// Siblings 1 and 2 of one node.
Batch two_siblings() {
  return one_tree({1, 2}, {-1, -1}, {kTarget, kTarget, kTarget}, {kDraft, kDraft});
}

TEST(Siblings, TestTheFirstAsTheChainDoes) {
  ScriptedCoins coins(kLargest);
  for (const Judge judge : kBoth) {
    coins.set(accept_coin(0), kHalf - 1);  // ratio 1/2
    EXPECT_THAT(judged(judge, two_siblings(), coins).accepted_nodes, ElementsAre(0));
    coins.set(accept_coin(0), kHalf);
    EXPECT_THAT(judged(judge, two_siblings(), coins).accepted_nodes, ElementsAre());
  }
}

TEST(Siblings, TestTheSecondAgainstWhatTheFirstLeft) {
  // Target (1/8, 1/4, 1/8, 1/2) - draft (1/8, 1/2, 1/16, 5/16) = (0, -, 1/16, 3/16), which is
  // (1/4, 3/4) on tokens 2 and 3.
  Batch batch = one_tree({1, 2}, {-1, -1}, {{.125F, .25F, .125F, .5F}, kTarget, kTarget},
                         {{.125F, .5F, .0625F, .3125F}, {.125F, .5F, .0625F, .3125F}});
  batch.requests[0].target_rows[1] = batch.requests[0].target_rows[2] = {0, 0, 0, 1};
  batch.draft_kind = batch.target_kind = RowKind::kProbabilities;
  ScriptedCoins coins(kLargest);
  const auto taken = [&](Judge judge, std::uint64_t coin) {
    coins.set(accept_coin(1), coin);
    return judged(judge, batch, coins).accepted_count == 1;
  };
  // With replacement token 2 has 1/4 of the residual against 1/16: always. Without replacement it
  // has 1/16 of the remaining 1/2, so 1/8: always.
  for (const Judge judge : kBoth) EXPECT_TRUE(taken(judge, kLargest));
  // A second draft of (1/8, 1/8, 1/2, 1/4): 1/4 against 1/2 with replacement, against
  // (1/2) / (7/8) = 4/7 without: 7/16.
  batch.requests[0].proposal.rows[1] = {.125F, .125F, .5F, .25F};
  EXPECT_TRUE(taken(with_replacement, kHalf - 1));
  EXPECT_FALSE(taken(with_replacement, kHalf));
  EXPECT_TRUE(taken(without_replacement, 7 * (kHalf >> 3) - 1));
  EXPECT_FALSE(taken(without_replacement, 7 * (kHalf >> 3)));
}

TEST(Siblings, RecoverFromWhatAllOfThemLeft) {
  // Residual of the first: target - draft = (0, -, -, 3/8): all on token 3, so that token 2 is
  // never taken, and token 3 is recovered by every coin.
  for (const Judge judge : kBoth) {
    const RequestOutcome outcome = judged(judge, two_siblings(), ScriptedCoins(kLargest));
    EXPECT_THAT(outcome.emitted, ElementsAre(EmittedToken{3, Reason::kRecovered}));
    ScriptedCoins low(0);
    low.set(accept_coin(0), kLargest);
    EXPECT_THAT(judged(judge, two_siblings(), low).emitted,
                ElementsAre(EmittedToken{3, Reason::kRecovered}));
  }
}

TEST(Siblings, LookAtOneSlotForEachTestedSibling) {
  Batch batch =
      one_tree({1, 2, 0, 0}, {-1, -1, -1, 2}, {kTarget, kTarget, kTarget, kTarget, kTarget},
               {kDraft, kDraft, kDraft, kDraft});
  batch.requests[0].id = 4;
  batch.requests[0].position = 30;
  batch.requests[0].iteration = 3;
  const ScriptedCoins high(kLargest);
  const RecordingCoins coins(high);
  judged(with_replacement, batch, coins);
  EXPECT_THAT(coins.reads(), ElementsAre(CoinAddress{4, 30, Purpose::kAccept, 0, 0},
                                         CoinAddress{4, 30, Purpose::kAccept, 1, 0},
                                         CoinAddress{4, 30, Purpose::kAccept, 2, 0},
                                         CoinAddress{4, 30, Purpose::kRecovered, 0, 0}));
  // Equal laws: the first sibling is taken at every coin, and the bonus comes one position later.
  batch.requests[0].proposal.rows[0] = kTarget;
  const RecordingCoins taken(high);
  EXPECT_THAT(judged(with_replacement, batch, taken).accepted_nodes, ElementsAre(0));
  EXPECT_THAT(taken.reads(), ElementsAre(CoinAddress{4, 30, Purpose::kAccept, 0, 0},
                                         CoinAddress{4, 31, Purpose::kBonus, 0, 0}));
}

TEST(Siblings, PlaceholdersAreNotCountedAmongThem) {
  const Row unread = {kNan, kNan, kNan, kNan};
  const Batch batch = one_tree({1, kPlaceholder, 2}, {-1, -1, -1},
                               {kTarget, unread, unread, kTarget}, {kDraft, unread, kDraft});
  for (const Judge judge : kBoth)
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      RequestOutcome due = judged(judge, two_siblings(), PhiloxCoins(seed));
      if (due.accepted_nodes == std::vector<int>{0}) continue;  // its row is not to be read here
      for (int& node : due.accepted_nodes) node = 2;
      EXPECT_EQ(judged(judge, batch, PhiloxCoins(seed)), due);
    }
}

TEST(Siblings, AnEqualSiblingIsFineWithReplacementAndAStatusWithout) {
  const Batch batch = one_tree({1, 1}, {-1, -1}, {kTarget, kTarget, kTarget}, {kDraft, kDraft});
  EXPECT_EQ(judged(with_replacement, batch, ScriptedCoins(kLargest)).status, Status::kOk);
  const RequestOutcome outcome = judged(without_replacement, batch, ScriptedCoins(kLargest));
  EXPECT_EQ(outcome.status, Status::kDraftMassZero);
  EXPECT_EQ(outcome.status_position, 0);
  EXPECT_TRUE(outcome.emitted.empty());
  EXPECT_EQ(judged(without_replacement, batch, ScriptedCoins(0)).accepted_count, 1)
      << "what is not reached is not judged";
}

TEST(Siblings, OneHotSiblingsHaveTheTargetOnlyLaw) {
  // Each is kept with its target mass, and the rest is drawn without them; the coins are others.
  Batch batch = one_tree({1, 3}, {-1, -1}, {kTarget, kTarget, kTarget});
  ScriptedCoins coins(kLargest);
  for (const Judge judge : kBoth) {
    coins.set(accept_coin(0), kHalf / 2 - 1);
    EXPECT_THAT(judged(judge, batch, coins).accepted_nodes, ElementsAre(0));
    coins.set(accept_coin(0), kHalf / 2);  // then 1/2 of the remaining 3/4
    coins.set(accept_coin(1), 2 * (kLargest / 3));
    EXPECT_THAT(judged(judge, batch, coins).accepted_nodes, ElementsAre(1));
    coins.set(accept_coin(1), 2 * (kLargest / 3) + 1);
    EXPECT_THAT(judged(judge, batch, coins).emitted,
                ElementsAre(EmittedToken{2, Reason::kRecovered}));
  }
}

struct StatusCase {
  const char* name;
  Batch batch;
  Status status;
};

TEST(Siblings, CheckInTheDocumentedOrder) {
  const Row bad = {kInfinity, 0, 0, 0}, nan = {kNan, 0, 0, 0};
  const Row lacks_2 = {0, 0, -kInfinity, 0};
  const auto tree = [](Row base, Row first, Row second, Token second_token) {
    return one_tree({1, second_token}, {-1, -1}, {std::move(base), kTarget, kTarget},
                    {std::move(first), std::move(second)});
  };
  const StatusCase cases[] = {
      {"any id before the target row", tree(bad, kDraft, kDraft, 4), Status::kDraftTokenRange},
      {"the target row before a draft row", tree(bad, nan, kDraft, 2), Status::kPositiveInfinity},
      {"the first draft row", tree(kTarget, nan, kDraft, 2), Status::kNan},
      {"the second draft row once the first is rejected", tree(kTarget, kDraft, nan, 2),
       Status::kNan},
      {"a token beyond its law", tree(kTarget, kDraft, lacks_2, 2), Status::kDraftMassZero},
      {"nothing", tree(kTarget, kDraft, kDraft, 2), Status::kOk},
  };
  for (const StatusCase& entry : cases)
    for (const Judge judge : kBoth) {
      const RequestOutcome outcome = judged(judge, entry.batch, ScriptedCoins(kLargest));
      EXPECT_EQ(outcome.status, entry.status) << entry.name;
      EXPECT_EQ(outcome.accepted_count, 0) << entry.name;
      EXPECT_EQ(outcome.emitted.empty(), entry.status != Status::kOk) << entry.name;
    }
  // Behind a sibling that is taken nothing is read.
  for (const Judge judge : kBoth)
    EXPECT_EQ(judged(judge, tree(kTarget, kDraft, nan, 2), ScriptedCoins(0)).status, Status::kOk);
}

TEST(Siblings, OneChildIsTheChainRuleBitForBit) {
  std::mt19937 random(8);
  const auto row = [&] {
    Row logits;
    for (int v = 0; v < 4; ++v) logits.push_back(static_cast<float>(random() % 2000) / 300);
    return logits;
  };
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const auto token = [&] { return static_cast<Token>(random() % 4); };
    const Batch batch = one_request({token(), token()}, {row(), row(), row()}, {row(), row()});
    const PhiloxCoins coins(seed);
    const RequestOutcome due = chain(batch, batch.requests[0], coins);
    for (const Judge judge : kBoth) {
      RequestOutcome outcome = judged(judge, batch, coins);
      EXPECT_EQ(static_cast<int>(outcome.accepted_nodes.size()), due.accepted_count);
      outcome.accepted_nodes.clear();
      EXPECT_EQ(outcome, due);
    }
  }
}

TEST(Shortened, KeepsSmallSumsAndShiftsLargeOnes) {
  const MassRow small = shortened({3, 0, (WideMass{1} << 62) - 4});
  EXPECT_THAT(small.mass, ElementsAre(3, 0, (Mass{1} << 62) - 4));
  EXPECT_EQ(small.total, (Mass{1} << 62) - 1);
  // A sum of 63 bits: one shift, 3 becomes 1.
  const MassRow one = shortened({3, WideMass{1} << 62});
  EXPECT_THAT(one.mass, ElementsAre(1, Mass{1} << 61));
  EXPECT_EQ(one.total, (Mass{1} << 61) + 1);
  // 126 bits, as the largest residuals have.
  const MassRow most = shortened({(WideMass{1} << 125) + 5, WideMass{1} << 63, 7});
  EXPECT_THAT(most.mass, ElementsAre(Mass{1} << 61, 0, 0));
}

TEST(Shortened, OfTheLargestResidualsFitsTheNextTest) {
  // Totals of 2^63 - 1 that share next to nothing; four siblings in a row.
  constexpr Mass kMost = (Mass{1} << 63) - 1;
  MassRow left{{kMost - 3, 1, 1, 1}, kMost, Status::kOk};
  const MassRow draft{{1, kMost - 3, 1, 1}, kMost, Status::kOk};
  for (int j = 0; j < 4; ++j) {
    const std::vector<WideMass> weights = residual(left, draft);
    BigInteger sum = 0;
    for (std::size_t v = 0; v < 4; ++v) {
      const BigInteger due =
          BigInteger(left.mass[v]) * draft.total - BigInteger(draft.mass[v]) * left.total;
      EXPECT_EQ(big(weights[v]), due > 0 ? due : BigInteger(0));
      sum += big(weights[v]);
    }
    EXPECT_LT(sum, BigInteger(1) << 126);
    const MassRow next = shortened(weights);
    BigInteger total = 0;
    for (const Mass mass : next.mass) total += mass;
    EXPECT_EQ(BigInteger(next.total), total);
    EXPECT_LT(total, BigInteger(1) << 62);
    EXPECT_GE(total + 4, BigInteger(1) << 61);
    // The decision is the exact comparison at both ends of the coins.
    for (const std::uint64_t coin : {std::uint64_t{0}, kLargest}) {
      const BigInteger draft_side = BigInteger(draft.mass[0]) * next.total;
      const BigInteger target_side = BigInteger(next.mass[0]) * draft.total;
      EXPECT_EQ(accepts(coin, next, draft, 0), draft_side * coin >> 64 < target_side);
    }
    left = next;
  }
}

}  // namespace
}  // namespace draftproof::reference::verify
