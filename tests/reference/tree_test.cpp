// Rules that walk draft trees without looking at draft laws: tree-greedy, target-only and
// sample-and-match. Single decisions, coin addresses, the order of judging, and what is not read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/verify/chain.h"
#include "reference/verify/greedy.h"
#include "reference/verify/match.h"
#include "reference/verify/target_only.h"
#include "reference/verify/tree_greedy.h"
#include "reference/verify/verifiers.h"
#include "tests/reference/trees.h"

namespace draftproof::reference::verify {
namespace {

using testing::ElementsAre;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint64_t kLargest = ~std::uint64_t{0};
constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
constexpr std::uint64_t kQuarter = std::uint64_t{1} << 62;

// At scale 1: (1/2, 1/4, 1/8, 1/8).
const Row kTarget = {0, -1, -2, -2};
const Row kUnread = {kNan, kNan, kNan, kNan};

CoinAddress at(std::uint32_t position, Purpose purpose) { return {0, position, purpose, 0, 0}; }

EmittedToken accepted(Token token) { return {token, Reason::kAccepted}; }
EmittedToken recovered(Token token) { return {token, Reason::kRecovered}; }
EmittedToken bonus(Token token) { return {token, Reason::kBonus}; }

RequestOutcome by_target_only(const Batch& batch, const Coins& coins) {
  return target_only(batch, batch.requests[0], coins);
}

RequestOutcome by_match(const Batch& batch, const Coins& coins) {
  return match(batch, batch.requests[0], coins);
}

RequestOutcome by_greed(const Batch& batch) { return tree_greedy(batch, batch.requests[0]); }

/// Candidates 1 and 3 for one position.
Batch two_children() { return one_tree({1, 3}, {-1, -1}, {kTarget, kTarget, kTarget}); }

TEST(TargetOnly, HoldsTheCoinAgainstTheSummedMassesOfTheChildren) {
  const auto at_level = [](std::uint64_t coin) {
    ScriptedCoins coins;
    coins.set(at(0, Purpose::kTreeLevel), coin);
    return by_target_only(two_children(), coins).accepted_nodes;
  };
  EXPECT_THAT(at_level(0), ElementsAre(0));
  EXPECT_THAT(at_level(kQuarter - 1), ElementsAre(0));
  EXPECT_THAT(at_level(kQuarter), ElementsAre(1));
  EXPECT_THAT(at_level(kQuarter + kQuarter / 2 - 1), ElementsAre(1));
  EXPECT_THAT(at_level(kQuarter + kQuarter / 2), ElementsAre());
  EXPECT_THAT(at_level(kLargest), ElementsAre());
}

TEST(TargetOnly, DrawsTheRestWithTheSecondCoin) {
  // Without 1 and 3 the rest is (4/5, 0, 1/5, 0).
  ScriptedCoins coins(kLargest);
  const auto rest = [&](std::uint64_t coin) {
    coins.set(at(0, Purpose::kTreeSecond), coin);
    const RequestOutcome outcome = by_target_only(two_children(), coins);
    EXPECT_EQ(outcome.accepted_count, 0);
    return outcome.emitted;
  };
  const std::uint64_t fifth = kLargest / 5;  // 2^64 = 5 fifth + 1
  EXPECT_THAT(rest(4 * fifth), ElementsAre(recovered(0)));
  EXPECT_THAT(rest(4 * fifth + 1), ElementsAre(recovered(2)));
  EXPECT_THAT(rest(0), ElementsAre(recovered(0)));
}

TEST(TargetOnly, CountsAnEqualSiblingOnce) {
  const Batch batch = one_tree({1, 1, 0}, {-1, -1, -1}, {kTarget, kUnread, kUnread, kTarget});
  ScriptedCoins coins;
  coins.set(at(0, Purpose::kTreeLevel), kQuarter);
  EXPECT_THAT(by_target_only(batch, coins).accepted_nodes, ElementsAre(2));
  coins.set(at(0, Purpose::kTreeLevel), kQuarter + kHalf - 1);
  EXPECT_THAT(by_target_only(batch, coins).accepted_nodes, ElementsAre(2));
  coins.set(at(0, Purpose::kTreeLevel), kQuarter + kHalf);
  EXPECT_THAT(by_target_only(batch, coins).emitted, ElementsAre(recovered(2)));
}

TEST(TargetOnly, ChildrenThatCoverTheTargetAreTakenByEveryCoin) {
  const Row only_01 = {0, -1, -kInfinity, -kInfinity};
  const Batch batch = one_tree({1, 0}, {-1, -1}, {only_01, kTarget, kTarget});
  for (const std::uint64_t coin : {std::uint64_t{0}, kHalf, kLargest})
    EXPECT_EQ(by_target_only(batch, ScriptedCoins(coin)).accepted_count, 1);
}

TEST(TargetOnly, AChildOfMassZeroIsNotTakenByCoinZero) {
  const Row without_1 = {0, -kInfinity, -2, -2};
  const Batch batch = one_tree({1, 2}, {-1, -1}, {without_1, kUnread, kTarget});
  EXPECT_THAT(by_target_only(batch, ScriptedCoins(0)).accepted_nodes, ElementsAre(1));
}

/// Nodes: 0 and 1 at the base; 2, 3 behind 1; 4 behind 0; 5 behind 3.
Batch deep_tree() {
  Batch batch = one_tree({2, 0, 1, 0, 3, 1}, {-1, -1, 1, 1, 0, 3},
                         {kTarget, kUnread, kTarget, kUnread, kTarget, kUnread, kTarget});
  batch.requests[0].id = 7;
  batch.requests[0].position = 50;
  batch.requests[0].iteration = 9;  // not looked at: decisions never read ahead
  return batch;
}

TEST(TargetOnly, WalksDownItsPathAndReadsNothingElse) {
  ScriptedCoins script;
  script.set({7, 50, Purpose::kTreeLevel}, kQuarter);      // past 2 (1/8): 0
  script.set({7, 51, Purpose::kTreeLevel}, kQuarter);      // past 1 (1/4): 0
  script.set({7, 52, Purpose::kTreeLevel}, kQuarter - 1);  // 1
  script.set({7, 53, Purpose::kBonus}, kLargest);
  const RecordingCoins coins(script);
  const RequestOutcome outcome = by_target_only(deep_tree(), coins);
  EXPECT_EQ(outcome.status, Status::kOk);
  EXPECT_THAT(outcome.accepted_nodes, ElementsAre(1, 3, 5));
  EXPECT_THAT(outcome.emitted, ElementsAre(accepted(0), accepted(0), accepted(1), bonus(3)));
  EXPECT_THAT(
      coins.reads(),
      ElementsAre(CoinAddress{7, 50, Purpose::kTreeLevel}, CoinAddress{7, 51, Purpose::kTreeLevel},
                  CoinAddress{7, 52, Purpose::kTreeLevel}, CoinAddress{7, 53, Purpose::kBonus}));
}

TEST(Match, DrawsFromTheTargetAndFollowsTheDraw) {
  ScriptedCoins script(kLargest);
  script.set({7, 50, Purpose::kBonus}, kHalf - 1);  // 0
  script.set({7, 51, Purpose::kBonus}, 0);          // 0
  script.set({7, 52, Purpose::kBonus}, kHalf);      // 1
  const RecordingCoins coins(script);
  const RequestOutcome outcome = by_match(deep_tree(), coins);
  EXPECT_THAT(outcome.accepted_nodes, ElementsAre(1, 3, 5));
  EXPECT_THAT(outcome.emitted, ElementsAre(accepted(0), accepted(0), accepted(1), bonus(3)));
  EXPECT_THAT(
      coins.reads(),
      ElementsAre(CoinAddress{7, 50, Purpose::kBonus}, CoinAddress{7, 51, Purpose::kBonus},
                  CoinAddress{7, 52, Purpose::kBonus}, CoinAddress{7, 53, Purpose::kBonus}));
  EXPECT_THAT(by_match(deep_tree(), ScriptedCoins(kLargest)).emitted, ElementsAre(recovered(3)));
}

TEST(Match, TakesTheFirstOfEqualSiblings) {
  const Batch batch = one_tree({3, 0, 0}, {-1, -1, -1}, {kTarget, kUnread, kTarget, kUnread});
  EXPECT_THAT(by_match(batch, ScriptedCoins(0)).accepted_nodes, ElementsAre(1));
}

TEST(Match, EmitsWhatPlainDecodingEmitsWithTheSameSeed) {
  // Plain decoding is the empty draft, one token an iteration.
  int accepted_count = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const PhiloxCoins coins(seed);
    Batch tree = deep_tree();
    for (Row& row : tree.requests[0].target_rows) row = kTarget;
    const RequestOutcome outcome = by_match(tree, coins);
    accepted_count += outcome.accepted_count;
    for (std::uint32_t i = 0; i < outcome.emitted.size(); ++i) {
      Batch plain = one_request({}, {kTarget}, {});
      plain.requests[0].id = 7;
      plain.requests[0].position = 50 + i;
      EXPECT_EQ(by_match(plain, coins).emitted[0].token, outcome.emitted[i].token);
      EXPECT_EQ(chain(plain, plain.requests[0], coins).emitted[0].token, outcome.emitted[i].token);
    }
  }
  EXPECT_GT(accepted_count, 100);
}

TEST(TreeGreedy, FollowsTheFirstMaximum) {
  const Row first = {0, 3, 3, 1}, second = {5, 1, 2, 5}, third = {1, 0, 0, 9};
  // Nodes: 0 (2), 1 (1), 2 (1, equal sibling); 3 (3), 4 (0) behind 1; 5 (2) behind 4.
  const Batch batch = one_tree({2, 1, 1, 3, 0, 2}, {-1, -1, -1, 1, 1, 4},
                               {first, kUnread, second, kUnread, kUnread, third, kUnread});
  const RequestOutcome outcome = by_greed(batch);
  EXPECT_THAT(outcome.accepted_nodes, ElementsAre(1, 4));
  EXPECT_THAT(outcome.emitted, ElementsAre(accepted(1), accepted(0), recovered(3)));
}

TEST(TreeGreedy, EndsWithTheBonusWhereThereAreNoChildren) {
  EXPECT_THAT(by_greed(one_tree({1}, {-1}, {{0, 1, 0, 0}, {0, 0, 1, 0}})).emitted,
              ElementsAre(accepted(1), bonus(2)));
  EXPECT_THAT(by_greed(one_tree({}, {}, {{0, 0, 1, 0}})).emitted, ElementsAre(bonus(2)));
}

TEST(TreeRules, APlaceholderIsNoNodeAndNothingContinuesIt) {
  // Node 0 is a placeholder with node 2 behind it; node 1 stands beside it, node 3 behind node 1.
  const Batch batch = one_tree({kPlaceholder, 0, 0, kPlaceholder}, {-1, -1, 0, 1},
                               {kTarget, kUnread, kTarget, kUnread, kUnread});
  const Batch without = one_tree({0}, {-1}, {kTarget, kTarget});
  for (const std::uint64_t coin : {std::uint64_t{0}, kLargest}) {
    for (const auto& judge : {by_target_only, by_match}) {
      const RequestOutcome outcome = judge(batch, ScriptedCoins(coin));
      RequestOutcome due = judge(without, ScriptedCoins(coin));
      for (int& node : due.accepted_nodes) node = 1;  // where it is in the other tree
      EXPECT_EQ(outcome, due);
    }
  }
  EXPECT_EQ(by_target_only(batch, ScriptedCoins(0)).accepted_count, 1);
}

struct StatusCase {
  const char* name;
  Batch batch;
  Status status;
  int position;
};

TEST(TreeRules, StopAtTheRowBehindTheNodeInTheDocumentedOrder) {
  const Row bad = {kInfinity, 0, 0, 0};
  // Node 1 (token 0) is what coin 0 and greed take; node 0 is passed by.
  const StatusCase cases[] = {
      {"any child's id before the row",
       one_tree({1, 0, 0, 4}, {-1, -1, 1, 1}, {kTarget, kUnread, bad, kUnread, kUnread}),
       Status::kDraftTokenRange, 2},
      {"a negative id that is no placeholder",
       one_tree({1, 0, -2}, {-1, -1, 1}, {kTarget, kUnread, bad, kUnread}),
       Status::kDraftTokenRange, 2},
      {"the row where children are",
       one_tree({1, 0, 0}, {-1, -1, 1}, {kTarget, kUnread, bad, kUnread}),
       Status::kPositiveInfinity, 2},
      {"the row where no child is", one_tree({1, 0}, {-1, -1}, {kTarget, kUnread, kUnread}),
       Status::kNan, 2},
  };
  ScriptedCoins coins(0);
  coins.set(at(0, Purpose::kTreeLevel), kQuarter);
  for (const StatusCase& entry : cases) {
    const RequestOutcome outcomes[] = {by_target_only(entry.batch, coins),
                                       by_match(entry.batch, coins), by_greed(entry.batch)};
    for (const RequestOutcome& outcome : outcomes) {
      EXPECT_EQ(outcome.status, entry.status) << entry.name;
      EXPECT_EQ(outcome.status_position, entry.position) << entry.name;
      EXPECT_THAT(outcome.emitted, ElementsAre(accepted(0))) << entry.name;
      EXPECT_THAT(outcome.accepted_nodes, ElementsAre(1)) << entry.name;
    }
  }
}

TEST(TreeRules, OnChainsNeedNoParents) {
  const Batch chain_batch = one_request({0, 1}, {kTarget, kTarget, kTarget}, {kTarget, kTarget});
  Batch tree_batch = chain_batch;
  tree_batch.requests[0].proposal.parents = {-1, 0};
  for (const std::string& rule : rules()) {
    const auto verifier = make_verifier(rule);
    Batch first = chain_batch, second = tree_batch;
    for (std::uint64_t seed = 0; seed < 50; ++seed)
      EXPECT_EQ(verifier->verify(first, PhiloxCoins(seed), {}).requests,
                verifier->verify(second, PhiloxCoins(seed), {}).requests)
          << rule;
  }
  RequestOutcome due = greedy(chain_batch, chain_batch.requests[0]);
  due.accepted_nodes = {0};
  EXPECT_EQ(by_greed(chain_batch), due);
}

TEST(TreeRules, OfTheReferenceSayThatTheyTakeTrees) {
  std::vector<std::string> trees;
  for (const std::string& rule : rules())
    if (make_verifier(rule)->traits().takes_trees) trees.push_back(rule);
  EXPECT_THAT(trees, ElementsAre("tree-greedy", "target-only", "with-replacement",
                                 "without-replacement", "traversal", "match"));
  Batch batch = two_children();
  for (const std::string& rule : trees)
    EXPECT_EQ(make_verifier(rule)->verify(batch, PhiloxCoins(1), {}).requests.size(), 1U);
}

}  // namespace
}  // namespace draftproof::reference::verify
