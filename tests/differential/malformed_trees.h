// Malformed trees on a device: requests whose parents no host would pack, judged by a rule for
// trees. Rows are one-hot, so that records say all and no row is shaped.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <random>
#include <span>
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

/// Of the batches below.
inline constexpr std::size_t kOddSlots = 4;
inline constexpr std::size_t kOddVocabSize = 3;

/// A request at temperature 0 whose parents may be anything.
struct OddRequest {
  reference::Request request;
  std::vector<std::int32_t> parents;
  std::uint32_t draft_count = 0;  ///< as the device is told
};

inline bool is_sound(const OddRequest& odd) {
  if (odd.draft_count > kOddSlots) return false;
  for (std::size_t i = 0; i < odd.parents.size(); ++i)
    if (odd.parents[i] < -1 || odd.parents[i] >= static_cast<std::int32_t>(i)) return false;
  return true;
}

inline OddRequest odd_request(std::mt19937_64& random, const std::vector<std::int32_t>& parents) {
  OddRequest odd;
  odd.parents = parents;
  odd.draft_count = static_cast<std::uint32_t>(parents.size());
  odd.request.sampling.temperature = 0;
  for (std::size_t i = 0; i <= parents.size(); ++i) {
    odd.request.target_rows.emplace_back(kOddVocabSize);
    odd.request.target_rows[i][random() % kOddVocabSize] = 1;
    if (i == parents.size()) break;
    odd.request.proposal.tokens.push_back(static_cast<int>(random() % kOddVocabSize));
    odd.request.proposal.parents.push_back(-1);
  }
  return odd;
}

/// What shape_rows leaves of a greedy row.
inline gpu::kernels::RowRecord record_of(const reference::Row& row) {
  const auto best = std::max_element(row.begin(), row.end()) - row.begin();
  gpu::kernels::RowRecord record{};
  record.total = 1;
  record.maximum = 1;
  record.cut_id = static_cast<std::uint32_t>(best);
  record.kind = static_cast<std::uint32_t>(gpu::kernels::LawKind::kOneHot);
  return record;
}

inline reference::RequestOutcome malformed_outcome() {
  reference::RequestOutcome outcome;
  outcome.status = reference::Status::kMalformedTree;
  return outcome;
}

inline std::vector<reference::RequestOutcome> expected_outcomes(const std::string& rule,
                                                                const std::vector<OddRequest>& odds,
                                                                reference::Batch batch,
                                                                const reference::Coins& coins) {
  const auto reference = reference::verify::make_verifier(rule);
  std::vector<reference::RequestOutcome> list;
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

/// Puts what no host would pack into the bytes.
inline void spoil(const std::vector<OddRequest>& odds, gpu::PackedBatch& packed) {
  packed.parents.bytes.resize(odds.size() * kOddSlots * 4);
  packed.parents.used.clear();
  for (std::size_t r = 0; r < odds.size(); ++r) {
    const std::size_t first = r * kOddSlots * 4;
    std::memcpy(packed.parents.bytes.data() + first, odds[r].parents.data(),
                odds[r].parents.size() * 4);
    packed.parents.use(first, first + odds[r].parents.size() * 4);
    std::memcpy(packed.parameters.bytes.data() + r * sizeof(draftproof_request) +
                    offsetof(draftproof_request, draft_count),
                &odds[r].draft_count, 4);
  }
}

inline void write_records(gpu::Device& device, const draftproof_verify_arguments& arguments,
                          const std::vector<OddRequest>& odds) {
  for (std::size_t r = 0; r < odds.size(); ++r)
    for (std::size_t i = 0; i < odds[r].request.target_rows.size(); ++i) {
      const std::array record{record_of(odds[r].request.target_rows[i])};
      device.write(arguments.target_records + (r * (kOddSlots + 1) + i) * sizeof(record),
                   std::as_bytes(std::span(record)));
    }
}

/// The packed batch of `odds`, and their parents in it as they are.
inline gpu::PackedBatch packed_odds(const gpu::launches::VerifyRule& rule,
                                    const std::vector<OddRequest>& odds, reference::Batch& batch,
                                    const reference::Coins& coins) {
  batch.vocab_size = kOddVocabSize;
  batch.draft_kind = reference::RowKind::kOneHot;
  for (const OddRequest& odd : odds) batch.requests.push_back(odd.request);
  gpu::PackingRule packing;
  packing.reads_draft_rows = false;
  packing.takes_trees = true;
  packing.coin_columns = gpu::launches::coin_columns(rule);
  reference::Execution execution;
  execution.padded_draft_count = kOddSlots;
  gpu::PackedBatch packed = gpu::pack(batch, coins, execution, packing);
  spoil(odds, packed);
  return packed;
}

/// What is wrong with the outcomes of `odds` under `rule_name`: a malformed tree has a status and
/// nothing else, a sound one goes as in the reference.
inline std::optional<std::string> malformed_disparity(const std::string& rule_name,
                                                      const gpu::KernelTexts& texts,
                                                      const std::vector<OddRequest>& odds,
                                                      std::uint32_t block_threads) {
  const gpu::launches::VerifyRule& rule = *gpu::launches::verify_rule(rule_name);
  const reference::PhiloxCoins coins(7);
  reference::Batch batch;
  const gpu::PackedBatch packed = packed_odds(rule, odds, batch, coins);
  const auto device = gpu::make_emulated_device();
  gpu::KernelModules modules(*device, texts);
  const gpu::VerifierInputs inputs(*device, packed);
  const gpu::VerifierOutputs outputs(*device, packed, odds.size(), true);
  draftproof_verify_arguments arguments{};
  inputs.fill(packed, arguments);
  outputs.fill(arguments);
  arguments.request_count = static_cast<std::uint32_t>(odds.size());
  arguments.block_threads = block_threads;
  write_records(*device, arguments, odds);
  if (check(rule, arguments).code != DRAFTPROOF_OK) return check(rule, arguments).text;
  const gpu::LaunchReport report = modules.launch(launch_of(rule, arguments));
  for (const auto& seen : report.observations) return seen.check + ": " + seen.message;
  const auto observed = outputs.outcomes();
  const auto expected = expected_outcomes(rule_name, odds, batch, coins);
  for (std::size_t r = 0; r < odds.size(); ++r)
    if (!(observed[r] == expected[r]))
      return std::string(is_sound(odds[r]) ? "sound" : "malformed") + " request " +
             std::to_string(r) + "\n  expected " + to_text(expected[r]) + "\n  observed " +
             to_text(observed[r]);
  return std::nullopt;
}

/// Every array of parents in [-2, n + 1]^n, n = 1 .. kOddSlots.
inline std::vector<OddRequest> small_odd_requests() {
  std::mt19937_64 random(31);
  std::vector<OddRequest> odds;
  for (std::size_t n = 1; n <= kOddSlots; ++n) {
    std::vector<std::int32_t> parents(n, -2);
    for (std::size_t i = 0; i < n;) {
      odds.push_back(odd_request(random, parents));
      for (i = 0; i < n && ++parents[i] > static_cast<int>(n) + 1; ++i) parents[i] = -2;
    }
  }
  return odds;
}

}  // namespace draftproof::tests
