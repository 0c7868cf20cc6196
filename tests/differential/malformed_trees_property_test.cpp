// Goal: whatever parents a rule for trees meets on the device, it ends, and a malformed tree ends
// in a status of its own request alone. Method: every array of parents in [-2, n + 1]^n up to n = 4
// in one batch, and counts beyond the slots; sound ones must go as in the reference. Rows are
// one-hot, so that records say all and no row is shaped.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gpu/emulated_device.h"
#include "gpu/kernel_modules.h"
#include "gpu/kernels/layout.h"
#include "gpu/launches/verify.h"
#include "gpu/packed_batch.h"
#include "gpu/verifier_buffers.h"
#include "reference/verify/verifiers.h"
#include "tests/differential/parity.h"

namespace draftproof::tests {
namespace {

using reference::Request;
using reference::RequestOutcome;
using reference::Status;

constexpr std::size_t kSlots = 4;
constexpr std::size_t kVocabSize = 3;

/// A request at temperature 0 whose parents may be anything.
struct OddRequest {
  Request request;
  std::vector<std::int32_t> parents;
  std::uint32_t draft_count = 0;  ///< as the device is told
};

bool is_sound(const OddRequest& odd) {
  if (odd.draft_count > kSlots) return false;
  for (std::size_t i = 0; i < odd.parents.size(); ++i)
    if (odd.parents[i] < -1 || odd.parents[i] >= static_cast<std::int32_t>(i)) return false;
  return true;
}

OddRequest odd_request(std::mt19937_64& random, const std::vector<std::int32_t>& parents) {
  OddRequest odd;
  odd.parents = parents;
  odd.draft_count = static_cast<std::uint32_t>(parents.size());
  odd.request.sampling.temperature = 0;
  for (std::size_t i = 0; i <= parents.size(); ++i) {
    odd.request.target_rows.emplace_back(kVocabSize);
    odd.request.target_rows[i][random() % kVocabSize] = 1;
    if (i == parents.size()) break;
    odd.request.proposal.tokens.push_back(static_cast<int>(random() % kVocabSize));
    odd.request.proposal.parents.push_back(-1);
  }
  return odd;
}

/// What shape_rows leaves of a greedy row.
gpu::kernels::RowRecord record_of(const reference::Row& row) {
  const auto best = std::max_element(row.begin(), row.end()) - row.begin();
  gpu::kernels::RowRecord record{};
  record.total = 1;
  record.maximum = 1;
  record.cut_id = static_cast<std::uint32_t>(best);
  record.kind = static_cast<std::uint32_t>(gpu::kernels::LawKind::kOneHot);
  return record;
}

RequestOutcome malformed_outcome() {
  RequestOutcome outcome;
  outcome.status = Status::kMalformedTree;
  return outcome;
}

std::vector<RequestOutcome> expected_outcomes(const std::string& rule,
                                              const std::vector<OddRequest>& odds,
                                              reference::Batch batch,
                                              const reference::Coins& coins) {
  const auto reference = reference::verify::make_verifier(rule);
  std::vector<RequestOutcome> list;
  for (const OddRequest& odd : odds) {
    if (!is_sound(odd)) {
      list.push_back(malformed_outcome());
      continue;
    }
    batch.requests = {odd.request};
    batch.requests[0].proposal.parents = odd.parents;
    list.push_back(reference->verify(batch, coins, {}).requests[0]);
  }
  return list;
}

class MalformedTrees : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  }

  void expect_statuses(const std::vector<OddRequest>& odds, std::uint32_t block_threads) {
    reference::Batch batch;
    batch.vocab_size = kVocabSize;
    batch.draft_kind = reference::RowKind::kOneHot;
    for (const OddRequest& odd : odds) batch.requests.push_back(odd.request);
    const reference::PhiloxCoins coins(7);
    const gpu::launches::VerifyRule& rule = *gpu::launches::verify_rule(GetParam());
    gpu::PackingRule packing;
    packing.reads_draft_rows = false;
    packing.takes_trees = true;
    packing.coin_columns = gpu::launches::coin_columns(rule);
    reference::Execution execution;
    execution.padded_draft_count = kSlots;
    gpu::PackedBatch packed = gpu::pack(batch, coins, execution, packing);
    spoil(odds, packed);

    const auto device = gpu::make_emulated_device();
    gpu::KernelModules modules(*device, gpu::embedded_texts());
    const gpu::VerifierInputs inputs(*device, packed);
    const gpu::VerifierOutputs outputs(*device, packed, odds.size(), true);
    draftproof_verify_arguments arguments{};
    inputs.fill(packed, arguments);
    outputs.fill(arguments);
    arguments.request_count = static_cast<std::uint32_t>(odds.size());
    arguments.block_threads = block_threads;
    write_records(*device, arguments, odds);
    ASSERT_EQ(check(rule, arguments).code, DRAFTPROOF_OK) << check(rule, arguments).text;
    const gpu::LaunchReport report = modules.launch(launch_of(rule, arguments));
    for (const auto& seen : report.observations) FAIL() << seen.check << ": " << seen.message;
    const auto observed = outputs.outcomes();
    const auto expected = expected_outcomes(GetParam(), odds, batch, coins);
    for (std::size_t r = 0; r < odds.size(); ++r)
      ASSERT_EQ(observed[r], expected[r])
          << "request " << r << ", expected " << to_text(expected[r]) << ", observed "
          << to_text(observed[r]);
  }

 private:
  /// Puts what no host would pack into the bytes.
  static void spoil(const std::vector<OddRequest>& odds, gpu::PackedBatch& packed) {
    packed.parents.bytes.resize(odds.size() * kSlots * 4);
    packed.parents.used.clear();
    for (std::size_t r = 0; r < odds.size(); ++r) {
      const std::size_t first = r * kSlots * 4;
      std::memcpy(packed.parents.bytes.data() + first, odds[r].parents.data(),
                  odds[r].parents.size() * 4);
      packed.parents.use(first, first + odds[r].parents.size() * 4);
      std::memcpy(packed.parameters.bytes.data() + r * sizeof(draftproof_request) +
                      offsetof(draftproof_request, draft_count),
                  &odds[r].draft_count, 4);
    }
  }

  static void write_records(gpu::Device& device, const draftproof_verify_arguments& arguments,
                            const std::vector<OddRequest>& odds) {
    for (std::size_t r = 0; r < odds.size(); ++r)
      for (std::size_t i = 0; i < odds[r].request.target_rows.size(); ++i) {
        const std::array record{record_of(odds[r].request.target_rows[i])};
        device.write(arguments.target_records + (r * (kSlots + 1) + i) * sizeof(record),
                     std::as_bytes(std::span(record)));
      }
  }
};

TEST_P(MalformedTrees, OfEveryKindEndInAStatusOfTheirOwn) {
  std::mt19937_64 random(31);
  std::vector<OddRequest> odds;
  for (std::size_t n = 1; n <= kSlots; ++n) {
    std::vector<std::int32_t> parents(n, -2);
    for (std::size_t i = 0; i < n;) {
      odds.push_back(odd_request(random, parents));
      for (i = 0; i < n && ++parents[i] > static_cast<int>(n) + 1; ++i) parents[i] = -2;
    }
  }
  expect_statuses(odds, 32);
}

TEST_P(MalformedTrees, WithMoreNodesThanSlotsEndInAStatusToo) {
  std::mt19937_64 random(32);
  std::vector<OddRequest> odds;
  for (const std::uint32_t count : {4u, 5u, 0x7fffffffu, 0xffffffffu, 1u, 6u}) {
    odds.push_back(odd_request(random, {-1, 0, 0, 1}));
    odds.back().draft_count = count;
    if (count != 1) continue;
    odds.back() = odd_request(random, {-1});
  }
  expect_statuses(odds, 96);
}

INSTANTIATE_TEST_SUITE_P(Rules, MalformedTrees,
                         testing::Values("tree-greedy", "target-only", "with-replacement",
                                         "without-replacement", "match"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace draftproof::tests
