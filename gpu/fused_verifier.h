// FusedVerifier: fused acceptance (gpu/kernels/verify/chain_fused.cu) on a device as a
// reference::Verifier, one launch a call. Equal to the reference's rules "chain" and "greedy", and
// so to the two launches of gpu/verifiers.h, bit for bit, however the work is divided.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/kernel_modules.h"
#include "gpu/kernels/arguments/acceptance.h"
#include "gpu/packed_batch.h"
#include "gpu/verifiers.h"
#include "reference/verifier.h"

namespace draftproof::gpu {

/// How the work is divided among blocks. Nothing here may change an outcome.
struct FusedDivision {
  std::uint32_t block_capacity = 16;  ///< blocks resident at once
  /// Dynamic shared memory a block may have, here what sm_80 gives beside an entry's own; 0: rows
  /// are read from global memory in every sweep.
  std::uint32_t shared_bytes_max = 156 * 1024;
  std::uint32_t team_size = 0;   ///< blocks a row; 0: as launches::divide() chooses
  std::uint32_t rows_ahead = 0;  ///< 0: as it chooses
  /// Draft rows are shaped by a launch of their own before, as if when the drafts were drawn.
  bool has_draft_records = false;
};

class FusedVerifier final : public reference::Verifier {
 public:
  /// `rule`: "chain" or "greedy". `division` absent: a different one for every schedule seed, so
  /// that whatever varies schedules varies divisions. Named "fused", or as `patched` says. `device`
  /// must outlive this. Throws Error(kInput) for another rule or a text that does not load.
  FusedVerifier(Device& device, std::string_view rule,
                std::optional<FusedDivision> division = std::nullopt,
                std::optional<PatchedText> patched = std::nullopt);

  const reference::VerifierTraits& traits() const override { return traits_; }
  reference::Outcome verify(reference::Batch& batch, const reference::Coins& coins,
                            const reference::Execution& execution) override;

  /// Divides the work of later calls so.
  void divide(const FusedDivision& division) { division_ = division; }

  /// Of the last call: its KV plans, with the requests' positions as the lengths before; what its
  /// launch reported.
  const std::vector<draftproof_kv_plan>& kv_plans() const { return kv_plans_; }
  const LaunchReport& report() const { return report_; }

 private:
  struct Extras;
  void run(const KernelLaunch& launch, std::uint64_t elements,
           const reference::Execution& execution, reference::Outcome& outcome);
  FusedDivision division_for(const reference::Execution& execution) const;
  draftproof_acceptance_arguments divided(draftproof_acceptance_arguments arguments,
                                          const FusedDivision& division) const;

  KernelModules modules_;
  bool is_greedy_;
  std::optional<FusedDivision> division_;
  reference::VerifierTraits traits_;
  std::vector<draftproof_kv_plan> kv_plans_;
  LaunchReport report_;
};

/// The rules that fused acceptance has.
const std::vector<std::string>& fused_rules();

}  // namespace draftproof::gpu
