// Claims: the named sentences about a subject that a verdict can refute, and what falls with them.
//
//   sequence-lossless -> marginal-lossless -> support-safe -> well-formed
//   sequence-lossless -> greedy-exact -> support-safe
//   coupled -> sequence-lossless                                       (white box only)
//   side claims, white box: memory-safe, race-free, schedule-independent, inputs-unchanged
//   side claims: accounting-truthful, batch-invariant, seed-stable, logprob-truthful
// An arrow reads "implies": refuting the right-hand claim refutes the left-hand one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace draftproof::oracle {

enum class Claim : std::uint8_t {
  kWellFormed,
  kSupportSafe,
  kGreedyExact,
  kMarginalLossless,
  kSequenceLossless,
  kCoupled,
  kMemorySafe,
  kRaceFree,
  kScheduleIndependent,
  kInputsUnchanged,
  kBatchInvariant,
  kAccountingTruthful,
  kSeedStable,
  kLogprobTruthful,
};

const std::vector<Claim>& all_claims();
/// "support-safe"
std::string_view to_string(Claim claim);
/// One sentence that says what the claim means.
std::string_view statement(Claim claim);
/// Every claim that falls when `claim` is refuted, `claim` itself not included, weakest first.
std::vector<Claim> also_refuted(Claim claim);

}  // namespace draftproof::oracle
