// Goal: adjust_rows writes what reference::adjusted makes of each row in use, bit for bit, widens
// draft rows exactly, and touches no other slot. Method: random batches under every contract's rule
// and rules of no engine, chains, all checks of the device on; patches that must be seen.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/emulated_device.h"
#include "gpu/launches/adjust_rows.h"
#include "tests/differential/adjusted_case.h"
#include "tests/differential/random_batch.h"
#include "tests/differential/shaping_patches.h"
#include "tests/differential/shaping_run.h"

namespace draftproof::tests {
namespace {

/// A number that no case computes, in every element before the launch.
constexpr std::uint32_t kUntouched = 0x5a5a5a5a;

bool is_same(float a, float b) {
  return std::isnan(a) ? std::isnan(b)
                       : std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

class AdjustedRows : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
    device_ = gpu::make_emulated_device();
    modules_ = std::make_unique<gpu::KernelModules>(*device_, gpu::embedded_texts());
  }

  /// Compares one row, and what lies behind it up to the next; null: nobody writes it.
  static std::optional<std::string> row_fault(const std::vector<std::uint32_t>& written,
                                              std::size_t slot, std::size_t stride,
                                              const reference::Row* expected) {
    for (std::size_t i = 0; i < stride && slot * stride + i < written.size(); ++i) {
      const std::uint32_t bits = written[slot * stride + i];
      const bool is_due = expected != nullptr && i < expected->size();
      if (is_due ? is_same(std::bit_cast<float>(bits), (*expected)[i]) : bits == kUntouched)
        continue;
      return "slot " + std::to_string(slot) + ", element " + std::to_string(i) + " is " +
             std::to_string(std::bit_cast<float>(bits)) + " and not " +
             (is_due ? std::to_string((*expected)[i]) : std::string("as it was"));
    }
    return std::nullopt;
  }

  std::optional<std::string> fault(AdjustedCases& cases, RandomCases& batches) {
    RandomCase input = batches.next();
    const reference::Batch& batch = input.batch;
    input.execution.block_threads = std::min(input.execution.block_threads, 512);
    const reference::AdjustmentRule rule = cases.rule();
    std::vector<gpu::AdjustedRequest> requests;
    for (const auto& request : batch.requests)
      requests.push_back(cases.request(batch.vocab_size, request.target_rows.size()));
    ShapingRun run(*device_, batch, input.execution, *input.coins);
    const std::size_t padded = run.packed().padded_draft_count;
    run.adjust(gpu::pack_adjustments(requests, rule, batch.vocab_size, padded));
    const bool widens = batch.draft_kind == reference::RowKind::kLogits && padded != 0;
    const std::size_t stride = batch.vocab_size + cases.below(4);
    const std::vector<std::uint32_t> blank(batch.requests.size() * (padded + 1) * stride,
                                           kUntouched);
    draftproof_adjust_rows_arguments arguments{};
    arguments.target_rows = run.arguments.target_rows;
    arguments.target_row_stride = run.arguments.target_row_stride;
    arguments.draft_rows = widens ? run.arguments.draft_rows : 0;
    arguments.draft_row_stride = widens ? run.arguments.draft_row_stride : 0;
    arguments.draft_tokens = run.arguments.draft_tokens;
    arguments.requests = run.arguments.requests;
    arguments.adjustments = run.arguments.adjustments;
    arguments.adjusted_rows = run.upload(blank, "adjusted_rows");
    arguments.adjusted_row_stride = stride;
    arguments.widened_rows = widens ? run.upload(blank, "widened_rows") : 0;
    arguments.widened_row_stride = widens ? stride : 0;
    arguments.format = run.arguments.format;
    arguments.request_count = run.arguments.request_count;
    arguments.padded_draft_count = run.arguments.padded_draft_count;
    arguments.vocab_size = run.arguments.vocab_size;
    arguments.block_threads = run.arguments.block_threads;
    const draftproof_result result = gpu::launches::check(arguments);
    if (result.code != DRAFTPROOF_OK) return result.text;
    if (auto seen = run.launch(*modules_, gpu::launches::launch_of(arguments))) return seen;
    return rows_fault(run, arguments, batch, requests, rule, blank.size());
  }

  static std::optional<std::string> rows_fault(const ShapingRun& run,
                                               const draftproof_adjust_rows_arguments& arguments,
                                               const reference::Batch& batch,
                                               const std::vector<gpu::AdjustedRequest>& requests,
                                               const reference::AdjustmentRule& rule,
                                               std::size_t size) {
    const std::size_t padded = arguments.padded_draft_count;
    const auto adjusted = run.read<std::uint32_t>(arguments.adjusted_rows, size);
    const auto widened =
        run.read<std::uint32_t>(arguments.widened_rows, arguments.widened_rows != 0 ? size : 0);
    for (std::size_t r = 0; r < batch.requests.size(); ++r) {
      const reference::Request& request = batch.requests[r];
      std::vector<reference::Token> before;
      bool is_used = true;    // up to a placeholder
      bool is_judged = true;  // up to a token that is none: nobody asks for rows behind it
      for (std::size_t i = 0; i <= padded; ++i) {
        is_used = is_used && i < request.target_rows.size();
        const reference::Row due = is_used && is_judged ? adjusted_row(request.target_rows[i],
                                                                       requests[r], before, i, rule)
                                                        : reference::Row{};
        if (!is_used || is_judged)
          if (auto wrong = row_fault(adjusted, r * (padded + 1) + i, arguments.adjusted_row_stride,
                                     is_used ? &due : nullptr))
            return "adjusted " + *wrong;
        const bool has_draft = is_used && i < request.proposal.tokens.size();
        if (i < padded && !widened.empty())
          if (auto wrong = row_fault(widened, r * padded + i, arguments.widened_row_stride,
                                     has_draft ? &request.proposal.rows[i] : nullptr))
            return "widened " + *wrong;
        if (!has_draft) continue;
        const reference::Token token = request.proposal.tokens[i];
        is_used = token != reference::kPlaceholder;
        is_judged = is_judged && token >= 0 && static_cast<std::size_t>(token) < batch.vocab_size;
        before.push_back(token);
      }
    }
    return std::nullopt;
  }

  void expect_parity(std::uint64_t seed, int count, const RandomCaseLimits& limits) {
    AdjustedCases cases(seed);
    RandomCases batches(seed + 1000, limits);
    for (int i = 0; i < count; ++i) {
      const auto found = fault(cases, batches);
      ASSERT_FALSE(found) << "case " << i << ": " << *found;
    }
  }

  std::unique_ptr<gpu::Device> device_;
  std::unique_ptr<gpu::KernelModules> modules_;
};

TEST_F(AdjustedRows, AreThoseOfTheReference) { expect_parity(21, 300, {1, 40, 4, 4}); }

TEST_F(AdjustedRows, OfLargerVocabulariesAreToo) { expect_parity(22, 15, {100, 4096, 2, 2}); }

TEST_F(AdjustedRows, OfIdsThatShareABitOfTheFilterAreToo) {
  expect_parity(23, 1, {300000, 300001, 1, 1});
}

/// The alarm rings.
TEST_F(AdjustedRows, OfABrokenKernelAreFound) {
  const auto patches = shaping_patches("adjustments");
  EXPECT_GE(patches.size(), 2U);
  for (const gpu::PtxPatch& patch : patches) {
    modules_ = std::make_unique<gpu::KernelModules>(
        *device_, gpu::patched_kernels(patch, gpu::embedded_texts()).modules);
    AdjustedCases cases(79);
    RandomCases batches(80, {2, 40, 3, 4});
    std::optional<std::string> found;
    for (int i = 0; i < 1000 && !found; ++i) found = fault(cases, batches);
    EXPECT_TRUE(found) << patch.name << " survives: " << patch.statement;
    if (!found) continue;
    EXPECT_TRUE(is_killed_by_what_it_names(patch, *found, "records"))
        << patch.name << ": " << *found;
  }
}

TEST_F(AdjustedRows, AreRefusedWhatCannotBeLaunched) {
  draftproof_adjust_rows_arguments right{};
  right.target_rows = 0x1000000;
  right.target_row_stride = 100;
  right.requests = 0x2000000;
  right.adjustments.requests = 0x3000000;
  right.adjustments.entries = 0x4000000;
  right.adjustments.words = 0x5000000;
  right.adjustments.tokens = 0x6000000;
  right.adjusted_rows = 0x7000000;
  right.adjusted_row_stride = 100;
  right.request_count = 2;
  right.vocab_size = 100;
  ASSERT_STREQ(gpu::launches::check(right).text, "");
  const auto code = [&](auto change) {
    draftproof_adjust_rows_arguments wrong = right;
    change(wrong);
    return gpu::launches::check(wrong).code;
  };
  EXPECT_EQ(code([](auto& a) { a.adjusted_rows = 0; }), DRAFTPROOF_NULL_POINTER);
  EXPECT_EQ(code([](auto& a) { a.adjustments.requests = 0; }), DRAFTPROOF_NULL_POINTER);
  EXPECT_EQ(code([](auto& a) { a.draft_rows = 0x8000000; }), DRAFTPROOF_OUT_OF_RANGE);
  EXPECT_EQ(code([](auto& a) { a.padded_draft_count = 1; }), DRAFTPROOF_NULL_POINTER);
  EXPECT_EQ(code([](auto& a) { a.adjusted_rows += 2; }), DRAFTPROOF_MISALIGNED);
  EXPECT_EQ(code([](auto& a) { a.adjusted_row_stride = 99; }), DRAFTPROOF_OUT_OF_RANGE);
  EXPECT_EQ(code([](auto& a) { a.format = 3; }), DRAFTPROOF_OUT_OF_RANGE);
  EXPECT_EQ(code([](auto& a) { a.block_threads = 544; }), DRAFTPROOF_OUT_OF_RANGE);
  EXPECT_EQ(code([](auto& a) { a.adjusted_rows = a.target_rows; }), DRAFTPROOF_OVERLAP);
  EXPECT_EQ(code([](auto& a) { a.target_row_stride = ~std::uint64_t{0}; }), DRAFTPROOF_TOO_LARGE);
}

}  // namespace
}  // namespace draftproof::tests
