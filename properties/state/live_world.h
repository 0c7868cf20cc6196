// Live worlds: a world with its engine and the engine's twin, to act upon and to copy.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "properties/state/coverage.h"
#include "properties/state/scripted_drafts.h"
#include "properties/state/world.h"

namespace draftproof::properties::state {

class LiveWorld {
 public:
  using RequestId = reference::decode::RequestId;

  /// `coverage`, if any, is told of everything that happens here and in copies.
  explicit LiveWorld(const World& world, Coverage* coverage = nullptr);
  LiveWorld(const LiveWorld& other);
  LiveWorld& operator=(const LiveWorld&) = delete;

  /// False where the action is not possible, and nothing happened. Throws what the engine throws.
  bool act(const Action& action);
  /// From now on `coverage` is told instead; none: nobody.
  void count_in(Coverage* coverage) { coverage_ = coverage; }
  /// The twin's word behind the last action.
  std::optional<Divergence> check();
  /// Every action that may be possible now; plans with every draft length and accept count of every
  /// request that is to be drafted for.
  std::vector<Action> actions() const;

  /// Two live worlds of one world with equal keys go on alike: the engine's state, which requests
  /// have come, and, so that every change of draft length is tried, the last length of each.
  std::uint64_t key() const;

  const reference::decode::Engine& engine() const { return engine_; }
  const Twin& twin() const { return twin_; }
  /// The id of a request of the world; none: it has not come.
  std::optional<RequestId> id_of(int number) const;

 private:
  struct Setting {
    World world;  ///< with the source that is used
    std::shared_ptr<ScriptedDrafts> script;
    std::shared_ptr<const reference::decode::EngineConfig> config;
  };
  static std::shared_ptr<const Setting> setting_of(const World& world);
  static reference::decode::Engine engine_of(const Setting& setting);

  void observe();
  bool apply(const Action& action);
  std::vector<Action> drafts_of_all() const;

  std::shared_ptr<const Setting> setting_;
  reference::decode::Engine engine_;
  Twin twin_;
  Coverage* coverage_ = nullptr;
  std::map<RequestId, int> numbers_;
  std::map<RequestId, int> last_lengths_;  ///< of the last draft that was verified
  Boundary boundary_ = Boundary::kAfterEmit;
};

}  // namespace draftproof::properties::state
