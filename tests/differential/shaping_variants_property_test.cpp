// Goal: however shape_rows divides its work, its records are the same bits. Method: random batches
// of every preset, storage format and draft kind, and rows made to overflow what counts them,
// shaped by the general kernel and by the others, all checks of the device on.
#include <gtest/gtest.h>

#include "gpu/emulated_device.h"
#include "tests/differential/random_batch.h"
#include "tests/differential/shaping_run.h"

namespace draftproof::tests {
namespace {

using reference::LogitFormat;

std::string to_text(const draftproof_row_record& record) {
  std::ostringstream text;
  text << "status " << record.status << " total " << record.total << " maximum " << record.maximum
       << " scale " << record.scale << " cut " << std::hex << record.cut_key << "/" << record.cut_id
       << " kind " << record.kind;
  return text.str();
}

class ShapingVariants : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
    device_ = gpu::make_emulated_device();
    modules_ = std::make_unique<gpu::KernelModules>(*device_, gpu::embedded_texts());
  }

  std::vector<draftproof_row_record> records(const RandomCase& input, std::uint32_t variant,
                                             std::uint32_t blocks_per_row) {
    ShapingRun run(*device_, input.batch, input.execution, *input.coins);
    run.arguments.variant = variant;
    run.arguments.blocks_per_row = blocks_per_row;
    run.workspace();
    const auto seen = run.launch(*modules_);
    EXPECT_FALSE(seen) << *seen;
    return run.used_records(input.batch);
  }

  void expect_same(const RandomCase& input, std::uint32_t variant,
                   std::uint32_t blocks_per_row = 0) {
    const auto expected = records(input, DRAFTPROOF_SHAPING_GENERAL, 0);
    const auto observed = records(input, variant, blocks_per_row);
    ASSERT_EQ(expected.size(), observed.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(std::memcmp(&expected[i], &observed[i], sizeof(expected[i])), 0)
          << "record " << i << ", vocabulary " << input.batch.vocab_size << ", preset "
          << input.batch.preset.name << ", block " << input.execution.block_threads << ", "
          << blocks_per_row << " blocks a row\n  general " << to_text(expected[i]) << "\n  variant "
          << to_text(observed[i]);
  }

  /// One row, one request, no draft.
  static RandomCase one_row(LogitFormat format, reference::Row row,
                            const reference::Sampling& sampling, const char* preset) {
    RandomCase input;
    input.batch.vocab_size = row.size();
    input.batch.format = format;
    input.batch.preset = reference::preset(preset);
    input.batch.draft_kind = reference::RowKind::kOneHot;
    reference::Request request;
    request.sampling = sampling;
    request.target_rows = {std::move(row)};
    input.batch.requests = {request};
    input.coins = std::make_unique<reference::PhiloxCoins>(1);
    input.execution.block_threads = 512;
    return input;
  }

  std::unique_ptr<gpu::Device> device_;
  std::unique_ptr<gpu::KernelModules> modules_;
};

TEST_F(ShapingVariants, ByKeyAgreesOnEveryPreset) {
  RandomCases cases(31, {1, 300, 1, 1});
  for (int count = 0; count < 60;) {
    const RandomCase input = cases.next();
    if (input.batch.format == LogitFormat::kFloat32) continue;
    ++count;
    expect_same(input, DRAFTPROOF_SHAPING_BY_KEY);
    if (HasFatalFailure()) return;
  }
}

TEST_F(ShapingVariants, ByKeyAgreesOnLongerRows) {
  RandomCases cases(32, {2000, 20000, 1, 0});
  for (int count = 0; count < 8;) {
    const RandomCase input = cases.next();
    if (input.batch.format == LogitFormat::kFloat32) continue;
    ++count;
    expect_same(input, DRAFTPROOF_SHAPING_BY_KEY);
    if (HasFatalFailure()) return;
  }
}

TEST_F(ShapingVariants, SplitAgreesForAnyNumberOfBlocks) {
  RandomCases cases(33, {1, 400, 3, 3});
  for (int i = 0; i < 80; ++i) {
    const std::uint32_t blocks[] = {1, 2, 3, 5, 8, 17, 64};
    expect_same(cases.next(), DRAFTPROOF_SHAPING_SPLIT, blocks[i % 7]);
    if (HasFatalFailure()) return;
  }
}

TEST_F(ShapingVariants, SplitAgreesOnLongerRows) {
  RandomCases cases(34, {5000, 40000, 1, 1});
  for (int i = 0; i < 6; ++i) {
    expect_same(cases.next(), DRAFTPROOF_SHAPING_SPLIT, i % 2 == 0 ? 0 : 7);
    if (HasFatalFailure()) return;
  }
}

/// Blocks that are not resident together finish all the same, even where there is room for one.
TEST_F(ShapingVariants, SplitNeedsNoBlocksBesideEachOther) {
  gpu::EmulatedDeviceOptions options;
  options.blocks_in_flight = 1;
  device_ = gpu::make_emulated_device(options);
  modules_ = std::make_unique<gpu::KernelModules>(*device_, gpu::embedded_texts());
  RandomCases cases(35, {100, 400, 2, 1});
  for (int i = 0; i < 20; ++i) {
    expect_same(cases.next(), DRAFTPROOF_SHAPING_SPLIT, 9);
    if (HasFatalFailure()) return;
  }
}

/// Replays: a launch leaves the workspace as the next one needs it.
TEST_F(ShapingVariants, SplitLeavesItsWorkspaceReady) {
  RandomCases cases(36, {100, 400, 3, 3});
  for (int i = 0; i < 10; ++i) {
    const RandomCase input = cases.next();
    ShapingRun run(*device_, input.batch, input.execution, *input.coins);
    run.arguments.variant = DRAFTPROOF_SHAPING_SPLIT;
    run.arguments.blocks_per_row = 4;
    run.workspace();
    for (int replay = 0; replay < 3; ++replay) {
      const auto seen = run.launch(*modules_);
      ASSERT_FALSE(seen) << *seen;
    }
    const auto observed = run.used_records(input.batch);
    const auto expected = records(input, DRAFTPROOF_SHAPING_GENERAL, 0);
    EXPECT_EQ(std::memcmp(observed.data(), expected.data(),
                          expected.size() * sizeof(draftproof_row_record)),
              0);
  }
}

/// More equal logits than a count has room for, in both halves of one word: bins 32,768 apart.
TEST_F(ShapingVariants, ByKeyCountsMoreThanItsCountsHold) {
  reference::Sampling sampling;
  sampling.top_k = 140000;
  sampling.top_p = 0.75;
  reference::Row row(200001, 0.0F);
  for (std::size_t i = 0; i < row.size(); i += 3) row[i] = -std::numeric_limits<float>::max();
  // bf16 0 has bin 0x8000, and the value of bin 0 is a NaN: its neighbours share a word instead.
  for (float& logit : row)
    logit = logit == 0 ? std::bit_cast<float>(0x00800000U) : std::bit_cast<float>(0xff7f0000U);
  expect_same(one_row(LogitFormat::kBfloat16, row, sampling, "vllm"), DRAFTPROOF_SHAPING_BY_KEY);
}

TEST_F(ShapingVariants, ByKeyCountsTheLargestVocabulary) {
  reference::Sampling sampling;
  sampling.top_p = 0.6;
  expect_same(one_row(LogitFormat::kFloat16, reference::Row(1U << 20, 1.5F), sampling, "default"),
              DRAFTPROOF_SHAPING_BY_KEY);
}

}  // namespace
}  // namespace draftproof::tests
