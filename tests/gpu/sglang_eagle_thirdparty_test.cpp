// SGLang's kernels around token trees on the emulated device: greedy verification, and the builder
// that makes links out of parents. Plain computations stand beside them. Needs
// tools/kernels/fetch.sh sglang; skipped without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/gpu/third_party_run.h"

namespace draftproof::gpu {
namespace {

using test::kUnwrittenId;
using test::ThirdPartyRun;
using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<std::int64_t>;

constexpr std::int64_t kNone = -1;

class SglangEagle : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::is_fetched("sglang")) GTEST_SKIP() << "run tools/kernels/fetch.sh sglang";
    ptx_ = test::text_of(test::third_party_folder("sglang") / "tree.ptx");
  }

  ThirdPartyRun& load(const std::string& entry) {
    kernel_ = std::make_unique<ThirdPartyRun>(ptx_, "tree.ptx", entry);
    return *kernel_;
  }

  std::string ptx_;
  std::unique_ptr<ThirdPartyRun> kernel_;
};

struct GreedyResult {
  std::vector<std::int32_t> predicts, accept_index, accept_count;
  bool operator==(const GreedyResult&) const = default;
};

/// Of every node's children the one whose token is the target's choice at that node.
GreedyResult plain_greedy(std::size_t nodes, std::size_t path, const Ids& tokens, const Ids& child,
                          const Ids& sibling, const Ids& choice) {
  const std::size_t requests = tokens.size() / nodes;
  GreedyResult result{
      std::vector(tokens.size(), kUnwrittenId), std::vector(requests * path, kUnwrittenId), {}};
  for (std::size_t request = 0; request < requests; ++request) {
    const std::size_t base = request * nodes;
    std::size_t node = base;
    std::int32_t accepted = 0;
    result.accept_index[request * path] = static_cast<std::int32_t>(node);
    for (;;) {
      result.predicts[node] = static_cast<std::int32_t>(choice[node]);
      if (static_cast<std::size_t>(accepted) + 1 == path) break;
      std::int64_t next = child[node];
      while (next != kNone && tokens[base + static_cast<std::size_t>(next)] != choice[node])
        next = sibling[base + static_cast<std::size_t>(next)];
      if (next == kNone) break;
      node = base + static_cast<std::size_t>(next);
      result.accept_index[request * path + static_cast<std::size_t>(++accepted)] =
          static_cast<std::int32_t>(node);
    }
    result.accept_count.push_back(accepted);
  }
  return result;
}

TEST_F(SglangEagle, GreedyVerificationFollowsTheTargetsChoices) {
  std::mt19937_64 mix(11);
  std::int32_t accepted = 0;
  for (std::size_t trial = 0; trial < 60; ++trial) {
    const std::size_t requests = 1 + trial % 3, nodes = 2 + trial % 5, path = 2 + trial % 3;
    const std::size_t all = requests * nodes;
    Ids tokens(all), child(all, kNone), sibling(all, kNone), choice(all), index(all);
    for (std::size_t each = 0; each < all; ++each) {
      index[each] = static_cast<std::int64_t>(each);
      tokens[each] = static_cast<std::int64_t>(mix() % 4);
      choice[each] = static_cast<std::int64_t>(mix() % 3);
    }
    for (std::size_t each = all; each-- > 0;) {
      const std::size_t node = each % nodes;
      if (node == 0) continue;
      const std::size_t parent = each - node + mix() % node;
      sibling[each] = child[parent];
      child[parent] = static_cast<std::int64_t>(node);
    }
    ThirdPartyRun& kernel = load("VerifyTreeGreedy");
    LaunchOptions options;
    options.grid.x = static_cast<std::uint32_t>(requests);
    kernel.launch(
        options,
        {kernel.out<std::int32_t>("predicts", all),
         kernel.out<std::int32_t>("accept_index", requests * path),
         kernel.out<std::int32_t>("accept_token_num", requests), kernel.in("candidates", tokens),
         kernel.in("retrive_index", index), kernel.in("retrive_next_token", child),
         kernel.in("retrive_next_sibling", sibling), kernel.in("target_predict", choice),
         Argument(static_cast<std::uint32_t>(requests)), Argument(static_cast<std::uint32_t>(path)),
         Argument(static_cast<std::uint32_t>(nodes))});
    const GreedyResult result{kernel.read<std::int32_t>("predicts"),
                              kernel.read<std::int32_t>("accept_index"),
                              kernel.read<std::int32_t>("accept_token_num")};
    EXPECT_EQ(result, plain_greedy(nodes, path, tokens, child, sibling, choice)) << trial;
    EXPECT_TRUE(kernel.report().observations.empty()) << kernel.unsafe();
    for (const std::int32_t each : result.accept_count) accepted += each;
    // The comparison can fail: with other choices the result is another.
    for (std::int64_t& each : choice) each += 1;
    EXPECT_NE(result, plain_greedy(nodes, path, tokens, child, sibling, choice)) << trial;
  }
  EXPECT_GT(accepted, 20);
}

/// Two steps, two candidates each: topk 2, depth 2. Candidates of step one are 0 and 1, those of
/// step two 2 to 5, of which 2 and 3 come from what parent_list[1] names, 4 and 5 from the next.
class SglangBuilder : public SglangEagle {
 protected:
  static constexpr std::size_t kTokens = 4;

  /// `mode` 0: a mask over the sequence too; 1: over the tree only.
  void build(const Ids& parents, const Ids& selected, const Ids& lengths, int mode) {
    const std::size_t requests = lengths.size(), all = requests * kTokens;
    std::size_t mask = all * kTokens;
    for (const std::int64_t each : lengths)
      mask += mode == 0 ? static_cast<std::size_t>(each) * kTokens : 0;
    ThirdPartyRun& kernel = load("20build_tree_efficientE");
    LaunchOptions options;
    options.grid.x = static_cast<std::uint32_t>(requests);
    options.block.x = kTokens;
    options.warp_instruction_limit = 1 << 16;
    kernel.launch(
        options,
        {kernel.in("parent_list", parents), kernel.in("selected_index", selected),
         kernel.in("verified_seq_len", lengths),
         kernel.in("tree_mask", std::vector<std::uint8_t>(mask, 1)),
         kernel.out<std::int64_t>("positions", all), kernel.in("retrive_index", Ids(all, kNone)),
         kernel.in("retrive_next_token", Ids(all, kNone)),
         kernel.in("retrive_next_sibling", Ids(all, kNone)), Argument(2), Argument(2),
         Argument(static_cast<int>(kTokens)), Argument(mode)});
  }
};

TEST_F(SglangBuilder, LinksAValidTree) {
  // The root has children 1 and 2 (candidates 0 and 1), node 1 has child 3 (candidate 2).
  build({-1, 0, 1}, {0, 1, 2}, {5}, 1);
  EXPECT_TRUE(kernel_->report().observations.empty()) << kernel_->unsafe();
  EXPECT_EQ(kernel_->report().printed, "");
  EXPECT_THAT(kernel_->read<std::int64_t>("retrive_index"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(kernel_->read<std::int64_t>("retrive_next_token"), ElementsAre(1, 3, -1, -1));
  EXPECT_THAT(kernel_->read<std::int64_t>("retrive_next_sibling"), ElementsAre(-1, 2, -1, -1));
  EXPECT_THAT(kernel_->read<std::int64_t>("positions"), ElementsAre(5, 6, 6, 7));
  EXPECT_THAT(kernel_->read<std::uint8_t>("tree_mask"),
              ElementsAre(1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0, 1));
}

TEST_F(SglangBuilder, OfATreeWithoutAParentGoesOutOfBounds) {
  // Candidate 4 comes from candidate 3, which was not selected. The kernel expects such trees (its
  // first thread warns of them), but looks for the parent one element past the selected ones, and
  // the node's own thread goes on with a place past the end: it writes to the mask beyond the row,
  // and looks for the parent of that.
  build({-1, 0, 3}, {0, 1, 4}, {5}, 1);
  EXPECT_THAT(kernel_->report().printed, HasSubstr("invalid eagle tree"));
  EXPECT_GE(kernel_->count("bounds"), 3u);
  const std::string seen = kernel_->unsafe();
  EXPECT_THAT(seen, HasSubstr("read of 8 bytes at offset 24 of allocation 'selected_index' (24"));
  EXPECT_THAT(seen, HasSubstr("write of 1 bytes at offset 17 of allocation 'tree_mask' (16"));
}

}  // namespace
}  // namespace draftproof::gpu
