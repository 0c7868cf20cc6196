// Tracks: what the twin of one request knows of it, all of it from the request itself and from the
// decisions that the twin made again.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "reference/decode/draft_source.h"
#include "reference/decode/request.h"

namespace draftproof::properties::state {

/// One verification, as decided by the twin, until its frame is committed.
struct Judged {
  std::int64_t frame = 0;
  reference::decode::RequestId request = 0;
  int epoch = 0;
  std::uint32_t iteration = 0;
  std::uint32_t position = 0;
  int drafted_count = 0;
  int accepted_count = 0;
  bool has_status = false;
  std::vector<reference::decode::OutputToken> emitted;  ///< with the logprobs that are due
};

struct Track {
  reference::decode::RequestSpec spec;
  bool is_sampled = true;  ///< verifications are replayed
  int epoch = 0;
  /// As the device has them: prompt, committed tokens, and those of frames in flight.
  std::vector<reference::Token> tokens;
  std::uint64_t history = 0;  ///< of `tokens`
  int pending_count = 0;      ///< of `tokens`, emitted and not fed: 1 behind a verification
  bool was_judged = false;    ///< in this epoch
  std::vector<Judged> in_flight;

  std::vector<reference::decode::OutputToken> output;  ///< committed
  std::size_t compared = 0;  ///< of them, by light checks: they look at none of these again
  reference::decode::FinishReason finish = reference::decode::FinishReason::kNone;
  reference::decode::Metrics metrics;  ///< `dropped`: at least so many
  std::vector<int> accepted_counts;    ///< of committed verifications with a draft
  std::int64_t drafted_verifications = 0;
  std::set<std::uint32_t> iterations;

  /// What the draft's cells must be long since the last verification with a draft; -1: none.
  int draft_length_due = -1;
  int draft_length = -1;             ///< at the last check; -1: the request was not on the device
  int judged_length = -1;            ///< tokens before the last verification since then; -1: none
  reference::decode::Draft waiting;  ///< at the last check

  std::vector<reference::Token> emitted_tokens() const {
    return {tokens.begin() + static_cast<std::ptrdiff_t>(spec.prompt.size()), tokens.end()};
  }
};

}  // namespace draftproof::properties::state
