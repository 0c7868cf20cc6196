// SGLang's tree kernels on the emulated device against a plain computation of their rule. Siblings
// are tried in order; one is accepted when the coin of the last accepted node is below the target's
// mass on all siblings tried so far; a rejected one loses its mass in the row that is drawn from in
// the end. Masses are integers of at most 12 bits over a power of two, and coins of 8 bits, so that
// fp32 is exact and results must be equal. Needs tools/kernels/fetch.sh sglang; skipped without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/gpu/third_party_run.h"

namespace draftproof::gpu {
namespace {

using test::kUnwrittenId;
using test::ThirdPartyRun;
using testing::ElementsAre;

constexpr std::int64_t kNone = -1;
/// What 0.5.23 does: all 1,024 threads store a rejected sibling's mass, and no barrier stands
/// between these stores and the loads of the row. Each thread has stored the value itself before it
/// loads it, and all store the same, so that no order of them changes a result; a race it is.
constexpr const char* kRacy = "draft_probs";
constexpr std::uint32_t kCoinParts = 256;

/// A batch of token trees: node 0 is the root, links are node numbers within the request.
struct Trees {
  std::size_t requests = 0, nodes = 0, path = 0, vocabulary = 0;
  std::vector<std::int64_t> token, first_child, next_sibling;  ///< [requests][nodes]
  std::vector<std::uint32_t> coin;                             ///< same, of kCoinParts
  std::vector<std::uint32_t> final_coin;                       ///< [requests]
  std::vector<std::uint32_t> mass;  ///< [requests][nodes][vocabulary]; rows sum to `whole`
  std::uint32_t whole = 0;

  const std::uint32_t* row(std::size_t request, std::size_t node) const {
    return mass.data() + (request * nodes + node) * vocabulary;
  }
};

struct Decision {
  std::vector<std::int32_t> predicts, accept_index, accept_count;
  std::vector<float> draft;  ///< the rows that rejected siblings were written to

  bool operator==(const Decision&) const = default;
};

/// The token that a coin picks among masses; the last token when there is no mass.
std::size_t pick(const std::vector<std::uint64_t>& masses, std::uint32_t coin) {
  std::uint64_t sum = 0, cumulative = 0;
  for (const std::uint64_t each : masses) sum += each;
  for (std::size_t token = 0; token < masses.size(); ++token) {
    cumulative += masses[token];
    if (masses[token] > 0 && cumulative * kCoinParts > coin * sum) return token;
  }
  return masses.size() - 1;
}

Decision decide(const Trees& trees) {
  const std::size_t all = trees.requests * trees.nodes;
  Decision result{std::vector(all, kUnwrittenId),
                  std::vector(trees.requests * trees.path, kUnwrittenId),
                  std::vector(trees.requests, 0), std::vector(all * trees.vocabulary, 0.0f)};
  for (std::size_t request = 0; request < trees.requests; ++request) {
    const std::size_t base = request * trees.nodes;
    std::size_t node = 0, accepted = 0;
    result.accept_index[request * trees.path] = static_cast<std::int32_t>(base);
    std::vector<std::uint64_t> left(trees.row(request, 0),
                                    trees.row(request, 0) + trees.vocabulary);
    while (accepted + 1 < trees.path) {
      std::uint64_t tried = 0;
      std::int64_t child = trees.first_child[base + node];
      for (; child != kNone; child = trees.next_sibling[base + static_cast<std::size_t>(child)]) {
        const auto at =
            static_cast<std::size_t>(trees.token[base + static_cast<std::size_t>(child)]);
        const std::uint64_t mass = trees.row(request, node)[at];
        tried += mass;
        if (mass > 0 && std::uint64_t{trees.coin[base + node]} * trees.whole < tried * kCoinParts)
          break;
        left[at] = 0;
        result.draft[(base + node) * trees.vocabulary + at] =
            static_cast<float>(mass) / static_cast<float>(trees.whole);
      }
      if (child == kNone) break;
      const auto next = static_cast<std::size_t>(child);
      result.predicts[base + node] = static_cast<std::int32_t>(trees.token[base + next]);
      result.accept_index[request * trees.path + ++accepted] =
          static_cast<std::int32_t>(base + next);
      node = next;
      left.assign(trees.row(request, node), trees.row(request, node) + trees.vocabulary);
    }
    result.accept_count[request] = static_cast<std::int32_t>(accepted);
    result.predicts[base + node] = static_cast<std::int32_t>(pick(left, trees.final_coin[request]));
  }
  return result;
}

std::vector<float> over(const std::vector<std::uint32_t>& parts, std::uint32_t whole) {
  std::vector<float> result(parts.size());
  std::transform(parts.begin(), parts.end(), result.begin(), [&](std::uint32_t part) {
    return static_cast<float>(part) / static_cast<float>(whole);
  });
  return result;
}

std::vector<std::int64_t> counting(std::size_t count) {
  std::vector<std::int64_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::int64_t>(i);
  return values;
}

/// What `mix` draws: random links between nodes in order, masses with many zeros, all coins.
Trees random_trees(std::size_t requests, std::size_t nodes, std::size_t path,
                   std::size_t vocabulary, std::uint64_t seed) {
  std::mt19937_64 mix(seed);
  const auto below = [&](std::uint64_t bound) { return mix() % bound; };
  Trees trees{requests, nodes, path, vocabulary, {}, {}, {}, {}, {}, {}, 4096};
  const std::size_t all = requests * nodes;
  trees.token.resize(all);
  trees.first_child.assign(all, kNone);
  trees.next_sibling.assign(all, kNone);
  trees.mass.assign(all * vocabulary, 0);
  for (std::size_t each = 0; each < all; ++each) {
    trees.coin.push_back(static_cast<std::uint32_t>(below(kCoinParts)));
    std::uint32_t left = trees.whole;
    const std::size_t spots = std::min<std::size_t>(vocabulary, 2 + below(6));
    for (std::size_t spot = 0; spot + 1 < spots; ++spot) {
      const auto part = static_cast<std::uint32_t>(below(left + 1));
      trees.mass[each * vocabulary + below(vocabulary)] += part;
      left -= part;
    }
    trees.mass[each * vocabulary + below(vocabulary)] += left;
  }
  for (std::size_t request = 0; request < requests; ++request) {
    trees.final_coin.push_back(static_cast<std::uint32_t>(below(kCoinParts)));
    for (std::size_t node = nodes; --node > 0;) {
      const std::size_t here = request * nodes + node;
      const std::size_t parent = below(node);
      trees.next_sibling[here] = trees.first_child[request * nodes + parent];
      trees.first_child[request * nodes + parent] = static_cast<std::int64_t>(node);
      // A token with mass, mostly: others are always rejected. Siblings must differ.
      const std::uint32_t* row = trees.row(request, parent);
      std::size_t token = below(vocabulary);
      for (std::size_t turn = below(4) * vocabulary; turn > 0 && row[token] == 0; --turn)
        token = (token + 1) % vocabulary;
      const auto is_taken = [&] {
        for (std::int64_t other = trees.next_sibling[here]; other != kNone;
             other = trees.next_sibling[request * nodes + static_cast<std::size_t>(other)]) {
          if (trees.token[request * nodes + static_cast<std::size_t>(other)] ==
              static_cast<std::int64_t>(token))
            return true;
        }
        return false;
      };
      for (std::size_t turn = 0; turn < vocabulary && is_taken(); ++turn)
        token = (token + 1) % vocabulary;
      trees.token[here] = static_cast<std::int64_t>(token);
    }
  }
  return trees;
}

class SglangTree : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::is_fetched("sglang")) GTEST_SKIP() << "run tools/kernels/fetch.sh sglang";
    ptx_ = test::text_of(test::third_party_folder("sglang") / "tree.ptx");
  }

  /// What the kernel does; `vocabulary` is what it is told the rows hold.
  Decision run(const Trees& trees, std::uint64_t seed, bool deterministic = true,
               std::size_t extra_vocabulary = 0,
               reference::ScheduleKind schedule = reference::ScheduleKind::kRandom) {
    const std::size_t width = std::gcd(std::size_t{4}, trees.vocabulary);
    const std::size_t all = trees.requests * trees.nodes;
    kernel_ = std::make_unique<ThirdPartyRun>(
        ptx_, "tree.ptx",
        "ELj" + std::to_string(width) + "ELb" + (deterministic ? "1" : "0") + "Efil");
    LaunchOptions options;
    options.grid.x = static_cast<std::uint32_t>(trees.requests);
    options.block.x = 1024;
    options.dynamic_shared_bytes = 2080;
    options.schedule_seed = seed;
    options.schedule = schedule;
    ThirdPartyRun& kernel = *kernel_;
    const auto number = [](std::size_t value) {
      return Argument(static_cast<std::uint32_t>(value));
    };
    kernel.launch(options,
                  {kernel.out<std::int32_t>("predicts", all),
                   kernel.out<std::int32_t>("accept_index", trees.requests * trees.path),
                   kernel.out<std::int32_t>("accept_token_num", trees.requests),
                   kernel.in("candidates", trees.token), kernel.in("retrive_index", counting(all)),
                   kernel.in("retrive_next_token", trees.first_child),
                   kernel.in("retrive_next_sibling", trees.next_sibling),
                   kernel.in("uniform_samples", over(trees.coin, kCoinParts)),
                   kernel.in("uniform_final", over(trees.final_coin, kCoinParts)),
                   kernel.in("target_probs", over(trees.mass, trees.whole)),
                   kernel.in("draft_probs", std::vector(trees.mass.size(), 0.0f)),
                   number(trees.requests), number(trees.path), number(trees.nodes),
                   number(trees.vocabulary + extra_vocabulary), Argument(1.0f), Argument(1.0f)});
    return {kernel.read<std::int32_t>("predicts"), kernel.read<std::int32_t>("accept_index"),
            kernel.read<std::int32_t>("accept_token_num"), kernel.read<float>("draft_probs")};
  }

  std::string ptx_;
  std::unique_ptr<ThirdPartyRun> kernel_;
};

/// Root, then nodes 1 and 2 in a row; V = 3, masses of 4 parts.
Trees chain() {
  return {1,
          3,
          3,
          3,
          {0, 1, 2},
          {1, 2, kNone},
          {kNone, kNone, kNone},
          {127, 63, 0},
          {128},
          {1, 2, 1, 2, 1, 1, 1, 1, 2},
          4};
}

TEST_F(SglangTree, FollowsAChain) {
  Trees trees = chain();
  const Decision both = run(trees, 1);
  EXPECT_EQ(kernel_->unsafe(), "") << "nothing is rejected: not even that race";
  EXPECT_THAT(both.predicts, ElementsAre(1, 2, 2));
  EXPECT_THAT(both.accept_index, ElementsAre(0, 1, 2));
  EXPECT_THAT(both.accept_count, ElementsAre(2));
  EXPECT_EQ(both, decide(trees));
  // The coin 64/256 is not below the mass 1/4 of node 2's token: tokens 0 and 1 are left.
  trees.coin[1] = 64;
  trees.final_coin[0] = 171;
  const Decision one = run(trees, 2);
  EXPECT_EQ(kernel_->unsafe(kRacy), "");
  EXPECT_THAT(one.predicts, ElementsAre(1, 1, kUnwrittenId));
  EXPECT_THAT(one.accept_index, ElementsAre(0, 1, kUnwrittenId));
  EXPECT_EQ(one, decide(trees));
}

TEST_F(SglangTree, TriesTheSecondSiblingWithTheMassOfBoth) {
  // Root with children 1 and 2, tokens 0 and 2, masses 1/4 and 1/4.
  Trees trees{1,
              3,
              2,
              3,
              {0, 0, 2},
              {1, kNone, kNone},
              {kNone, 2, kNone},
              {127, 0, 0},
              {255},
              {1, 2, 1, 4, 0, 0, 0, 4, 0},
              4};
  const Decision second = run(trees, 1);
  EXPECT_EQ(kernel_->unsafe(kRacy), "");
  EXPECT_THAT(second.predicts, ElementsAre(2, kUnwrittenId, 1));
  EXPECT_THAT(second.accept_index, ElementsAre(0, 2));
  EXPECT_EQ(second, decide(trees));
  EXPECT_EQ(second.draft[0], 0.25f) << "the rejected sibling's mass";
  trees.coin[0] = 128;
  const Decision neither = run(trees, 1);
  EXPECT_EQ(kernel_->unsafe(kRacy), "");
  EXPECT_THAT(neither.predicts, ElementsAre(1, kUnwrittenId, kUnwrittenId));
  EXPECT_EQ(neither, decide(trees));
}

TEST_F(SglangTree, EqualsThePlainRuleAtEveryVectorWidthAndTile) {
  // 1,024 threads take 1, 2 or 4 tokens each: shapes on both sides of one and of two tiles.
  std::size_t accepted = 0, rejected = 0;
  for (const std::size_t vocabulary :
       {3, 4, 6, 1023, 1025, 2046, 2049, 2050, 3075, 4092, 4096, 4100, 8196}) {
    for (const bool deterministic : {true, false}) {
      const Trees trees = random_trees(2, 6, 4, vocabulary, vocabulary);
      const Decision expected = decide(trees);
      EXPECT_EQ(run(trees, vocabulary, deterministic), expected) << vocabulary << deterministic;
      EXPECT_EQ(kernel_->unsafe(kRacy), "") << vocabulary << deterministic;
      for (const std::int32_t each : expected.accept_count) accepted += each > 0;
      rejected += std::any_of(expected.draft.begin(), expected.draft.end(),
                              [](float each) { return each > 0; });
    }
  }
  EXPECT_GT(accepted, 10u);
  EXPECT_GT(rejected, 10u);
}

TEST_F(SglangTree, EqualsThePlainRuleOnManySmallTrees) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Trees trees = random_trees(2, 2 + seed % 6, 2 + seed % 3, 3 + seed % 5, seed);
    EXPECT_EQ(run(trees, seed), decide(trees)) << seed;
    EXPECT_EQ(kernel_->unsafe(kRacy), "") << seed;
  }
}

TEST_F(SglangTree, RacesOnTheRowOfARejectedSiblingWithOneResult) {
  Trees trees = chain();
  trees.coin[1] = 64;
  for (const auto schedule :
       {reference::ScheduleKind::kRandom, reference::ScheduleKind::kFirstWarpFirst,
        reference::ScheduleKind::kLastWarpFirst}) {
    EXPECT_EQ(run(trees, 5, true, 0, schedule), decide(trees));
    EXPECT_EQ(kernel_->unsafe(kRacy), "");
    // The loads are the first warp's: when it runs last, it loads what it stored last itself.
    if (schedule == reference::ScheduleKind::kLastWarpFirst) continue;
    EXPECT_GT(kernel_->count("race"), 0u);
  }
}

TEST_F(SglangTree, AnInclusiveAcceptanceIsSeen) {
  ptx_ = test::mutated(ptx_, "setp.lt.f32", "setp.le.f32", 6);
  Trees trees = chain();
  EXPECT_EQ(run(trees, 1), decide(trees)) << "away from the boundary nothing changes";
  trees.coin[1] = 64;
  EXPECT_NE(run(trees, 1), decide(trees));
}

TEST_F(SglangTree, ABoundlessRowIsSeen) {
  run(chain(), 1, true, 2);
  EXPECT_GT(kernel_->count("bounds"), 0u);
}

TEST_F(SglangTree, MissingBarriersAreSeen) {
  const std::size_t at = ptx_.find("bar.sync");
  ASSERT_NE(at, std::string::npos);
  for (std::size_t next = at; next != std::string::npos; next = ptx_.find("bar.sync", next + 8))
    ptx_.replace(next, 8, "//r.sync");
  run(chain(), 1);
  EXPECT_NE(kernel_->unsafe(kRacy), "");
}

}  // namespace
}  // namespace draftproof::gpu
