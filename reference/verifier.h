// Verifier: the seam between what is judged (reference, kernel on a device, mutant, kernel card)
// and everything that judges it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/coin.h"
#include "reference/outcome.h"
#include "reference/proposal.h"

namespace draftproof::reference {

/// In which order a device runs its warps. Ignored by subjects on the CPU.
enum class ScheduleKind : std::uint8_t { kRandom, kFirstWarpFirst, kLastWarpFirst };

/// How to run, as opposed to what to judge: nothing here may change an outcome.
struct Execution {
  int block_threads = 0;       ///< 0: the subject's own choice
  int padded_draft_count = 0;  ///< slots of the draft axis in device buffers; 0: the longest
  ScheduleKind schedule = ScheduleKind::kRandom;
  std::uint64_t schedule_seed = 1;
};

struct VerifierTraits {
  std::string name;         ///< "reference", "kernels", "mutant:textbook_cycle", a card's name
  std::string rule;         ///< "chain", "greedy"
  std::string statement;    ///< one line: what it is; for a mutant what is wrong, with its report
  bool takes_coins = true;  ///< every decision is a function of Coins handed in
  bool declares_masses = true;  ///< promises the integer-mass contract, so bit parity is due
  bool takes_trees = false;     ///< proposals may have parents other than i - 1
  bool is_watched = false;      ///< observations and schedules mean something: the emulated device
  std::vector<int> block_threads;  ///< block sizes it accepts; empty: has no such notion
  std::vector<RowKind> draft_kinds = {RowKind::kLogits, RowKind::kProbabilities, RowKind::kOneHot};
  std::vector<RowKind> target_kinds = {RowKind::kLogits};
  std::vector<LogitFormat> formats = {LogitFormat::kFloat32, LogitFormat::kBfloat16,
                                      LogitFormat::kFloat16};
  std::size_t vocab_size_max = std::size_t{1} << 20;
};

class Verifier {
 public:
  virtual ~Verifier() = default;
  virtual const VerifierTraits& traits() const = 0;

  /// Judges every request of `batch`. Must leave the batch as it found it; a subject on a device
  /// writes back what its input buffers hold afterwards, so that the property inputs_unchanged can
  /// tell. Throws Error when the device or the subject's own files fail, BrokenInvariant when
  /// validate(batch) would throw.
  virtual Outcome verify(Batch& batch, const Coins& coins, const Execution& execution) = 0;
};

}  // namespace draftproof::reference
