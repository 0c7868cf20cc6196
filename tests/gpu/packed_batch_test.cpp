// Goal: values survive the way to the device's bytes and back, and only bytes in use are written.
#include "gpu/packed_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "gpu/logit_bits.h"
#include "reference/error.h"

namespace draftproof::gpu {
namespace {

using reference::LogitFormat;

TEST(LogitBits, EveryValueOfASixteenBitFormatSurvives) {
  for (const LogitFormat format : {LogitFormat::kBfloat16, LogitFormat::kFloat16})
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const float value = value_of(format, bits);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(value_of(format, bits_of(format, value)))) << bits;
      } else {
        ASSERT_EQ(bits_of(format, value), bits);
        ASSERT_EQ(reference::rounded_to(format, value), value) << bits;
      }
    }
}

TEST(LogitBits, RefuseAValueThatTheFormatLacks) {
  EXPECT_THROW(bits_of(LogitFormat::kFloat16, 1e6f), BrokenInvariant);
  EXPECT_THROW(bits_of(LogitFormat::kBfloat16, 1.0f + 0x1p-20f), BrokenInvariant);
}

reference::Batch ragged_batch() {
  reference::Batch batch;
  batch.vocab_size = 2;
  batch.preset = reference::preset("default");
  reference::Request request;
  request.target_rows = {{1, 2}};
  batch.requests.push_back(request);
  request.proposal.tokens = {1};
  request.proposal.rows = {{5, 6}};
  request.target_rows = {{3, 4}, {7, 8}};
  request.sampling.top_p = 0.1;
  request.sampling.temperature = 0.5;
  batch.requests.push_back(request);
  return batch;
}

TEST(PackedBatch, LeavesPaddingUnused) {
  const reference::Batch batch = ragged_batch();
  reference::Execution execution;
  execution.padded_draft_count = 3;
  const PackedBatch packed = pack(batch, reference::PhiloxCoins(1), execution, {});
  EXPECT_EQ(packed.padded_draft_count, 3u);
  EXPECT_EQ(packed.target_row_stride, 5u);
  ASSERT_EQ(packed.target_rows.used.size(), 3u);
  EXPECT_EQ(packed.target_rows.used[1].begin, 4u * 5 * sizeof(float));
  EXPECT_EQ(packed.target_rows.used[1].end - packed.target_rows.used[1].begin, 2 * sizeof(float));
  EXPECT_EQ(packed.draft_tokens.used.size(), 1u);
}

TEST(PackedBatch, JoinsRowsThatTouch) {
  reference::Batch batch = ragged_batch();
  batch.requests.erase(batch.requests.begin());
  const PackedBatch packed = pack(batch, reference::PhiloxCoins(1), {}, {});
  EXPECT_EQ(packed.target_row_stride, 2u);
  EXPECT_EQ(packed.target_rows.used.size(), 1u);
}

/// Five nodes: 0 and 1 behind the base, 2 behind 1, 3 (a placeholder) and 4 behind 0.
reference::Batch tree_batch() {
  reference::Batch batch;
  batch.vocab_size = 2;
  batch.preset = reference::preset("default");
  batch.draft_kind = reference::RowKind::kOneHot;
  reference::Request request;
  request.id = 7;
  request.position = 100;
  request.iteration = 3;
  request.target_rows.assign(6, {1, 2});
  request.proposal.tokens = {0, 1, 0, reference::kPlaceholder, 1};
  request.proposal.parents = {-1, -1, 1, 0, 0};
  batch.requests = {request};
  return batch;
}

std::uint64_t coin_at(const PackedBatch& packed, std::size_t slot, std::size_t column) {
  std::uint64_t coin = 0;
  std::memcpy(&coin, packed.coins.bytes.data() + (slot * packed.coin_columns + column) * 8, 8);
  return coin;
}

TEST(PackedBatch, PutsTheCoinsOfATreeWhereTheirNodesAre) {
  using reference::Purpose;
  PackingRule rule;
  rule.reads_draft_rows = false;
  rule.takes_trees = true;
  rule.coins = 1u << kernels::kAcceptColumn | 1u << kernels::kTreeSecondColumn;
  rule.coin_columns = kernels::kTreeCoinColumns;
  reference::ScriptedCoins coins;
  coins.set({7, 100, Purpose::kAccept, 1, 0}, 11);  // node 1 is sibling 1 of the base
  coins.set({7, 101, Purpose::kAccept, 0, 0}, 12);  // nodes 2 and 4: a placeholder is no sibling
  coins.set({7, 102, Purpose::kTreeSecond, 0, 0}, 13);  // the rows behind nodes 2 and 4
  const PackedBatch packed = pack(tree_batch(), coins, {}, rule);
  EXPECT_EQ(coin_at(packed, 1, kernels::kAcceptColumn), 11u);
  EXPECT_EQ(coin_at(packed, 2, kernels::kAcceptColumn), 12u);
  EXPECT_EQ(coin_at(packed, 4, kernels::kAcceptColumn), 12u);
  EXPECT_EQ(coin_at(packed, 3, kernels::kTreeSecondColumn), 13u);
  EXPECT_EQ(coin_at(packed, 5, kernels::kTreeSecondColumn), 13u);
  // 4 nodes and 5 rows are there; nothing else is written.
  std::size_t written = 0;
  for (const BufferImage::Range& range : packed.coins.used) written += range.end - range.begin;
  EXPECT_EQ(written, (4 + 5) * sizeof(std::uint64_t));
  EXPECT_EQ(packed.parents.bytes.size(), 5 * sizeof(std::int32_t));
}

TEST(PackedBatch, KeysCoinsByIterationOnRequestOnly) {
  reference::Batch batch = tree_batch();
  batch.requests[0].proposal.parents.clear();
  reference::ScriptedCoins coins(1);
  coins.set({7, 100, reference::Purpose::kAccept, 0, 3}, 2);
  PackingRule rule;
  EXPECT_EQ(coin_at(pack(batch, coins, {}, rule), 0, kernels::kAcceptColumn), 1u);
  rule.is_keyed_by_iteration = true;
  EXPECT_EQ(coin_at(pack(batch, coins, {}, rule), 0, kernels::kAcceptColumn), 2u);
}

TEST(PackedBatch, WritesBackParentsThatTheDeviceChanged) {
  reference::Batch batch = tree_batch();
  PackingRule rule;
  rule.reads_draft_rows = false;
  rule.takes_trees = true;
  const PackedBatch before = pack(batch, reference::PhiloxCoins(1), {}, rule);
  PackedBatch after = before;
  const std::int32_t changed = 0;
  std::memcpy(after.parents.bytes.data() + 2 * sizeof(changed), &changed, sizeof(changed));
  unpack_changes(before, after, batch);
  EXPECT_EQ(batch.requests[0].proposal.parents, (std::vector<int>{-1, -1, 0, 0, 0}));
}

TEST(PackedBatch, HandsOverFractionsExactly) {
  const PackedBatch packed = pack(ragged_batch(), reference::PhiloxCoins(1), {}, {});
  kernels::RequestParameters parameters[2];
  std::memcpy(parameters, packed.parameters.bytes.data(), sizeof(parameters));
  EXPECT_EQ(parameters[0].flags & kernels::kTopPOn, 0u);
  EXPECT_NE(parameters[1].flags & kernels::kTopPOn, 0u);
  EXPECT_EQ(
      std::ldexp(static_cast<double>(parameters[1].top_p_mantissa), -parameters[1].top_p_exponent),
      0.1);
  EXPECT_EQ(parameters[1].scale, 2 * parameters[0].scale);
  EXPECT_EQ(parameters[1].draft_count, 1u);
}

TEST(PackedBatch, ScalesAreTheBitsOfTheReference) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double temperature : {1.0, 0.7, 0.3, 1e-3, 1e30, 1e-40, 5e-324, 1e300, infinity}) {
    reference::Batch batch = ragged_batch();
    batch.requests[0].sampling.temperature = temperature;
    const PackedBatch packed = pack(batch, reference::ScriptedCoins(), {}, {});
    kernels::RequestParameters parameters;
    std::memcpy(&parameters, packed.parameters.bytes.data(), sizeof(parameters));
    EXPECT_EQ(parameters.scale, reference::scale_of(temperature)) << temperature;
    EXPECT_EQ(parameters.initial_scale, reference::scale_of(1.0));
  }
  EXPECT_NE(reference::scale_of(0.7), reference::scale_of(0.7 + 1e-6))
      << "the comparison can say no";
}

TEST(PackedBatch, WritesBackWhatTheDeviceChanged) {
  reference::Batch batch = ragged_batch();
  const PackedBatch before = pack(batch, reference::PhiloxCoins(1), {}, {});
  PackedBatch after = before;
  unpack_changes(before, after, batch);
  EXPECT_EQ(batch, ragged_batch());
  const float changed = 9;
  std::memcpy(after.draft_rows.bytes.data() + 3 * sizeof(float), &changed, sizeof(changed));
  unpack_changes(before, after, batch);
  EXPECT_EQ(batch.requests[1].proposal.rows[0][1], 9);
}

/// A batch after one byte of parameters or coins has changed on the device.
reference::Batch changed_at(BufferImage PackedBatch::*image, std::size_t byte) {
  reference::Batch batch = ragged_batch();
  const PackedBatch before = pack(batch, reference::ScriptedCoins(5), {}, {});
  PackedBatch after = before;
  (after.*image).bytes.at(byte) ^= std::byte{1};
  unpack_changes(before, after, batch);
  return batch;
}

TEST(PackedBatch, TellsAChangeOfAnyByteOfParametersAndCoins) {
  const std::size_t record = sizeof(kernels::RequestParameters);
  for (std::size_t byte = 0; byte < 2 * record; ++byte) {
    const reference::Batch changed = changed_at(&PackedBatch::parameters, byte);
    for (const std::size_t r : {0u, 1u})
      EXPECT_EQ(changed.requests[r] == ragged_batch().requests[r], r != byte / record)
          << "byte " << byte;
  }
  const PackedBatch packed = pack(ragged_batch(), reference::ScriptedCoins(5), {}, {});
  const std::size_t of_one = packed.coins.bytes.size() / 2;
  for (const BufferImage::Range& range : packed.coins.used) {
    const reference::Batch changed = changed_at(&PackedBatch::coins, range.begin);
    EXPECT_TRUE(std::isnan(changed.requests[range.begin / of_one].sampling.temperature));
    EXPECT_FALSE(std::isnan(changed.requests[1 - range.begin / of_one].sampling.temperature));
  }
}

}  // namespace
}  // namespace draftproof::gpu
