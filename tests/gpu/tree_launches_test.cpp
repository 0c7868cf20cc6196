// Goal: no argument of the tree kernels that cannot be launched passes for one that can, and the
// text names the field. Method: sound arguments, spoilt one field at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "gpu/launches/tree.h"

namespace draftproof::gpu::launches {
namespace {

using testing::StartsWith;

draftproof_tree_layout_arguments sound_layout() {
  draftproof_tree_layout_arguments arguments{};
  draftproof_pointer next = 4096;
  for (draftproof_pointer* pointer :
       {&arguments.parents, &arguments.tokens, &arguments.node_counts, &arguments.base_positions,
        &arguments.depths, &arguments.positions, &arguments.first_children,
        &arguments.next_siblings, &arguments.ancestor_masks, &arguments.records}) {
    *pointer = next;
    next += 4096;
  }
  arguments.node_count_stride = arguments.base_position_stride = 64;
  arguments.request_count = 3;
  arguments.node_capacity = 65;
  arguments.mask_words = 2;
  return arguments;
}

TEST(TreeLayoutLaunch, TakesWhatItSays) {
  draftproof_tree_layout_arguments arguments = sound_layout();
  EXPECT_EQ(check(arguments).code, DRAFTPROOF_OK);
  EXPECT_STREQ(check(arguments).text, "");
  arguments.tokens = arguments.base_positions = arguments.depths = 0;
  arguments.positions = arguments.ancestor_masks = arguments.mask_words = 0;
  EXPECT_EQ(check(arguments).code, DRAFTPROOF_OK);
  arguments.node_count_stride = 0;  // every request has the same count
  EXPECT_EQ(check(arguments).code, DRAFTPROOF_OK);
}

TEST(TreeLayoutLaunch, RefusesEachFieldByItsName) {
  using Arguments = draftproof_tree_layout_arguments;
  struct Spoilt {
    std::function<void(Arguments&)> spoil;
    std::int32_t code;
    const char* field;
  };
  const std::vector<Spoilt> all = {
      {[](Arguments& a) { a.parents = 0; }, DRAFTPROOF_NULL_POINTER, "parents"},
      {[](Arguments& a) { a.node_counts = 0; }, DRAFTPROOF_NULL_POINTER, "node_counts"},
      {[](Arguments& a) { a.first_children = 0; }, DRAFTPROOF_NULL_POINTER, "first_children"},
      {[](Arguments& a) { a.next_siblings = 0; }, DRAFTPROOF_NULL_POINTER, "next_siblings"},
      {[](Arguments& a) { a.records = 0; }, DRAFTPROOF_NULL_POINTER, "records"},
      {[](Arguments& a) { a.parents += 2; }, DRAFTPROOF_MISALIGNED, "parents"},
      {[](Arguments& a) { a.tokens += 1; }, DRAFTPROOF_MISALIGNED, "tokens"},
      {[](Arguments& a) { a.node_counts += 2; }, DRAFTPROOF_MISALIGNED, "node_counts"},
      {[](Arguments& a) { a.base_positions += 2; }, DRAFTPROOF_MISALIGNED, "base_positions"},
      {[](Arguments& a) { a.depths += 3; }, DRAFTPROOF_MISALIGNED, "depths"},
      {[](Arguments& a) { a.positions += 2; }, DRAFTPROOF_MISALIGNED, "positions"},
      {[](Arguments& a) { a.first_children += 2; }, DRAFTPROOF_MISALIGNED, "first_children"},
      {[](Arguments& a) { a.next_siblings += 2; }, DRAFTPROOF_MISALIGNED, "next_siblings"},
      {[](Arguments& a) { a.ancestor_masks += 4; }, DRAFTPROOF_MISALIGNED, "ancestor_masks"},
      {[](Arguments& a) { a.records += 2; }, DRAFTPROOF_MISALIGNED, "records"},
      {[](Arguments& a) { a.node_count_stride = 6; }, DRAFTPROOF_MISALIGNED, "node_count_stride"},
      {[](Arguments& a) { a.base_position_stride = 2; }, DRAFTPROOF_MISALIGNED,
       "base_position_stride"},
      {[](Arguments& a) { a.request_count = 0; }, DRAFTPROOF_OUT_OF_RANGE, "request_count"},
      {[](Arguments& a) { a.request_count = 1u << 31; }, DRAFTPROOF_OUT_OF_RANGE, "request_count"},
      {[](Arguments& a) { a.node_capacity = 0; }, DRAFTPROOF_OUT_OF_RANGE, "node_capacity"},
      {[](Arguments& a) { a.node_capacity = 65537; }, DRAFTPROOF_OUT_OF_RANGE, "node_capacity"},
      {[](Arguments& a) { a.mask_words = 1; }, DRAFTPROOF_OUT_OF_RANGE, "mask_words"},
      {[](Arguments& a) { a.equal_siblings_are_malformed = 2; }, DRAFTPROOF_OUT_OF_RANGE,
       "equal_siblings_are_malformed"},
      {[](Arguments& a) {
         a.request_count = 0x7fffffff;
         a.node_capacity = 65536;
         a.mask_words = 0xffffffff;
       },
       DRAFTPROOF_TOO_LARGE, "mask_words"},
      {[](Arguments& a) { a.node_count_stride = std::uint64_t{1} << 62; }, DRAFTPROOF_TOO_LARGE,
       "node_count_stride"},
      {[](Arguments& a) { a.base_position_stride = std::uint64_t{1} << 62; }, DRAFTPROOF_TOO_LARGE,
       "base_position_stride"},
      {[](Arguments& a) { a.depths = a.positions + 4; }, DRAFTPROOF_OVERLAP, "a buffer"},
      {[](Arguments& a) { a.next_siblings = a.parents; }, DRAFTPROOF_OVERLAP, "a buffer"},
      {[](Arguments& a) { a.records = a.node_counts + 128; }, DRAFTPROOF_OVERLAP, "a buffer"},
      {[](Arguments& a) { a.ancestor_masks = a.records - 8; }, DRAFTPROOF_OVERLAP, "a buffer"},
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    Arguments arguments = sound_layout();
    all[i].spoil(arguments);
    const draftproof_result result = check(arguments);
    EXPECT_EQ(result.code, all[i].code) << i << ": " << result.text;
    EXPECT_THAT(result.text, StartsWith(all[i].field)) << i;
  }
}

draftproof_tree_selection_arguments sound_selection() {
  draftproof_tree_selection_arguments arguments{};
  draftproof_pointer next = 4096;
  for (draftproof_pointer* pointer :
       {&arguments.parents, &arguments.tokens, &arguments.scores, &arguments.candidate_counts,
        &arguments.keep_counts, &arguments.kept_candidates, &arguments.kept_parents,
        &arguments.kept_tokens, &arguments.records}) {
    *pointer = next;
    next += 4096;
  }
  arguments.candidate_count_stride = arguments.keep_count_stride = 4;
  arguments.request_count = 3;
  arguments.candidate_capacity = 100;
  arguments.keep_capacity = 60;
  return arguments;
}

TEST(TreeSelectionLaunch, TakesWhatItSays) {
  draftproof_tree_selection_arguments arguments = sound_selection();
  EXPECT_EQ(check(arguments).code, DRAFTPROOF_OK);
  arguments.tokens = arguments.kept_tokens = arguments.keep_counts = 0;
  arguments.keep_capacity = 100;
  EXPECT_EQ(check(arguments).code, DRAFTPROOF_OK);
  EXPECT_EQ(launch_of(arguments).block.x, 128u);
  EXPECT_STREQ(launch_of(arguments).entry, "draftproof_tree_select");
}

TEST(TreeSelectionLaunch, RefusesEachFieldByItsName) {
  using Arguments = draftproof_tree_selection_arguments;
  struct Spoilt {
    std::function<void(Arguments&)> spoil;
    std::int32_t code;
    const char* field;
  };
  const std::vector<Spoilt> all = {
      {[](Arguments& a) { a.parents = 0; }, DRAFTPROOF_NULL_POINTER, "parents"},
      {[](Arguments& a) { a.scores = 0; }, DRAFTPROOF_NULL_POINTER, "scores"},
      {[](Arguments& a) { a.candidate_counts = 0; }, DRAFTPROOF_NULL_POINTER, "candidate_counts"},
      {[](Arguments& a) { a.kept_candidates = 0; }, DRAFTPROOF_NULL_POINTER, "kept_candidates"},
      {[](Arguments& a) { a.kept_parents = 0; }, DRAFTPROOF_NULL_POINTER, "kept_parents"},
      {[](Arguments& a) { a.records = 0; }, DRAFTPROOF_NULL_POINTER, "records"},
      {[](Arguments& a) { a.tokens = 0; }, DRAFTPROOF_NULL_POINTER, "tokens"},
      {[](Arguments& a) { a.parents += 1; }, DRAFTPROOF_MISALIGNED, "parents"},
      {[](Arguments& a) { a.tokens += 2; }, DRAFTPROOF_MISALIGNED, "tokens"},
      {[](Arguments& a) { a.scores += 2; }, DRAFTPROOF_MISALIGNED, "scores"},
      {[](Arguments& a) { a.candidate_counts += 2; }, DRAFTPROOF_MISALIGNED, "candidate_counts"},
      {[](Arguments& a) { a.keep_counts += 2; }, DRAFTPROOF_MISALIGNED, "keep_counts"},
      {[](Arguments& a) { a.kept_candidates += 2; }, DRAFTPROOF_MISALIGNED, "kept_candidates"},
      {[](Arguments& a) { a.kept_parents += 2; }, DRAFTPROOF_MISALIGNED, "kept_parents"},
      {[](Arguments& a) { a.kept_tokens += 2; }, DRAFTPROOF_MISALIGNED, "kept_tokens"},
      {[](Arguments& a) { a.records += 2; }, DRAFTPROOF_MISALIGNED, "records"},
      {[](Arguments& a) { a.candidate_count_stride = 5; }, DRAFTPROOF_MISALIGNED,
       "candidate_count_stride"},
      {[](Arguments& a) { a.keep_count_stride = 6; }, DRAFTPROOF_MISALIGNED, "keep_count_stride"},
      {[](Arguments& a) { a.request_count = 0; }, DRAFTPROOF_OUT_OF_RANGE, "request_count"},
      {[](Arguments& a) { a.candidate_capacity = 0; }, DRAFTPROOF_OUT_OF_RANGE,
       "candidate_capacity"},
      {[](Arguments& a) { a.candidate_capacity = 65537; }, DRAFTPROOF_OUT_OF_RANGE,
       "candidate_capacity"},
      {[](Arguments& a) { a.keep_capacity = 0; }, DRAFTPROOF_OUT_OF_RANGE, "keep_capacity"},
      {[](Arguments& a) { a.keep_capacity = 101; }, DRAFTPROOF_OUT_OF_RANGE, "keep_capacity"},
      {[](Arguments& a) { a.reserved = 1; }, DRAFTPROOF_OUT_OF_RANGE, "reserved"},
      {[](Arguments& a) { a.candidate_count_stride = std::uint64_t{1} << 62; },
       DRAFTPROOF_TOO_LARGE, "candidate_count_stride"},
      {[](Arguments& a) { a.keep_count_stride = std::uint64_t{1} << 62; }, DRAFTPROOF_TOO_LARGE,
       "keep_count_stride"},
      {[](Arguments& a) { a.kept_parents = a.parents; }, DRAFTPROOF_OVERLAP, "a buffer"},
      {[](Arguments& a) { a.kept_tokens = a.tokens + 4; }, DRAFTPROOF_OVERLAP, "a buffer"},
      {[](Arguments& a) { a.records = a.keep_counts + 8; }, DRAFTPROOF_OVERLAP, "a buffer"},
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    Arguments arguments = sound_selection();
    all[i].spoil(arguments);
    const draftproof_result result = check(arguments);
    EXPECT_EQ(result.code, all[i].code) << i << ": " << result.text;
    EXPECT_THAT(result.text, StartsWith(all[i].field)) << i;
  }
}

TEST(TreeLayoutLaunch, GivesAWarpToSmallTreesAndAThreadToEachNodeOfLargeOnes) {
  draftproof_tree_layout_arguments arguments = sound_layout();
  arguments.node_capacity = 64;
  EXPECT_EQ(launch_of(arguments).block.x, 32u);
  arguments.node_capacity = 65;
  EXPECT_EQ(launch_of(arguments).block.x, 96u);
  arguments.node_capacity = 65536;
  EXPECT_EQ(launch_of(arguments).block.x, 1024u);
  EXPECT_EQ(launch_of(arguments).grid.x, 3u);
  EXPECT_STREQ(launch_of(arguments).module, "layout");
}

}  // namespace
}  // namespace draftproof::gpu::launches
