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

TEST(PackedBatch, FractionBitsFollowTheVocabulary) {
  EXPECT_EQ(fraction_bits_of(1), 44u);
  EXPECT_EQ(fraction_bits_of(1u << 18), 44u);
  EXPECT_EQ(fraction_bits_of((1u << 18) + 1), 43u);
  EXPECT_EQ(fraction_bits_of(1u << 19), 43u);
  EXPECT_EQ(fraction_bits_of(1u << 20), 42u);
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

}  // namespace
}  // namespace draftproof::gpu
