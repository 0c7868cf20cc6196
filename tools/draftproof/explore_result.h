// What `draftproof explore` found, and its pages: text for a terminal, JSON after
// tools/schema/explore.schema.json.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fixtures/state_faults/state_fault.h"
#include "properties/state/explorer.h"
#include "properties/state/soak.h"
#include "tools/draftproof/exit_code.h"
#include "tools/draftproof/explore_settings.h"

namespace draftproof::tools {

struct ExploreResult {
  std::vector<properties::state::World> worlds;
  std::vector<properties::state::Exploration> explorations;  ///< one a world, as far as it went
  properties::state::Coverage coverage;
  std::optional<properties::state::SoakReport> soak;
  const fixtures::StateFault* bug = nullptr;
  std::string seed = "1";
  std::string options;  ///< of the search, as a replay has to name them
  bool is_interrupted = false;

  /// Violated where something diverged, inconclusive where time or memory ended it.
  ExitCode exit_code() const;
};

/// Throws Error(kInput) for a world, a bug, a seed or a time that is not there.
ExploreResult explore_result(const ExploreSettings& settings,
                             const std::function<bool()>& is_interrupted);

std::string explore_page(const ExploreResult& result);
std::string explore_json(const ExploreResult& result);

}  // namespace draftproof::tools
