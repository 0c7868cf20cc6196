// Outcomes: what a verification decided, with a reason for every token.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "reference/observation.h"
#include "reference/status.h"
#include "reference/token.h"

namespace draftproof::reference {

enum class Reason : std::uint8_t {
  kAccepted,   ///< a drafted token that was kept
  kRecovered,  ///< the residual draw after a rejection (greedy: the argmax that differed)
  kBonus,      ///< all drafted tokens accepted, or the draft ended: one more from the target
};
std::string_view to_string(Reason reason);

struct EmittedToken {
  Token token = 0;
  Reason reason = Reason::kBonus;

  friend bool operator==(const EmittedToken&, const EmittedToken&) = default;
};

/// One request's outcome. Without a status: emitted.size() == accepted_count + 1. With a status:
/// the accepted prefix only, emitted.size() == accepted_count, and status_position says which
/// target row (0-based) could not be judged.
struct RequestOutcome {
  int accepted_count = 0;
  std::vector<EmittedToken> emitted;
  Status status = Status::kOk;
  int status_position = 0;
  /// The node of every accepted token, from the first on. Filled by the rules for trees, where
  /// equal tokens of siblings leave it open; empty under the rules for chains.
  std::vector<int> accepted_nodes = {};

  friend bool operator==(const RequestOutcome&, const RequestOutcome&) = default;
};

/// What running the subject cost; zeros for subjects on the CPU.
struct RunCounts {
  std::uint64_t launches = 0;
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;
};

struct Outcome {
  std::vector<RequestOutcome> requests;   ///< one per request of the batch, in its order
  std::vector<Observation> observations;  ///< what the device saw; empty for subjects on the CPU
  RunCounts counts;
};

}  // namespace draftproof::reference
