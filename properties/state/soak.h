// Soak: millions of tokens through engines under random load, with everything that happens to
// requests in a day happening every few steps. Identities are looked at behind every call, the
// whole twin but for prefixes behind some, and every verification of some requests is decided
// again.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "properties/state/world.h"

namespace draftproof::properties::state {

struct SoakSettings {
  std::int64_t token_count = 1'000'000;
  std::uint64_t seed = 1;
  int check_period = 256;  ///< the whole twin behind every so many calls
  int sample_period = 64;  ///< of every so many requests one is replayed
  double seconds_max = 1e9;
  std::function<bool()> is_interrupted = {};  ///< asked now and then; empty: never
  EngineFactory make_engine = {};             ///< empty: the right engine
};

/// What one engine of a soak came through.
struct SoakLeg {
  std::string name;
  std::uint64_t seed = 0;
  double seconds = 0;
  std::int64_t tokens = 0;  ///< emitted to clients
  std::int64_t requests = 0, steps = 0;
  std::int64_t verifications = 0, drafted = 0, accepted = 0, dropped = 0;
  std::int64_t preemptions = 0;  ///< asked for, and by the engine for want of pages
  std::int64_t cancels = 0, evictions = 0;
  std::int64_t hits = 0;                      ///< requests that found a prefix
  std::array<std::int64_t, 7> finishes = {};  ///< by FinishReason
  std::int64_t checks = 0, whole_checks = 0, replayed = 0;
  HistoryResult result;
};

struct SoakReport {
  std::vector<SoakLeg> legs;
  std::int64_t tokens = 0;
  double seconds = 0;
  bool is_complete = false;  ///< all tokens, on every engine, and nothing left at the end
  /// The leg that failed; none: all are clean.
  const SoakLeg* failed() const;
};

/// Deterministic unless time or an interruption ends it.
SoakReport soak(const SoakSettings& settings);

}  // namespace draftproof::properties::state
