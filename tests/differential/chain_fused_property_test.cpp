// Goal: fused acceptance and the reference decide bit for bit the same, however the work is
// divided, and its KV plans say what the outcome means for a cache. Method: random batches over
// formats, draft kinds, presets, ragged drafts, placeholders, statuses, team sizes, numbers of
// teams, staging, rows ahead, draft records handed in or not, block sizes and schedules, all checks
// of the device on.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "gpu/emulated_device.h"
#include "gpu/fused_verifier.h"
#include "reference/verify/verifiers.h"
#include "tests/differential/parity.h"

namespace draftproof::tests {
namespace {

/// A division that has nothing to do with the batch; often too small to hold all rows at once.
gpu::FusedDivision random_division(std::mt19937_64& engine) {
  gpu::FusedDivision division;
  constexpr std::uint32_t kTeamSizes[] = {1, 2, 3, 5};
  division.team_size = kTeamSizes[engine() % 4];
  division.block_capacity = division.team_size * static_cast<std::uint32_t>(1 + engine() % 12) +
                            static_cast<std::uint32_t>(engine() % division.team_size);
  division.shared_bytes_max = engine() % 4 == 0 ? 0 : 160 * 1024;
  division.rows_ahead = static_cast<std::uint32_t>(1 + engine() % 5);
  division.has_draft_records = engine() % 2 == 0;
  return division;
}

std::string to_text(const gpu::FusedDivision& division) {
  return "team of " + std::to_string(division.team_size) + ", capacity " +
         std::to_string(division.block_capacity) + ", shared " +
         std::to_string(division.shared_bytes_max) + ", rows ahead " +
         std::to_string(division.rows_ahead) + (division.has_draft_records ? ", records" : "");
}

/// What is wrong with the KV plans, given outcomes that are right.
std::optional<std::string> wrong_plan(const reference::Batch& batch,
                                      const std::vector<reference::RequestOutcome>& outcomes,
                                      const std::vector<draftproof_kv_plan>& plans) {
  if (plans.size() != outcomes.size()) return "wrong number of plans";
  for (std::size_t r = 0; r < plans.size(); ++r) {
    const reference::RequestOutcome& outcome = outcomes[r];
    const draftproof_kv_plan& plan = plans[r];
    const auto accepted = static_cast<std::uint32_t>(outcome.accepted_count);
    const auto drafted = static_cast<std::uint32_t>(batch.requests[r].proposal.tokens.size());
    const bool has_token = outcome.status == reference::Status::kOk;
    const std::int32_t pending = has_token ? outcome.emitted.back().token : -1;
    if (plan.kept_count != accepted + 1 || plan.dropped_count != drafted - accepted ||
        plan.kv_length != batch.requests[r].position + accepted + 1 ||
        plan.pending_token != pending)
      return "plan of request " + std::to_string(r) + ": kept " + std::to_string(plan.kept_count) +
             ", dropped " + std::to_string(plan.dropped_count) + ", length " +
             std::to_string(plan.kv_length) + ", pending " + std::to_string(plan.pending_token);
  }
  return std::nullopt;
}

class ChainFused : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
    device_ = gpu::make_emulated_device();
    for (const char* rule : {"chain", "greedy"}) subjects_.try_emplace(rule, *device_, rule);
  }

  void expect_parity(const char* rule, std::uint64_t seed, int count,
                     const RandomCaseLimits& limits) {
    const auto reference = reference::verify::make_verifier(rule);
    gpu::FusedVerifier& subject = subjects_.at(rule);
    std::mt19937_64 engine(seed);
    RandomCases cases(seed, limits);
    for (int i = 0; i < count; ++i) {
      const RandomCase input = cases.next();
      const gpu::FusedDivision division = random_division(engine);
      subject.divide(division);
      auto found = disparity(subject, *reference, input);
      if (!found) {
        reference::Batch copy = input.batch;
        found = wrong_plan(copy, reference->verify(copy, *input.coins, input.execution).requests,
                           subject.kv_plans());
      }
      ASSERT_FALSE(found) << "case " << i << " of seed " << seed << ", " << to_text(division)
                          << ": " << *found;
    }
  }

 private:
  std::unique_ptr<gpu::Device> device_;
  std::map<std::string, gpu::FusedVerifier> subjects_;
};

TEST_F(ChainFused, AgreesOnSmallVocabularies) { expect_parity("chain", 41, 1500, {1, 64, 6, 4}); }

TEST_F(ChainFused, AgreesOnLongDrafts) { expect_parity("chain", 42, 60, {1, 8, 3, 70}); }

TEST_F(ChainFused, AgreesAroundTheEdgesOfSlices) {
  for (const std::size_t edge : {8u, 16u, 24u, 40u, 80u, 160u, 320u})
    for (std::size_t vocab = edge - 1; vocab <= edge + 1; ++vocab)
      expect_parity("chain", 43 + vocab, 15, {vocab, vocab, 3, 3});
}

TEST_F(ChainFused, AgreesOnVocabulariesOfSeveralSegments) {
  expect_parity("chain", 44, 80, {65, 4096, 2, 3});
}

TEST_F(ChainFused, AgreesOnLargeVocabularies) {
  expect_parity("chain", 45, 2, {30000, 40000, 1, 2});
}

TEST_F(ChainFused, AgreesOnGreedyDrafts) { expect_parity("greedy", 46, 400, {1, 300, 6, 40}); }

}  // namespace
}  // namespace draftproof::tests
