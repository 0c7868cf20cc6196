// Goal: however shape_rows divides its work, its records are the same bits. Method: random batches
// of every preset, storage format and draft kind, and rows made to overflow what counts them,
// shaped by the general kernel and by the others, all checks of the device on.
#include <gtest/gtest.h>

#include "gpu/emulated_device.h"
#include "tests/differential/random_batch.h"
#include "tests/differential/shaping_patches.h"
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

/// One row, one request, no draft.
RandomCase one_row(LogitFormat format, reference::Row row, const reference::Sampling& sampling,
                   const char* preset) {
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

/// More equal logits than 16 bits count, of two values whose counts share a word: their bins are
/// 32,768 apart.
RandomCase crowded_row() {
  reference::Sampling sampling;
  sampling.top_k = 140000;
  sampling.top_p = 0.75;
  reference::Row row(200001, std::bit_cast<float>(0x00800000U));
  for (std::size_t i = 0; i < row.size(); i += 3) row[i] = std::bit_cast<float>(0xff7f0000U);
  return one_row(LogitFormat::kBfloat16, row, sampling, "vllm");
}

class ShapingVariants : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
    use(gpu::make_emulated_device(), gpu::embedded_texts());
  }

  void use(std::unique_ptr<gpu::Device> device, gpu::KernelTexts texts) {
    modules_.reset();
    device_ = std::move(device);
    modules_ = std::make_unique<gpu::KernelModules>(*device_, std::move(texts));
  }

  /// What is wrong with a variant on this case: what the device saw, or a record of other bits. The
  /// split variant runs twice: a launch leaves the workspace as the next one needs it.
  std::optional<std::string> fault(const RandomCase& input, std::uint32_t variant,
                                   std::uint32_t blocks_per_row = 0) {
    ShapingRun general(*device_, input.batch, input.execution, *input.coins);
    general.arguments.variant = DRAFTPROOF_SHAPING_GENERAL;
    if (const auto seen = general.launch(*modules_)) return seen;
    ShapingRun other(*device_, input.batch, input.execution, *input.coins);
    other.arguments.variant = variant;
    other.arguments.blocks_per_row = blocks_per_row;
    other.workspace();
    const int launches = variant == DRAFTPROOF_SHAPING_SPLIT ? 2 : 1;
    for (int i = 0; i < launches; ++i)
      if (const auto seen = other.launch(*modules_)) return seen;
    const auto expected = general.used_records(input.batch);
    const auto observed = other.used_records(input.batch);
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (std::memcmp(&expected[i], &observed[i], sizeof(expected[i])) != 0)
        return "record " + std::to_string(i) + ", vocabulary " +
               std::to_string(input.batch.vocab_size) + ", preset " + input.batch.preset.name +
               "\n  general " + to_text(expected[i]) + "\n  variant " + to_text(observed[i]);
    return std::nullopt;
  }

  void expect_same(const RandomCase& input, std::uint32_t variant,
                   std::uint32_t blocks_per_row = 0) {
    const auto found = fault(input, variant, blocks_per_row);
    ASSERT_FALSE(found) << *found << "\n  block " << input.execution.block_threads << ", "
                        << blocks_per_row << " blocks a row";
  }

  /// By key, on `count` cases of 16-bit formats.
  void expect_by_key(std::uint64_t seed, int count, const RandomCaseLimits& limits) {
    RandomCases cases(seed, limits);
    while (count > 0) {
      const RandomCase input = cases.next();
      if (input.batch.format == LogitFormat::kFloat32) continue;
      --count;
      expect_same(input, DRAFTPROOF_SHAPING_BY_KEY);
      if (HasFatalFailure()) return;
    }
  }

  void expect_split(std::uint64_t seed, int count, const RandomCaseLimits& limits) {
    RandomCases cases(seed, limits);
    for (int i = 0; i < count; ++i) {
      constexpr std::uint32_t kBlocks[] = {1, 2, 3, 5, 8, 17, 64};
      expect_same(cases.next(), DRAFTPROOF_SHAPING_SPLIT, kBlocks[i % 7]);
      if (HasFatalFailure()) return;
    }
  }

  std::unique_ptr<gpu::Device> device_;
  std::unique_ptr<gpu::KernelModules> modules_;
};

TEST_F(ShapingVariants, ByKeyAgreesOnEveryPreset) { expect_by_key(31, 60, {1, 300, 1, 1}); }

TEST_F(ShapingVariants, ByKeyAgreesOnLongerRows) { expect_by_key(32, 8, {2000, 20000, 1, 0}); }

TEST_F(ShapingVariants, ByKeyCountsMoreThanItsCountsHold) {
  expect_same(crowded_row(), DRAFTPROOF_SHAPING_BY_KEY);
}

TEST_F(ShapingVariants, ByKeyCountsTheLargestVocabulary) {
  reference::Sampling sampling;
  sampling.top_p = 0.6;
  expect_same(one_row(LogitFormat::kFloat16, reference::Row(1U << 20, 1.5F), sampling, "default"),
              DRAFTPROOF_SHAPING_BY_KEY);
}

TEST_F(ShapingVariants, SplitAgreesForAnyNumberOfBlocks) { expect_split(33, 70, {1, 400, 3, 3}); }

TEST_F(ShapingVariants, SplitAgreesOnLongerRows) { expect_split(34, 7, {5000, 40000, 1, 1}); }

TEST_F(ShapingVariants, SplitTakesTheLargestVocabulary) {
  reference::Sampling sampling;
  sampling.min_p = 0.5;
  reference::Row row(1U << 20, 1.5F);
  row[777777] = 2.25F;
  expect_same(one_row(LogitFormat::kBfloat16, std::move(row), sampling, "default"),
              DRAFTPROOF_SHAPING_SPLIT, 13);
}

/// Blocks that are not resident together finish all the same, even where there is room for one.
TEST_F(ShapingVariants, SplitNeedsNoBlocksBesideEachOther) {
  gpu::EmulatedDeviceOptions options;
  options.blocks_in_flight = 1;
  use(gpu::make_emulated_device(options), gpu::embedded_texts());
  expect_split(35, 21, {100, 400, 2, 1});
}

/// The alarm rings: each broken kernel is seen, by its records or by the device.
TEST_F(ShapingVariants, EveryBrokenVariantIsFound) {
  auto patches = shaping_patches("shaping_by_key");
  for (auto& patch : shaping_patches("shaping_split")) patches.push_back(std::move(patch));
  EXPECT_GE(patches.size(), 6U);
  for (const gpu::PtxPatch& patch : patches) {
    use(gpu::make_emulated_device(), gpu::patched_kernels(patch, gpu::embedded_texts()).modules);
    const bool is_split = patch.module == "shaping_split";
    RandomCases cases(37, {2, 300, 2, 2});
    std::optional<std::string> found;
    for (int i = 0; i < 100 && !found; ++i) {
      const RandomCase input = i == 20 && !is_split ? crowded_row() : cases.next();
      if (!is_split && input.batch.format == LogitFormat::kFloat32) continue;
      found = fault(input, is_split ? DRAFTPROOF_SHAPING_SPLIT : DRAFTPROOF_SHAPING_BY_KEY, 3);
    }
    EXPECT_TRUE(found) << patch.name << " survives: " << patch.statement;
    if (!found) continue;
    EXPECT_TRUE(is_killed_by_what_it_names(patch, *found, "records")) << patch.name << *found;
    RecordProperty(patch.name, found->substr(0, 200));
  }
}

}  // namespace
}  // namespace draftproof::tests
