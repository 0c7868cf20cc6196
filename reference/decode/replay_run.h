// Replay runs: what is asked of a decoder of several requests, and what it answers. They are the
// seam between engines (one rank or several, right or broken) and the checks that a seed is a
// promise (properties/state/replay_of_seed.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "reference/shaping.h"
#include "reference/token.h"

namespace draftproof::reference::decode {

/// One request, and what the world does to it. Requests have no id but their place in the run: what
/// a seeded one answers may depend on nothing but its own fields, and not on the last three.
struct ReplayRequest {
  std::optional<std::uint64_t> seed;  ///< none: the engine takes from its entropy
  Sampling sampling;
  std::vector<Token> prompt;  ///< what its tokens continue; a resumed text counts as one
  int token_count = 1;        ///< tokens to emit, > 0; what a step has beyond them is thrown away
  /// Drafted tokens that a step asks for behind n tokens (prompt included): [n % size]. Empty: the
  /// request never drafts, which an engine may serve by its path without drafts.
  std::vector<int> draft_lengths;
  /// Steps of the request, counted from 0, whose work is thrown away when it is done, whatever it
  /// is. The request sits out the next step, and does the step again.
  std::vector<int> preempted_steps;
  /// Numbers of emitted tokens behind which the text is cut, in rising order: what the step has
  /// beyond them is thrown away, and the request goes on from there (stop, then continue).
  std::vector<int> stops;
  /// False: no step that begins before a stop drafts so far that a token would be cut by it.
  bool drafts_past_stops = true;

  friend bool operator==(const ReplayRequest&, const ReplayRequest&) = default;
};

/// One life of an engine: started with this entropy, it serves the requests in the order of their
/// places, all at once, or `serial`: each when the one before it has ended.
struct ReplayRun {
  std::vector<ReplayRequest> requests;
  bool serial = false;
  std::uint64_t entropy = 0;  ///< what the system's randomness was at start

  friend bool operator==(const ReplayRun&, const ReplayRun&) = default;
};

/// The tokens that were emitted, one stream per request of the run, prompts not included: exactly
/// token_count of each, no token ends a request.
using Stream = std::vector<Token>;
using ReplayDecoder = std::function<std::vector<Stream>(const ReplayRun&)>;

}  // namespace draftproof::reference::decode
