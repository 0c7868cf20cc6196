// Goal: rows that are adjusted where they are read have the records of rows that were adjusted
// before, bit for bit: reference::adjusted and reference::shape; and chain verification draws from
// them what reference::verify draws from rows adjusted before. Method: random batches under every
// contract's rule and rules of no engine, chains and trees, all checks of the device on; and
// packings that are wrong on purpose, each of which must be seen.
#include <gtest/gtest.h>

#include <functional>

#include "gpu/emulated_device.h"
#include "gpu/launches/verify_adjusted.h"
#include "reference/verify/verifiers.h"
#include "tests/differential/adjusted_case.h"
#include "tests/differential/random_batch.h"
#include "tests/differential/shaping_patches.h"
#include "tests/differential/shaping_run.h"

namespace draftproof::tests {
namespace {

using PackedFault = std::function<void(gpu::PackedAdjustments&)>;
using RuleFault = std::function<void(reference::AdjustmentRule&)>;

/// The tokens on the way to `row`; nothing when one of them is no token.
std::optional<std::vector<reference::Token>> path_to(const reference::Proposal& proposal,
                                                     const std::vector<std::int32_t>& parents,
                                                     std::size_t row, std::size_t vocab_size) {
  std::vector<reference::Token> path;
  for (int node = static_cast<int>(row) - 1; node >= 0;) {
    const reference::Token token = proposal.tokens[static_cast<std::size_t>(node)];
    if (token < 0 || static_cast<std::size_t>(token) >= vocab_size) return std::nullopt;
    path.insert(path.begin(), token);
    node = parents.empty() ? node - 1 : parents[static_cast<std::size_t>(node)];
  }
  return path;
}

class AdjustedShaping : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
    device_ = gpu::make_emulated_device();
    modules_ = std::make_unique<gpu::KernelModules>(*device_, gpu::embedded_texts());
  }

  /// What is wrong in one random case, which may be spoilt on its way to the device.
  std::optional<std::string> fault(AdjustedCases& cases, RandomCases& batches,
                                   const PackedFault& spoil = {}, const RuleFault& misread = {}) {
    RandomCase input = batches.next();
    reference::Batch& batch = input.batch;
    input.execution.block_threads = std::min(input.execution.block_threads, 512);
    const reference::AdjustmentRule rule = cases.rule();
    std::vector<gpu::AdjustedRequest> requests;
    for (const auto& request : batch.requests)
      requests.push_back(cases.request(batch.vocab_size, request.target_rows.size()));
    ShapingRun run(*device_, batch, input.execution, *input.coins);
    const auto parents = cases.chance(0.3) ? random_parents(cases, batch, run)
                                           : std::vector<std::vector<std::int32_t>>{};
    reference::AdjustmentRule packed_rule = rule;
    if (misread) misread(packed_rule);
    gpu::PackedAdjustments packed = gpu::pack_adjustments(requests, packed_rule, batch.vocab_size,
                                                          run.packed().padded_draft_count);
    if (spoil) spoil(packed);
    run.adjust(packed);
    if (const auto seen = run.launch(*modules_)) return seen;
    for (std::size_t r = 0; r < batch.requests.size(); ++r)
      for (std::size_t row = 0; row < batch.requests[r].target_rows.size(); ++row) {
        const auto& request = batch.requests[r];
        const auto path =
            path_to(request.proposal, parents.empty() ? std::vector<std::int32_t>{} : parents[r],
                    row, batch.vocab_size);
        if (!path) continue;  // nobody asks for a row behind what is no token
        const reference::Row logits =
            adjusted_row(request.target_rows[row], requests[r], *path, row, rule);
        const auto wrong = record_fault(run.target_record(r, row), logits,
                                        shape(logits, request.sampling, batch.preset));
        if (wrong)
          return "request " + std::to_string(r) + ", row " + std::to_string(row) +
                 " of vocabulary " + std::to_string(batch.vocab_size) + ": " + *wrong;
      }
    return std::nullopt;
  }

  static std::vector<std::vector<std::int32_t>> random_parents(AdjustedCases& cases,
                                                               const reference::Batch& batch,
                                                               ShapingRun& run) {
    std::vector<std::vector<std::int32_t>> parents;
    std::vector<std::int32_t> flat;
    const std::size_t padded = run.packed().padded_draft_count;
    for (const auto& request : batch.requests) {
      std::vector<std::int32_t> own;
      for (std::size_t i = 0; i < request.proposal.tokens.size(); ++i)
        own.push_back(static_cast<std::int32_t>(cases.below(i + 1)) - 1);
      flat.insert(flat.end(), own.begin(), own.end());
      flat.resize((parents.size() + 1) * padded, -1);
      parents.push_back(std::move(own));
    }
    if (!flat.empty()) run.parents(flat);
    return parents;
  }

  /// What is wrong with chain verification of one random case.
  std::optional<std::string> chain_fault(AdjustedCases& cases, RandomCases& batches) {
    RandomCase input = batches.next();
    reference::Batch& batch = input.batch;
    input.execution.block_threads = std::min(input.execution.block_threads, 512);
    const reference::AdjustmentRule rule = cases.rule();
    std::vector<gpu::AdjustedRequest> requests;
    for (const auto& request : batch.requests)
      requests.push_back(cases.request(batch.vocab_size, request.target_rows.size()));
    ShapingRun run(*device_, batch, input.execution, *input.coins);
    run.adjust(
        gpu::pack_adjustments(requests, rule, batch.vocab_size, run.packed().padded_draft_count));
    if (const auto seen = run.launch(*modules_)) return seen;
    const draftproof_verify_adjusted_arguments arguments = chain_arguments(run);
    const draftproof_result result = gpu::launches::check(arguments);
    if (result.code != DRAFTPROOF_OK) return result.text;
    if (const auto seen = run.launch(*modules_, gpu::launches::launch_of(arguments))) return seen;

    for (std::size_t r = 0; r < batch.requests.size(); ++r)
      for (std::size_t row = 0; row < batch.requests[r].target_rows.size(); ++row)
        if (const auto path = path_to(batch.requests[r].proposal, {}, row, batch.vocab_size)) {
          reference::Row& logits = batch.requests[r].target_rows[row];
          logits = adjusted_row(logits, requests[r], *path, row, rule);
        }
    batch.format = reference::LogitFormat::kFloat32;
    const auto outcome =
        reference::verify::make_verifier("chain")->verify(batch, *input.coins, input.execution);
    return outcome_fault(run, arguments.verify, outcome);
  }

  static draftproof_verify_adjusted_arguments chain_arguments(ShapingRun& run) {
    const draftproof_shape_rows_arguments& shaped = run.arguments;
    const std::size_t slots = shaped.request_count * (shaped.padded_draft_count + 1);
    draftproof_verify_adjusted_arguments arguments{};
    draftproof_verify_arguments& verify = arguments.verify;
    verify.target_rows = shaped.target_rows;
    verify.target_row_stride = shaped.target_row_stride;
    verify.draft_rows = shaped.draft_rows;
    verify.draft_row_stride = shaped.draft_row_stride;
    verify.draft_tokens = shaped.draft_tokens;
    verify.requests = shaped.requests;
    verify.target_records = shaped.target_records;
    verify.draft_records = shaped.draft_records;
    verify.coins = run.upload(run.packed().coins, "coins");
    verify.seed = run.packed().seed;
    verify.emitted_tokens = run.fresh(slots * sizeof(std::int32_t), "emitted_tokens");
    verify.emitted_reasons = run.fresh(slots * sizeof(std::int32_t), "emitted_reasons");
    verify.outcomes = run.fresh(shaped.request_count * sizeof(draftproof_outcome), "outcomes");
    verify.format = shaped.format;
    verify.draft_kind = shaped.draft_kind;
    verify.request_count = shaped.request_count;
    verify.padded_draft_count = shaped.padded_draft_count;
    verify.vocab_size = shaped.vocab_size;
    verify.block_threads = shaped.block_threads;
    arguments.adjustments = shaped.adjustments;
    return arguments;
  }

  static std::optional<std::string> outcome_fault(const ShapingRun& run,
                                                  const draftproof_verify_arguments& arguments,
                                                  const reference::Outcome& expected) {
    const std::size_t slots = arguments.padded_draft_count + 1;
    const auto outcomes = run.read<draftproof_outcome>(arguments.outcomes, arguments.request_count);
    const auto tokens =
        run.read<std::int32_t>(arguments.emitted_tokens, arguments.request_count * slots);
    const auto reasons =
        run.read<std::int32_t>(arguments.emitted_reasons, arguments.request_count * slots);
    for (std::size_t r = 0; r < outcomes.size(); ++r) {
      const reference::RequestOutcome& right = expected.requests[r];
      std::vector<std::int32_t> emitted(slots, gpu::kernels::kNoToken);
      std::vector<std::int32_t> because(slots, -1);
      for (std::size_t i = 0; i < right.emitted.size(); ++i) {
        emitted[i] = right.emitted[i].token;
        because[i] = static_cast<std::int32_t>(right.emitted[i].reason);
      }
      const auto first = static_cast<std::ptrdiff_t>(r * slots);
      const bool is_equal =
          std::equal(emitted.begin(), emitted.end(), tokens.begin() + first) &&
          std::equal(because.begin(), because.end(), reasons.begin() + first) &&
          outcomes[r].status_position == static_cast<std::uint32_t>(right.status_position) &&
          outcomes[r].status == static_cast<std::uint32_t>(right.status) &&
          outcomes[r].accepted_count == static_cast<std::uint32_t>(right.accepted_count) &&
          outcomes[r].emitted_count == right.emitted.size();
      if (!is_equal) return "request " + std::to_string(r) + " ends otherwise";
    }
    return std::nullopt;
  }

  void expect_chain_parity(std::uint64_t seed, int count, const RandomCaseLimits& limits) {
    AdjustedCases cases(seed);
    RandomCases batches(seed + 1000, limits);
    for (int i = 0; i < count; ++i) {
      const auto found = chain_fault(cases, batches);
      ASSERT_FALSE(found) << "case " << i << " of seed " << seed << ": " << *found;
    }
  }

  void expect_parity(std::uint64_t seed, int count, const RandomCaseLimits& limits) {
    AdjustedCases cases(seed);
    RandomCases batches(seed + 1000, limits);
    for (int i = 0; i < count; ++i) {
      const auto found = fault(cases, batches);
      ASSERT_FALSE(found) << "case " << i << " of seed " << seed << ": " << *found;
    }
  }

  void expect_seen(const char* what, const PackedFault& spoil, const RuleFault& misread = {}) {
    AdjustedCases cases(77);
    RandomCases batches(78, {2, 12, 3, 4});
    for (int i = 0; i < 2000; ++i)
      if (fault(cases, batches, spoil, misread)) return;
    ADD_FAILURE() << "not seen: " << what;
  }

  std::unique_ptr<gpu::Device> device_;
  std::unique_ptr<gpu::KernelModules> modules_;
};

TEST_F(AdjustedShaping, RecordsAreThoseOfAdjustedRows) { expect_parity(1, 400, {1, 40, 4, 4}); }

TEST_F(AdjustedShaping, LongDraftsPushTokensOutOfTheWindow) {
  expect_parity(2, 60, {1, 12, 2, 40});
}

TEST_F(AdjustedShaping, LargerVocabulariesAgree) { expect_parity(3, 25, {100, 4096, 2, 2}); }

TEST_F(AdjustedShaping, IdsThatShareABitOfTheFilterAgree) {
  expect_parity(4, 2, {300000, 300001, 1, 1});
}

TEST_F(AdjustedShaping, ChainsDrawFromAdjustedRows) {
  expect_chain_parity(5, 200, {1, 40, 4, 4});
  expect_chain_parity(6, 10, {1000, 3000, 2, 3});
}

/// The alarm rings: each broken kernel is seen, by a record, by an outcome or by the device.
TEST_F(AdjustedShaping, EveryBrokenKernelIsFound) {
  auto patches = shaping_patches("shaping_adjusted");
  for (auto& patch : shaping_patches("chain_adjusted")) patches.push_back(std::move(patch));
  EXPECT_GE(patches.size(), 5U);
  for (const gpu::PtxPatch& patch : patches) {
    modules_ = std::make_unique<gpu::KernelModules>(
        *device_, gpu::patched_kernels(patch, gpu::embedded_texts()).modules);
    AdjustedCases cases(79);
    RandomCases batches(80, {2, 40, 3, 4});
    const bool is_chain = patch.module == "chain_adjusted";
    std::optional<std::string> found;
    for (int i = 0; i < 1000 && !found; ++i)
      found = is_chain ? chain_fault(cases, batches) : fault(cases, batches);
    EXPECT_TRUE(found) << patch.name << " survives: " << patch.statement;
    if (!found) continue;
    EXPECT_TRUE(is_killed_by_what_it_names(patch, *found, is_chain ? "outcomes" : "records"))
        << patch.name << ": " << *found;
    RecordProperty(patch.name, found->substr(0, 200));
  }
}

TEST_F(AdjustedShaping, AWrongPackingIsSeen) {
  using reference::AdjustmentStep;
  using reference::DraftCount;
  const auto requests = [](auto change) {
    return [change](gpu::PackedAdjustments& packed) {
      for (auto& request : packed.requests) change(request);
    };
  };
  const auto entries = [](auto change) {
    return [change](gpu::PackedAdjustments& packed) {
      for (auto& entry : packed.entries) change(entry);
    };
  };
  expect_seen("counts once too many", entries([](auto& e) {
                if (e.frequency_count != 0) ++e.frequency_count;
              }));
  expect_seen("drafts frozen", requests([](auto& r) { r.flags |= DRAFTPROOF_PENALTIES_FROZEN; }));
  expect_seen("drafts not frozen",
              requests([](auto& r) { r.flags &= ~DRAFTPROOF_PENALTIES_FROZEN; }));
  expect_seen("minimum length frozen",
              requests([](auto& r) { r.flags |= DRAFTPROOF_MIN_TOKENS_FROZEN; }));
  expect_seen("no window", requests([](auto& r) { r.window = DRAFTPROOF_NO_WINDOW; }));
  expect_seen("window one longer", requests([](auto& r) { ++r.window; }));
  expect_seen("appended tokens forgotten",
              requests([](auto& r) { r.tail_counted = r.tail_count; }));
  expect_seen("quotient for reciprocal",
              requests([](auto& r) { r.flags &= ~DRAFTPROOF_REPETITION_RECIPROCAL; }));
  expect_seen("product for sum",
              requests([](auto& r) { r.flags &= ~DRAFTPROOF_FREQUENCY_SUMMED; }));
  expect_seen("two roundings for one",
              requests([](auto& r) { r.flags &= ~DRAFTPROOF_FREQUENCY_PLUS_PRESENCE; }));
  expect_seen("repetition first",
              requests([](auto& r) { r.flags &= ~DRAFTPROOF_REPETITION_LAST; }));
  expect_seen("mask of the next row", [](gpu::PackedAdjustments& packed) {
    if (packed.mask_stride != 0)
      std::rotate(packed.masks.begin(),
                  packed.masks.begin() + static_cast<std::ptrdiff_t>(packed.mask_stride),
                  packed.masks.end());
  });
  expect_seen("bias before penalties", {}, [](reference::AdjustmentRule& rule) {
    const auto bias = std::find(rule.steps.begin(), rule.steps.end(), AdjustmentStep::kLogitBias);
    if (bias != rule.steps.end()) std::rotate(rule.steps.begin(), bias, bias + 1);
  });
  expect_seen("bad words see the prompt", {}, [](reference::AdjustmentRule& rule) {
    rule.bad_words_see = reference::Counted::kPromptAndOutput;
  });
}

}  // namespace
}  // namespace draftproof::tests
