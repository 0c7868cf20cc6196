// Fused acceptance held against the reference, under divisions of the work that mean nothing.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gpu/fused_verifier.h"
#include "tests/differential/parity.h"

namespace draftproof::tests {

/// A division that has nothing to do with the batch; often too small to hold all rows at once.
inline gpu::FusedDivision random_division(std::mt19937_64& engine) {
  gpu::FusedDivision division;
  constexpr std::uint32_t kTeamSizes[] = {1, 2, 3, 5};
  division.team_size = kTeamSizes[engine() % 4];
  division.block_capacity = division.team_size * static_cast<std::uint32_t>(1 + engine() % 12) +
                            static_cast<std::uint32_t>(engine() % division.team_size);
  division.shared_bytes_max = engine() % 4 == 0 ? 0 : 156 * 1024;
  division.rows_ahead = static_cast<std::uint32_t>(1 + engine() % 5);
  division.has_draft_records = engine() % 2 == 0;
  return division;
}

inline std::string to_text(const gpu::FusedDivision& division) {
  return "team of " + std::to_string(division.team_size) + ", capacity " +
         std::to_string(division.block_capacity) + ", shared " +
         std::to_string(division.shared_bytes_max) + ", rows ahead " +
         std::to_string(division.rows_ahead) + (division.has_draft_records ? ", records" : "");
}

/// What is wrong with the KV plans, given outcomes that are right.
inline std::optional<std::string> wrong_plan(const reference::Batch& batch,
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

/// What is wrong with `subject` on this case when its work is divided so; nothing when outcomes and
/// KV plans are right and the device saw nothing unsafe.
inline std::optional<std::string> fused_disparity(gpu::FusedVerifier& subject,
                                                  reference::Verifier& reference,
                                                  const RandomCase& input,
                                                  const gpu::FusedDivision& division) {
  subject.divide(division);
  auto found = disparity(subject, reference, input);
  if (!found) {
    reference::Batch copy = input.batch;
    found = wrong_plan(copy, reference.verify(copy, *input.coins, input.execution).requests,
                       subject.kv_plans());
  }
  if (found) found = to_text(division) + ": " + *found;
  return found;
}

}  // namespace draftproof::tests
