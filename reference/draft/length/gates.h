// Gates: reasons not to draft at all. Each is a function of the past, so that switching speculation
// off and on again keeps the law (theorem B of reference/README.md), and every switch leaves its
// reason behind, so that a run can be explained. Discarding a round that was already verified would
// not (fixtures/faults, round_thrown_away).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reference/draft/drafter.h"

namespace draftproof::reference::draft {

enum class GateReason : std::uint8_t {
  kNone,
  kShortOutput,     ///< few tokens are expected
  kPoorAcceptance,  ///< recent drafts were not kept
  kSaturatedBatch,  ///< verification has no idle compute left
  kLittleMemory,    ///< no blocks for draft tokens
  kUnsupported,     ///< adapter, grammar or dtype that the drafter does not serve
  kOutOfDomain,     ///< temperature or cohort on which drafts are known not to pay
  kColdDraft,       ///< loading the drafter would miss the deadline
};
std::string name_of(GateReason reason);

/// What is known before an iteration drafts. Absent: not known, and no reason against drafting.
struct GateSignals {
  std::optional<int> expected_tokens;  ///< still to come, as announced by the request
  std::vector<int> accepted_counts;    ///< of its last iterations that drafted, newest last
  int running_count = 1;               ///< requests in the batch
  std::optional<int> free_blocks;
  bool is_supported = true;
  Exact temperature = 1;
  bool is_in_domain = true;
  std::optional<int> load_time;  ///< until the drafter is ready; absent: it is
  std::optional<int> time_left;  ///< until the deadline
};

struct GateLimits {
  int expected_tokens_min = 0;
  std::size_t window = 2;  ///< iterations that recent acceptance is the mean of
  Exact accepted_min = 0;  ///< mean accepted tokens
  int running_max = 1 << 30;
  int free_blocks_min = 0;
  Exact temperature_max = 1'000'000;
};

/// The first reason, in the order of the enumeration, that speaks against drafting.
GateReason gate(const GateSignals& signals, const GateLimits& limits);

/// Signals before an iteration; `accepted_counts` is filled in by the drafter.
using SignalsOf = std::function<GateSignals(const law::StepBegin&)>;

/// A switch in a gated drafter's log: from this history length on, this was the reason.
struct GateSwitch {
  std::int64_t length;
  GateReason reason;
  friend bool operator==(const GateSwitch&, const GateSwitch&) = default;
};

/// `inner` where no gate speaks against it, else an empty draft. Its memory holds the recent
/// accepted counts, the log of switches, and inner's own memory.
std::shared_ptr<const Drafter> gated_drafter(std::shared_ptr<const Drafter> inner,
                                             SignalsOf signals, const GateLimits& limits);
/// The log in a gated drafter's memory.
std::vector<GateSwitch> switches_of(const law::Memory& memory);

}  // namespace draftproof::reference::draft
