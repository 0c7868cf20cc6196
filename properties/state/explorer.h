// Bounded exhaustive exploration: every history of a small world, breadth first, so that the first
// divergence that shows is behind a shortest history. States that a shorter history led to are not
// gone through again (LiveWorld::key).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "properties/state/coverage.h"
#include "properties/state/world.h"

namespace draftproof::properties::state {

struct ExplorerLimits {
  int depth_max = 1 << 20;            ///< actions
  std::size_t state_max = 1'000'000;  ///< states that are remembered, 40 bytes each
  /// Engines that wait for their turn and are kept; others are made again from their histories.
  /// A kept one of a small world takes 10 to 30 KB.
  std::size_t engine_max = 20'000;
  double seconds_max = 1e9;
  std::function<bool()> is_interrupted = {};  ///< asked now and then; empty: never
};

struct Exploration {
  std::string world;
  std::size_t states = 0;
  std::size_t transitions = 0;  ///< actions that were possible
  int depth = 0;                ///< of the deepest state
  double seconds = 0;
  bool is_complete = false;  ///< every state was gone through: deeper histories show nothing else
  /// Neither a divergence nor depth_max ended it, but time, an interruption, or state_max.
  bool is_truncated = false;
  HistoryResult result;  ///< the first divergence
  StateHistory history;  ///< that leads to it, as short as any
  Coverage coverage;

  bool is_clean() const { return result.is_clean(); }
};

/// Deterministic unless time or an interruption ends it.
Exploration explore(const World& world, const ExplorerLimits& limits = {});

}  // namespace draftproof::properties::state
