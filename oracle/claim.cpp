// The ladder of claims as data: each claim with the claims it directly implies (contract in
// claim.h). Refutation travels against the arrows.
#include "oracle/claim.h"

#include <algorithm>
#include <array>

#include "reference/error.h"

namespace draftproof::oracle {
namespace {

struct Entry {
  Claim claim;
  std::string_view name;
  std::string_view statement;
  std::vector<Claim> implies;
};

/// In the order of the ladder, weakest first, side claims last.
const std::vector<Entry>& ladder() {
  static const std::vector<Entry> entries = {
      {Claim::kWellFormed,
       "well-formed",
       "Every outcome has ids in range, the lengths it announces, and a status where a row could "
       "not be judged.",
       {}},
      {Claim::kSupportSafe,
       "support-safe",
       "No token is emitted whose target probability is zero.",
       {Claim::kWellFormed}},
      {Claim::kGreedyExact,
       "greedy-exact",
       "Where the target law is greedy, the emitted tokens are the target's own argmax.",
       {Claim::kSupportSafe}},
      {Claim::kMarginalLossless,
       "marginal-lossless",
       "At every reached position and prefix the next token has the target's law.",
       {Claim::kSupportSafe}},
      {Claim::kSequenceLossless,
       "sequence-lossless",
       "The joint law of the emitted sequence is the target's.",
       {Claim::kMarginalLossless, Claim::kGreedyExact}},
      {Claim::kCoupled,
       "coupled",
       "The same coins give the same tokens as the reference, bit for bit.",
       {Claim::kSequenceLossless}},
      {Claim::kMemorySafe,
       "memory-safe",
       "No access is out of bounds, misaligned or to memory that no one wrote, and every barrier "
       "is reached.",
       {}},
      {Claim::kRaceFree,
       "race-free",
       "No two threads touch the same memory without order, one of them writing.",
       {}},
      {Claim::kScheduleIndependent,
       "schedule-independent",
       "The order in which warps run does not change an outcome.",
       {}},
      {Claim::kInputsUnchanged,
       "inputs-unchanged",
       "The rows and tokens handed in are the same bits afterwards.",
       {}},
      {Claim::kBatchInvariant,
       "batch-invariant",
       "A request's outcome does not depend on its companions, its place or the padding.",
       {}},
      {Claim::kAccountingTruthful,
       "accounting-truthful",
       "The acceptance counters agree with the tokens emitted.",
       {}},
      {Claim::kSeedStable,
       "seed-stable",
       "The same request with the same seed gives the same tokens.",
       {}},
      {Claim::kLogprobTruthful,
       "logprob-truthful",
       "The log-probabilities reported are those of the law the tokens were drawn from.",
       {}},
  };
  return entries;
}

const Entry& entry(Claim claim) {
  for (const Entry& each : ladder())
    if (each.claim == claim) return each;
  DRAFTPROOF_CHECK(false, "claim " + std::to_string(static_cast<int>(claim)));
  return ladder().front();
}

bool implies(Claim stronger, Claim weaker) {
  for (Claim next : entry(stronger).implies)
    if (next == weaker || implies(next, weaker)) return true;
  return false;
}

}  // namespace

const std::vector<Claim>& all_claims() {
  static const std::vector<Claim> claims = [] {
    std::vector<Claim> list;
    for (const Entry& each : ladder()) list.push_back(each.claim);
    return list;
  }();
  return claims;
}

std::string_view to_string(Claim claim) { return entry(claim).name; }

std::string_view statement(Claim claim) { return entry(claim).statement; }

std::vector<Claim> also_refuted(Claim claim) {
  std::vector<Claim> fallen;
  for (Claim candidate : all_claims())
    if (implies(candidate, claim)) fallen.push_back(candidate);
  return fallen;
}

}  // namespace draftproof::oracle
