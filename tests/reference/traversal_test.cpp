// Traversal verification on integer masses: hand-computed rates, coin addresses, the order of
// judging, that it reads all nodes, and what it leaves of a parent.
#include "reference/verify/traversal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "reference/error.h"
#include "tests/reference/big_integers.h"
#include "tests/reference/trees.h"

namespace draftproof::reference::verify {
namespace {

using testing::ElementsAre;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint64_t kLargest = ~std::uint64_t{0};

// At scale 1: (1/2, 1/4, 1/4), (1/4, 1/2, 1/4), and all on token 0.
const Row kTarget = {0, -1, -1};
const Row kDraft = {-1, 0, -1};
const Row kOnly0 = {0, -kInfinity, -kInfinity};

RequestOutcome judged(const Batch& batch, const Coins& coins) {
  return traversal(batch, batch.requests[0], coins);
}

CoinAddress accept_coin(std::uint32_t depth, std::uint32_t node) {
  return {0, depth - 1, Purpose::kAccept, node, 0};
}

TEST(Traversal, AcceptsALeafByTheProductOfItsRatios) {
  const Batch batch = one_request({1, 1}, {kTarget, kTarget, kTarget}, {kDraft, kDraft});
  ScriptedCoins coins(kLargest);
  coins.set(accept_coin(2, 1), (std::uint64_t{1} << 62) - 1);  // 1/2 1/2
  EXPECT_THAT(judged(batch, coins).accepted_nodes, ElementsAre(0, 1));
  coins.set(accept_coin(2, 1), std::uint64_t{1} << 62);
  EXPECT_THAT(judged(batch, coins).accepted_nodes, ElementsAre());
}

TEST(Traversal, GoesOnWithTheParentOfALeafThatWasTakenAway) {
  // As in the block: rate 1/2, target (1, 0, 0) against draft (1/4, 1/2, 1/4) leaves S = 1/4 and
  // the rate 1/4 : 3/4, a third of the coins.
  const Batch batch = one_request({1, 1}, {kTarget, kOnly0, kTarget}, {kDraft, kDraft});
  ScriptedCoins coins(kLargest);
  const std::uint64_t third = (kWholeRatio / 3) << 2;  // coins below the rate rounded down
  coins.set(accept_coin(1, 0), third - 1);
  EXPECT_THAT(judged(batch, coins).emitted,
              ElementsAre(EmittedToken{1, Reason::kAccepted}, EmittedToken{0, Reason::kRecovered}));
  coins.set(accept_coin(1, 0), third);
  EXPECT_THAT(judged(batch, coins).emitted, ElementsAre(EmittedToken{0, Reason::kRecovered}));
}

TEST(Traversal, TriesTheNextSiblingAgainstWhatIsLeft) {
  // Node 0 (token 1) has the rate 1/2. Taken away it leaves target - draft = (1/4, 0, 0): all on
  // token 0, so that node 1 (token 0) is accepted at every coin and node 2 (token 2) never.
  ScriptedCoins coins(kLargest);
  for (const Token second : {0, 2}) {
    const Batch batch =
        one_tree({1, second}, {-1, -1}, {kTarget, kTarget, kTarget}, {kDraft, kDraft});
    const RequestOutcome outcome = judged(batch, coins);
    EXPECT_THAT(outcome.emitted[0].token, 0);
    EXPECT_EQ(outcome.accepted_count, second == 0 ? 1 : 0);
  }
}

TEST(Traversal, LooksAtTheCoinOfEachNodeThatItLeaves) {
  Batch batch = one_tree({1, 1, 2}, {-1, 0, -1}, {kTarget, kOnly0, kTarget, kTarget},
                         {kDraft, kDraft, kDraft});
  batch.requests[0].id = 3;
  batch.requests[0].position = 40;
  batch.requests[0].iteration = 8;
  const ScriptedCoins high(kLargest);
  const RecordingCoins coins(high);
  judged(batch, coins);
  EXPECT_THAT(coins.reads(), ElementsAre(CoinAddress{3, 41, Purpose::kAccept, 1, 8},
                                         CoinAddress{3, 40, Purpose::kAccept, 0, 8},
                                         CoinAddress{3, 40, Purpose::kAccept, 2, 8},
                                         CoinAddress{3, 40, Purpose::kRecovered, 0, 8}));
  batch.requests[0].proposal.rows.assign(3, kTarget);
  batch.requests[0].proposal.rows[1] = kOnly0;
  batch.requests[0].proposal.tokens[1] = 0;
  const RecordingCoins all(high);  // equal rows: the first leaf is accepted at every coin
  EXPECT_THAT(judged(batch, all).accepted_nodes, ElementsAre(0, 1));
  EXPECT_THAT(all.reads(), ElementsAre(CoinAddress{3, 41, Purpose::kAccept, 1, 8},
                                       CoinAddress{3, 42, Purpose::kBonus, 0, 8}));
}

struct StatusCase {
  const char* name;
  Batch batch;
  Status status;
  int position;
};

TEST(Traversal, AnyNodeThatCannotBeJudgedEndsItWithNothingAccepted) {
  const Row bad = {kInfinity, 0, 0}, nan = {kNan, 0, 0}, lacks_1 = {0, -kInfinity, 0};
  // Nodes: 0 at the base, 1 behind it, 2 beside it.
  const auto tree = [](std::vector<Token> tokens, std::vector<Row> target, std::vector<Row> draft) {
    return one_tree(std::move(tokens), {-1, 0, -1}, std::move(target), std::move(draft));
  };
  const StatusCase cases[] = {
      {"the base first", tree({7, 0, 0}, {bad, nan, kTarget, kTarget}, {nan, kDraft, kDraft}),
       Status::kPositiveInfinity, 0},
      {"an id before its rows", tree({0, 7, 0}, {kTarget, kTarget, nan, nan}, {kDraft, nan, nan}),
       Status::kDraftTokenRange, 1},
      {"the draft row before the row behind it",
       tree({0, 0, 0}, {kTarget, bad, kTarget, kTarget}, {nan, kDraft, kDraft}), Status::kNan, 0},
      {"no draft mass",
       tree({0, 1, 0}, {kTarget, kTarget, bad, kTarget}, {kDraft, lacks_1, kDraft}),
       Status::kDraftMassZero, 1},
      {"the last row of all",
       tree({0, 0, 0}, {kTarget, kTarget, kTarget, bad}, {kDraft, kDraft, kDraft}),
       Status::kPositiveInfinity, 3},
  };
  for (const StatusCase& entry : cases)
    for (const std::uint64_t coin : {std::uint64_t{0}, kLargest}) {
      const RequestOutcome outcome = judged(entry.batch, ScriptedCoins(coin));
      EXPECT_EQ(outcome.status, entry.status) << entry.name;
      EXPECT_EQ(outcome.status_position, entry.position) << entry.name;
      EXPECT_TRUE(outcome.emitted.empty() && outcome.accepted_nodes.empty()) << entry.name;
    }
}

TEST(Traversal, APlaceholderIsNoNodeAndNothingContinuesIt) {
  const Row unread = {kNan, kNan, kNan};
  const Batch batch = one_tree({kPlaceholder, 99, 1}, {-1, 0, -1},
                               {kTarget, unread, unread, kTarget}, {unread, unread, kDraft});
  ScriptedCoins coins(kLargest);
  EXPECT_THAT(judged(batch, coins).emitted, ElementsAre(EmittedToken{0, Reason::kRecovered}));
  coins.set(accept_coin(1, 2), 0);
  EXPECT_THAT(judged(batch, coins).accepted_nodes, ElementsAre(2));
  EXPECT_THAT(judged(one_request({}, {kTarget}, {}), coins).emitted,
              ElementsAre(EmittedToken{2, Reason::kBonus}));
}

TEST(Traversal, LeavesWhatTheFormulasSay) {
  std::mt19937_64 random(12);
  constexpr Mass kMost = (Mass{1} << 63) - 1;
  int whole = 0, part = 0, empty = 0;
  for (int i = 0; i < 20000; ++i) {
    Rest rest;
    MassRow draft;
    const bool is_large = random() % 4 == 0;
    for (int v = 0; v < 3; ++v) {
      rest.row.mass.push_back(is_large ? random() % 3 : random() >> (2 + random() % 62));
      draft.mass.push_back(is_large ? random() % 3 : random() >> (2 + random() % 62));
    }
    if (is_large) rest.row.mass[0] = draft.mass[random() % 2] = kMost - 4;
    for (const Mass mass : rest.row.mass) rest.row.total += mass;
    for (const Mass mass : draft.mass) draft.total += mass;
    if (rest.row.total == 0 || draft.total == 0) continue;
    if (random() % 3 > 0) rest.rate = 1 + (random() >> (2 + random() % 62));
    BigInteger sum = 0;
    std::vector<BigInteger> weights;
    for (std::size_t v = 0; v < 3; ++v) {
      const BigInteger due = BigInteger(rest.rate) * rest.row.mass[v] * draft.total -
                             (BigInteger(draft.mass[v]) * rest.row.total << 62);
      weights.push_back(due > 0 ? due : BigInteger(0));
      sum += weights.back();
    }
    const BigInteger either =
        sum + BigInteger(kWholeRatio - rest.rate) * rest.row.total * draft.total;
    if (either == 0) {
      EXPECT_THROW(without_child(rest, draft), BrokenInvariant);
      continue;
    }
    const Rest left = without_child(rest, draft);
    ASSERT_EQ(BigInteger(left.rate), (sum << 62) / either);
    const int shift = sum == 0 ? 0 : std::max(0, static_cast<int>(msb(sum)) - 61);
    for (std::size_t v = 0; v < 3; ++v)
      ASSERT_EQ(BigInteger(left.row.mass[v]), weights[v] >> shift);
    ASSERT_TRUE(sum == 0 || left.row.total > 0);
    (sum == 0 ? empty : left.rate == kWholeRatio ? whole : part) += 1;
  }
  for (const int met : {whole, part, empty}) EXPECT_GT(met, 500);
}

}  // namespace
}  // namespace draftproof::reference::verify
