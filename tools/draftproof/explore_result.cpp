// Explorations and soaks as the command asks for them.
#include "tools/draftproof/explore_result.h"

#include <algorithm>
#include <chrono>

#include "properties/state/worlds.h"
#include "reference/error.h"
#include "tools/draftproof/settings.h"
#include "tools/engines/engine_bug.h"

namespace draftproof::tools {

namespace state = properties::state;
namespace decode = reference::decode;

namespace {

/// A scene and its fault: first with the drafts that its source makes, then with every draft there
/// may be.
std::vector<state::World> worlds_of(const fixtures::StateFault& fault) {
  const fixtures::StateScene scene = fault.scene();
  state::World world;
  world.name = fault.name;
  world.statement = fault.statement;
  world.config = scene.config;
  world.requests = scene.requests;
  world.make_engine = [&fault](const decode::EngineConfig& config) {
    return fixtures::faulty_engine(fault, {config, {}});
  };
  world.is_scripted = false;
  std::vector<state::World> worlds = {world};
  const bool is_by_target =
      scene.config.rule == "match" ||
      std::all_of(scene.requests.begin(), scene.requests.end(),
                  [](const decode::RequestSpec& spec) { return spec.sampling.temperature == 0; });
  if (!scene.config.drafts || !is_by_target) return worlds;
  world.name += ", drafts of every kind";
  world.is_scripted = true;
  worlds.push_back(std::move(world));
  return worlds;
}

std::vector<state::World> worlds_of(const ExploreSettings& settings) {
  const state::WorldSize size =
      settings.size == "large" ? state::WorldSize::kLarge : state::WorldSize::kSmall;
  if (settings.world != "all") return {state::world(settings.world, size)};
  return state::worlds(size);
}

}  // namespace

ExitCode ExploreResult::exit_code() const {
  const bool is_violated =
      std::any_of(explorations.begin(), explorations.end(),
                  [](const state::Exploration& found) { return !found.is_clean(); }) ||
      (soak && soak->failed() != nullptr);
  if (is_violated) return ExitCode::kViolated;
  if (is_interrupted) return ExitCode::kInterrupted;
  const bool is_cut =
      (soak && !soak->is_complete) || (!soak && explorations.size() < worlds.size() && !bug) ||
      std::any_of(explorations.begin(), explorations.end(),
                  [](const state::Exploration& found) { return found.is_truncated; });
  // A fault that should show and did not says that the search was too short, not that it is none.
  const bool is_hidden = bug != nullptr && (bug->effect == fixtures::StateEffect::kLossy ||
                                            bug->effect == fixtures::StateEffect::kUnsafe);
  return is_cut || is_hidden ? ExitCode::kInconclusive : ExitCode::kUpheld;
}

ExploreResult explore_result(const ExploreSettings& settings,
                             const std::function<bool()>& is_interrupted) {
  ExploreResult result;
  if (settings.size != "small") result.options += " --size " + settings.size;
  if (settings.depth) result.options += " --depth " + std::to_string(*settings.depth);
  const auto begin = std::chrono::steady_clock::now();
  const double seconds_max =
      settings.time_limit.empty() ? 1e9 : seconds_from(settings.time_limit, "--time-limit");
  const std::uint64_t seed = settings.seed.empty() ? 1 : seed_from(settings.seed, "--seed");
  result.seed = std::to_string(seed);
  if (settings.soak_tokens) {
    state::SoakSettings soak;
    soak.token_count = *settings.soak_tokens;
    soak.seed = seed;
    soak.seconds_max = seconds_max;
    soak.is_interrupted = is_interrupted;
    result.soak = state::soak(soak);
    result.is_interrupted = is_interrupted && is_interrupted();
    return result;
  }
  if (!settings.bug.empty()) result.bug = &engine_bug(settings.bug);
  result.worlds = result.bug != nullptr ? worlds_of(*result.bug) : worlds_of(settings);
  for (const state::World& world : result.worlds) {
    state::ExplorerLimits limits;
    // A fault shows early, if at all, and its scene may be any size.
    if (result.bug != nullptr) limits.depth_max = world.is_scripted ? 9 : 16;
    if (settings.depth) limits.depth_max = *settings.depth;
    const std::chrono::duration<double> used = std::chrono::steady_clock::now() - begin;
    // Every world its share of what is left, so that a large one leaves some to the others.
    const auto left = static_cast<double>(result.worlds.size() - result.explorations.size());
    limits.seconds_max = std::max(0.0, seconds_max - used.count()) / left;
    limits.is_interrupted = is_interrupted;
    result.explorations.push_back(state::explore(world, limits));
    result.coverage.add(result.explorations.back().coverage);
    result.is_interrupted = is_interrupted && is_interrupted();
    if (result.is_interrupted) break;
    if (result.bug != nullptr && !result.explorations.back().is_clean()) break;
  }
  return result;
}

}  // namespace draftproof::tools
