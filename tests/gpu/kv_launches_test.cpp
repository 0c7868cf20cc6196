// Goal: no KV launch leaves this side with arguments that its contract does not allow, and each
// refusal names the field. Method: sound arguments, one field of them wrong at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "gpu/launches/kv.h"

namespace draftproof::gpu {
namespace {

draftproof_kv_pool pool() {
  draftproof_kv_pool pool{};
  pool.planes[0] = {0x100000, 0, 0x8000, 0x400, 0x40, 0x20, 2, 32, DRAFTPROOF_KV_SLOT, 0};
  pool.planes[1] = pool.planes[0];
  pool.planes[1].base = 0x200000;
  pool.planes[2] = {0x300000, 0, 0x400, 0x10, 0, 4, 2, 4, DRAFTPROOF_KV_PAGE, 0};
  pool.plane_count = 3;
  pool.layer_count = 2;
  pool.page_size = 16;
  pool.page_count = 32;
  return pool;
}

draftproof_kv_sequences sequences() { return {0x10000, 0, 0x11000, 0x12000, 8, 4, 8, 4, 0}; }

draftproof_kv_kept kept() { return {0x13000, 0x14000, 0, 8, 0, 16, 8, 0, 1}; }

draftproof_kv_commit_arguments commit() {
  return {pool(), sequences(), kept(), 0x15000, 0x16000, 0, 0};
}

draftproof_kv_map_slots_arguments map_slots() {
  return {sequences(), 0x20000, 0, 0x16000, 8, 32, 16, 32, 0, 0};
}

draftproof_kv_append_arguments append() {
  draftproof_kv_append_arguments arguments{};
  arguments.pool = pool();
  arguments.sources[0] = {0x400000, 0x400, 0x40, 0x20};
  arguments.sources[1] = {0x500000, 0x400, 0x40, 0x20};
  arguments.slots = 0x17000;
  arguments.token_count = 16;
  return arguments;
}

draftproof_kv_copy_pages_arguments copy_pages() {
  return {pool(), 0x18000, 0x10000, 0x16000, 8, 4, 8, 3, 0};
}

draftproof_kv_release_pages_arguments release_pages() {
  return {sequences(), 0x15000, 0x19000, 0x1a000, 0, 0x16000, 8, 16, 32, 0, 0, 0, 0};
}

draftproof_kv_poison_arguments poison() { return {pool(), sequences(), 0x15000, 0x16000, 0xA5, 0}; }

draftproof_kv_gather_rows_arguments gather_rows() {
  draftproof_kv_gather_rows_arguments arguments{};
  arguments.buffers[0] = {0x30000, 0x40000, 64, 64, 64};
  arguments.kept = kept();
  arguments.fed_counts = 0x12000;
  arguments.statuses = 0x16000;
  arguments.source_row_count = arguments.destination_row_count = 36;
  arguments.source_rows = arguments.destination_rows = 9;
  arguments.buffer_count = 1;
  arguments.sequence_count = 4;
  return arguments;
}

draftproof_kv_select_states_arguments select_states() {
  draftproof_kv_select_states_arguments arguments{};
  arguments.pool = pool();
  arguments.pool.page_size = 1;
  arguments.kept = kept();
  arguments.candidates = 0x1b000;
  arguments.committed = 0x1c000;
  arguments.fed_counts = 0x12000;
  arguments.statuses = 0x16000;
  arguments.candidate_stride = arguments.candidate_max = 9;
  arguments.sequence_count = 4;
  return arguments;
}

/// One wrong field: how, and what is said.
template <class Arguments>
struct Wrong {
  std::function<void(Arguments&)> make;
  draftproof_code code;
  const char* text;
};

template <class Arguments>
void expect_refused(const Arguments& sound, const std::vector<Wrong<Arguments>>& list) {
  EXPECT_EQ(launches::check(sound).code, DRAFTPROOF_OK) << launches::check(sound).text;
  EXPECT_STREQ(launches::check(sound).text, "");
  for (const Wrong<Arguments>& wrong : list) {
    Arguments arguments = sound;
    wrong.make(arguments);
    const draftproof_result result = launches::check(arguments);
    EXPECT_EQ(result.code, wrong.code) << wrong.text << " / " << result.text;
    EXPECT_THAT(result.text, testing::HasSubstr(wrong.text));
  }
}

constexpr draftproof_code kNull = DRAFTPROOF_NULL_POINTER;
constexpr draftproof_code kRange = DRAFTPROOF_OUT_OF_RANGE;

TEST(KvLaunches, RefuseAPoolThatIsNone) {
  using A = draftproof_kv_poison_arguments;
  expect_refused<A>(
      poison(), {{[](A& a) { a.pool.plane_count = 0; }, kRange, "plane_count"},
                 {[](A& a) { a.pool.plane_count = 7; }, kRange, "plane_count"},
                 {[](A& a) { a.pool.layer_count = 0; }, kRange, "layer_count"},
                 {[](A& a) { a.pool.page_size = 0; }, kRange, "page_size"},
                 {[](A& a) { a.pool.page_count = 0; }, kRange, "page_count"},
                 {[](A& a) { a.pool.page_count = 0x80000000; }, kRange, "page_count"},
                 {[](A& a) { a.pool.planes[1].base = 0; }, kNull, "base and bases are null"},
                 {[](A& a) { a.pool.planes[1].bases = 0x1000; }, kRange, "both given"},
                 {[](A& a) { a.pool.planes[1].bases_alignment = 16; }, kRange, "bases_alignment"},
                 {[](A& a) { a.pool.planes[1].unit = 2; }, kRange, "unit"},
                 {[](A& a) { a.pool.planes[1].head_count = 0; }, kRange, "head_count"},
                 {[](A& a) { a.pool.planes[1].head_bytes = 0x40000000; }, kRange, "below 2^31"},
                 {[](A& a) { a.pool.planes[1].head_stride = 31; }, kRange, "strides"},
                 {[](A& a) { a.pool.planes[1].slot_stride = 0x3f; }, kRange, "strides"},
                 {[](A& a) { a.pool.planes[1].page_stride = 0x3ff; }, kRange, "strides"},
                 {[](A& a) { a.pool.planes[1].layer_stride = 0x7000; }, kRange, "strides"},
                 {[](A& a) { a.pool.planes[1].layer_stride = ~0ull; }, kRange, "strides"},
                 {[](A& a) { a.byte = 256; }, kRange, "byte"},
                 {[](A& a) { a.block_threads = 48; }, kRange, "block_threads"},
                 {[](A& a) { a.block_threads = 1056; }, kRange, "block_threads"},
                 {[](A& a) { a.statuses = 0x200000; }, DRAFTPROOF_OVERLAP, "plane overlaps"},
                 {[](A& a) { a.statuses = 0x15000; }, DRAFTPROOF_OVERLAP, "overlaps"}});
}

TEST(KvLaunches, TakeBasesOfLayersAndLayoutsInAnyOrderOfDimensions) {
  draftproof_kv_poison_arguments arguments = poison();
  draftproof_kv_plane& plane = arguments.pool.planes[0];
  plane.base = 0;
  plane.bases = 0x50000;
  plane.bases_alignment = 8;
  EXPECT_STREQ(launches::check(arguments).text, "");
  plane.bases_alignment = 3;
  EXPECT_EQ(launches::check(arguments).code, kRange);
  plane = pool().planes[0];
  plane.slot_stride = 0x20;  // [page][head][slot]
  plane.head_stride = 0x200;
  EXPECT_STREQ(launches::check(arguments).text, "");
}

TEST(KvLaunches, RefuseSequencesAndListsThatDoNotFit) {
  using A = draftproof_kv_commit_arguments;
  expect_refused<A>(
      commit(),
      {{[](A& a) { a.sequences.tables = 0; }, kNull, "tables"},
       {[](A& a) { a.sequences.tables = 0x10002; }, DRAFTPROOF_MISALIGNED, "tables"},
       {[](A& a) { a.sequences.rows = 0x10001; }, DRAFTPROOF_MISALIGNED, "rows"},
       {[](A& a) { a.sequences.lengths = 0; }, kNull, "lengths"},
       {[](A& a) { a.sequences.fed_counts = 0; }, kNull, "fed_counts"},
       {[](A& a) { a.sequences.table_stride = 7; }, kRange, "table_stride"},
       {[](A& a) { a.sequences.table_stride = ~0ull / 2; }, DRAFTPROOF_TOO_LARGE, "2^63"},
       {[](A& a) { a.sequences.row_count = 3; }, kRange, "row_count"},
       {[](A& a) { a.sequences.page_max = 0; }, kRange, "page_max"},
       {[](A& a) { a.sequences.sequence_count = 65536; }, kRange, "sequence_count"},
       {[](A& a) { a.sequences.reserved = 1; }, kRange, "reserved"},
       {[](A& a) { a.kept.counts = 0; }, kNull, "kept.counts"},
       {[](A& a) { a.kept.count_stride_bytes = 6; }, kRange, "count_stride_bytes"},
       {[](A& a) { a.kept.node_stride = 7; }, kRange, "node_stride"},
       {[](A& a) { a.kept.kept_max = 1u << 24; }, kRange, "kept_max"},
       {[](A& a) { a.kept.nodes = 0x13001; }, DRAFTPROOF_MISALIGNED, "kept.nodes"},
       {[](A& a) {
          a.kept.node_offsets = 0x50000;
          a.kept.node_max = 4;
        },
        kRange, "offset_stride"},
       {[](A& a) { a.new_lengths = a.sequences.lengths; }, DRAFTPROOF_OVERLAP, "overlaps"},
       {[](A& a) { a.statuses = 0; }, kNull, "statuses"},
       {[](A& a) { a.flags = DRAFTPROOF_KV_EXCHANGE; }, kRange, "flags"}});
}

/// One page of 2^31 slots, and tables of 2^31 - 1 entries: one entry more is the bound.
template <class Arguments>
void expect_tables_bounded(Arguments arguments, draftproof_kv_sequences Arguments::*sequences) {
  constexpr std::uint32_t kHalf = 1u << 31;
  draftproof_kv_sequences& own = arguments.*sequences;
  own.tables = std::uint64_t{1} << 45;  // behind everything else
  own.table_stride = ~0u;
  own.page_max = kHalf - 1;
  expect_refused<Arguments>(
      arguments,
      {{[=](Arguments& a) { (a.*sequences).page_max = kHalf; }, kRange, "page_max * page_size"},
       {[=](Arguments& a) { (a.*sequences).page_max = ~0u; }, kRange, "page_max * page_size"}});
}

TEST(KvLaunches, RefuseTablesOfMoreSlotsThan62BitsCount) {
  draftproof_kv_map_slots_arguments mapped = map_slots();
  mapped.page_size = 1u << 31;
  mapped.page_count = 1;
  expect_tables_bounded(mapped, &draftproof_kv_map_slots_arguments::sequences);
  draftproof_kv_release_pages_arguments released = release_pages();
  released.page_size = 1u << 31;
  released.page_count = 1;
  released.freed = std::uint64_t{1} << 50;
  released.freed_stride = ~0u;
  expect_tables_bounded(released, &draftproof_kv_release_pages_arguments::sequences);
  draftproof_kv_pool one_page = pool();
  one_page.plane_count = one_page.layer_count = one_page.page_count = 1;
  one_page.page_size = 1u << 31;
  one_page.planes[0].base = std::uint64_t{1} << 55;
  draftproof_kv_commit_arguments committed = commit();
  committed.pool = one_page;
  expect_tables_bounded(committed, &draftproof_kv_commit_arguments::sequences);
  draftproof_kv_poison_arguments poisoned = poison();
  poisoned.pool = one_page;
  expect_tables_bounded(poisoned, &draftproof_kv_poison_arguments::sequences);
}

TEST(KvLaunches, RefuseWhatTheOthersCannotServe) {
  using Map = draftproof_kv_map_slots_arguments;
  expect_refused<Map>(map_slots(),
                      {{[](Map& a) { a.slots = 0; }, kNull, "slots"},
                       {[](Map& a) { a.slots = 0x20004; }, DRAFTPROOF_MISALIGNED, "slots"},
                       {[](Map& a) { a.slot_count = 31; }, kRange, "slot_count"},
                       {[](Map& a) { a.page_size = 0; }, kRange, "page_size"}});
  using Append = draftproof_kv_append_arguments;
  expect_refused<Append>(
      append(), {{[](Append& a) { a.slots = 0; }, kNull, "slots"},
                 {[](Append& a) { a.sources[1].base = 0; }, kNull, "source"},
                 {[](Append& a) { a.sources[1].token_stride = 0x3f; }, kRange, "source"},
                 {[](Append& a) { a.sources[1].base = 0x200100; }, DRAFTPROOF_OVERLAP, "plane"},
                 {[](Append& a) { a.token_count = 1u << 31; }, kRange, "token_count"}});
  using Copy = draftproof_kv_copy_pages_arguments;
  expect_refused<Copy>(copy_pages(),
                       {{[](Copy& a) { a.copies = 0; }, kNull, "copies"},
                        {[](Copy& a) { a.table_stride = 7; }, kRange, "table_stride"},
                        {[](Copy& a) { a.copy_count = 65536; }, kRange, "sequence_count"}});
  using Release = draftproof_kv_release_pages_arguments;
  expect_refused<Release>(
      release_pages(),
      {{[](Release& a) { a.new_lengths = 0; }, kNull, "new_lengths"},
       {[](Release& a) { a.freed = 0; }, kNull, "freed"},
       {[](Release& a) { a.freed_stride = 7; }, kRange, "freed_stride"},
       {[](Release& a) { a.freed = a.sequences.tables; }, DRAFTPROOF_OVERLAP, "overlaps"},
       {[](Release& a) { a.spare_count = 1u << 24; }, kRange, "spare_count"}});
  using Gather = draftproof_kv_gather_rows_arguments;
  expect_refused<Gather>(gather_rows(),
                         {{[](Gather& a) { a.buffer_count = 5; }, kRange, "buffer_count"},
                          {[](Gather& a) { a.buffers[0].row_bytes = 65; }, kRange, "source_stride"},
                          {[](Gather& a) { a.buffers[0].destination = 0; }, kNull, "destination"},
                          {[](Gather& a) { a.buffers[0].destination = 0x30000 + 35 * 64 + 63; },
                           DRAFTPROOF_OVERLAP, "overlaps"}});
  using Select = draftproof_kv_select_states_arguments;
  expect_refused<Select>(select_states(),
                         {{[](Select& a) { a.pool.page_size = 2; }, kRange, "page_size"},
                          {[](Select& a) { a.candidates = 0; }, kNull, "candidates"},
                          {[](Select& a) { a.candidate_stride = 8; }, kRange, "candidate_stride"},
                          {[](Select& a) { a.flags = 4; }, kRange, "flags"}});
}

TEST(KvLaunches, LaunchNothingForNobodyAndOneBlockASequenceWhereNoCellCanMove) {
  draftproof_kv_commit_arguments arguments = commit();
  EXPECT_GT(launches::launch_of(arguments).grid.x, 0u);
  EXPECT_EQ(launches::launch_of(arguments).grid.y, 4u);
  arguments.kept.nodes = 0;  // chains
  EXPECT_EQ(launches::launch_of(arguments).grid.x, 1u);
  arguments.sequences = {};
  arguments.sequences.page_max = arguments.sequences.row_count = 1;
  arguments.sequences.table_stride = 1;
  arguments.statuses = arguments.new_lengths = arguments.kept.counts = 0;
  EXPECT_STREQ(launches::check(arguments).text, "");
  EXPECT_EQ(launches::launch_of(arguments).grid.count(), 0u);
}

}  // namespace
}  // namespace draftproof::gpu
