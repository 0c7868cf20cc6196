// Goal: rules for trees are tried on trees, with coins for all that they look at, and what breaks a
// path is seen. Method: generated cases, references that watch their coins, altered outcomes.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "properties/draft_trees.h"
#include "properties/generators.h"
#include "properties/shrink.h"
#include "wrong_verifiers.h"

namespace draftproof::properties {
namespace {

using reference::Proposal;
using reference::Request;
using reference::RequestOutcome;

CaseShape tree_shape(const std::string& rule) {
  CaseShape shape = shape_for(reference::verify::make_verifier(rule)->traits(), "any");
  shape.with_trees = true;
  shape.draft_count_max = 8;
  return shape;
}

TEST(DraftTrees, AreTreesThatBranch) {
  std::set<std::size_t> most_children;
  bool has_placeholder = false;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Case value = nasty_case(tree_shape("target-only"), seed);
    ASSERT_NO_THROW(reference::validate(value.batch));
    for (const Request& request : value.batch.requests) {
      const Proposal& proposal = request.proposal;
      ASSERT_EQ(proposal.parents.size(), proposal.tokens.size());
      std::multiset<int> parents(proposal.parents.begin(), proposal.parents.end());
      std::size_t most = 0;
      for (const int parent : parents) most = std::max(most, parents.count(parent));
      most_children.insert(most);
      has_placeholder |=
          std::count(proposal.tokens.begin(), proposal.tokens.end(), reference::kPlaceholder) > 0;
    }
  }
  EXPECT_EQ(most_children.size(), 9u) << "chains, stars and all between";
  EXPECT_TRUE(has_placeholder);
}

/// Scripted coins that remember who was looked at and was not there.
class WatchedCoins final : public reference::Coins {
 public:
  explicit WatchedCoins(const Case& value) : coins_(value.coins) {}
  std::uint64_t coin(const reference::CoinAddress& address) const override {
    const auto at = coins_.find(address);
    is_complete_ &= at != coins_.end();
    slot_max_ = std::max(slot_max_, address.slot);
    return at == coins_.end() ? 0 : at->second;
  }
  bool is_complete() const { return is_complete_; }
  std::uint32_t slot_max() const { return slot_max_; }

 private:
  const std::map<reference::CoinAddress, std::uint64_t>& coins_;
  mutable bool is_complete_ = true;
  mutable std::uint32_t slot_max_ = 0;
};

TEST(DraftTrees, HaveACoinForEveryAddressThatIsLookedAt) {
  for (const char* rule : {"target-only", "with-replacement", "without-replacement", "match"}) {
    SCOPED_TRACE(rule);
    const auto verifier = reference::verify::make_verifier(rule);
    std::uint32_t slot_max = 0;
    std::size_t depth_max = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      Case value = nasty_case(tree_shape(rule), seed);
      if (value.seed) value = with_written_coins(value);
      const WatchedCoins coins(value);
      for (const auto& outcome : verifier->verify(value.batch, coins, {}).requests)
        depth_max = std::max(depth_max, outcome.accepted_nodes.size());
      ASSERT_TRUE(coins.is_complete()) << "seed " << seed;
      slot_max = std::max(slot_max, coins.slot_max());
    }
    EXPECT_GE(depth_max, 4u);
    if (std::string(rule).find("replacement") != std::string::npos) {
      EXPECT_GE(slot_max, 3u);
    }
  }
}

/// Chains too, whichever iteration their rule addresses coins by.
TEST(DraftChains, HaveACoinForEveryAddressThatIsLookedAt) {
  for (const char* rule : {"chain", "block"}) {
    SCOPED_TRACE(rule);
    const auto verifier = reference::verify::make_verifier(rule);
    std::set<std::uint32_t> iterations;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      Case value = nasty_case(shape_for(verifier->traits(), "any"), seed);
      if (value.seed) value = with_written_coins(value);
      const WatchedCoins coins(value);
      verifier->verify(value.batch, coins, {});
      ASSERT_TRUE(coins.is_complete()) << "seed " << seed;
      for (const auto& [address, coin] : value.coins) iterations.insert(address.iteration);
    }
    EXPECT_EQ(iterations.size() > 100, std::string(rule) == "block");
  }
}

/// Outcomes that a step of one coin changes, of all cases whose coins are written down.
int outcomes_at_edges(const std::string& rule, reference::Purpose purpose) {
  const auto verifier = reference::verify::make_verifier(rule);
  int changed = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Case value = nasty_case(tree_shape(rule), seed);
    const auto outcomes = [&] {
      return verifier->verify(value.batch, *coins_of(value), {}).requests;
    };
    const auto before = outcomes();
    for (auto& [address, coin] : value.coins) {
      if (address.purpose != purpose || address.slot != 0) continue;
      const std::uint64_t held = coin;
      for (const std::uint64_t step : {held - 1, held + 1}) {
        coin = step;
        changed += outcomes() != before;
      }
      coin = held;
    }
  }
  return changed;
}

/// Coins that stand at no edge on purpose, but at the ends of the axis, change half as many at
/// most.
TEST(DraftTrees, HaveCoinsNextToTheEdgesOfDecisions) {
  using reference::Purpose;
  EXPECT_GE(outcomes_at_edges("target-only", Purpose::kTreeLevel), 60);
  EXPECT_GE(outcomes_at_edges("target-only", Purpose::kTreeSecond), 50);
  EXPECT_GE(outcomes_at_edges("with-replacement", Purpose::kAccept), 60);
  EXPECT_GE(outcomes_at_edges("with-replacement", Purpose::kRecovered), 20);
  EXPECT_GE(outcomes_at_edges("match", Purpose::kBonus), 100);
}

/// Rows with mass on few tokens leave siblings no choice; tokens drawn once make it three to one.
TEST(DraftTrees, HaveSiblingsThatDiffer) {
  int different = 0, equal = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Case value = nasty_case(tree_shape("without-replacement"), seed);
    if (value.batch.vocab_size < 16) continue;
    for (const Request& request : value.batch.requests)
      for (std::size_t i = 1; i < request.proposal.tokens.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
          if (request.proposal.parents[i] == request.proposal.parents[j])
            ++(request.proposal.tokens[i] == request.proposal.tokens[j] ? equal : different);
  }
  EXPECT_GE(2 * different, 7 * equal);
  EXPECT_GE(equal, 100) << "the first of them is the one to take";
}

/// The verdict of `id` when each outcome of target-only verification is changed so.
oracle::VerdictKind kind_with(const std::string& id,
                              std::function<void(RequestOutcome&, const Request&)> change) {
  Altered altered(each_outcome(std::move(change)), "target-only");
  return kind_of(id, altered);
}

TEST(DraftTrees, ShowWhenAcceptedNodesAreNoPath) {
  const char* id = "emitted_is_accepted_plus_one";
  const auto upheld = kind_with(id, [](RequestOutcome&, const Request&) {});
  EXPECT_EQ(upheld, oracle::VerdictKind::kUpheld);
  const auto no_node = kind_with(id, [](RequestOutcome& outcome, const Request&) {
    if (!outcome.accepted_nodes.empty()) outcome.accepted_nodes.pop_back();
  });
  EXPECT_EQ(no_node, oracle::VerdictKind::kViolated);
  const auto other_node = kind_with(id, [](RequestOutcome& outcome, const Request& request) {
    if (outcome.accepted_nodes.empty()) return;
    int& node = outcome.accepted_nodes.back();
    node = (node + 1) % static_cast<int>(request.proposal.tokens.size());
  });
  EXPECT_EQ(other_node, oracle::VerdictKind::kViolated);
  const auto flat_status = kind_with(id, [](RequestOutcome& outcome, const Request&) {
    if (outcome.status != reference::Status::kOk) outcome.status_position = outcome.accepted_count;
  });
  EXPECT_EQ(flat_status, oracle::VerdictKind::kViolated);
}

TEST(DraftTrees, ShowWhenALaterEqualSiblingIsTaken) {
  const auto swapped =
      kind_with("kernel_equals_reference", [](RequestOutcome& outcome, const Request& request) {
        if (outcome.accepted_nodes.empty()) return;
        int& node = outcome.accepted_nodes.back();
        const Proposal& proposal = request.proposal;
        for (std::size_t other = 0; other < proposal.tokens.size(); ++other)
          if (proposal.parents[other] == proposal.parents[node] &&
              proposal.tokens[other] == proposal.tokens[node])
            node = static_cast<int>(other);
      });
  EXPECT_EQ(swapped, oracle::VerdictKind::kViolated);
}

/// What continued a node continues its parent when the node is taken out.
TEST(DraftTrees, StayTreesWhenANodeIsTakenOut) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Case value = nasty_case(tree_shape("match"), seed);
    for (std::size_t r = 0; r < value.batch.requests.size(); ++r)
      for (std::size_t i = 0; i < value.batch.requests[r].proposal.tokens.size(); ++i)
        ASSERT_NO_THROW(reference::validate(without_draft_token(value, r, i).batch));
  }
  Case value;
  value.batch.vocab_size = 1;
  value.batch.draft_kind = reference::RowKind::kOneHot;
  value.batch.requests.resize(1);
  value.batch.requests[0].proposal = {{0, 0, 0, 0}, {}, {-1, 0, 1, 0}};
  value.batch.requests[0].target_rows.assign(5, {0.0f});
  EXPECT_EQ(without_draft_token(value, 0, 1).batch.requests[0].proposal.parents,
            (std::vector<int>{-1, 0, 0}));
}

}  // namespace
}  // namespace draftproof::properties
