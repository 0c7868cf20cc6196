// Breadth first through the states of a world (explorer.h).
#include "properties/state/explorer.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "properties/state/live_world.h"

namespace draftproof::properties::state {
namespace {

class Explorer {
 public:
  Explorer(const World& world, const ExplorerLimits& limits) : world_(world), limits_(limits) {
    found_.world = world.name;
  }

  Exploration run() {
    const auto begin = std::chrono::steady_clock::now();
    const auto elapsed = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    try {
      auto first = std::make_unique<LiveWorld>(world_, &found_.coverage);
      seen_.insert(first->key());
      states_.push_back({0, {}, 0, std::move(first)});
      engines_ = 1;
    } catch (const std::exception& error) {
      found_.result.exception = error.what();
    }
    std::size_t next = 0;
    for (; next < states_.size() && found_.is_clean() && !is_over(elapsed()); ++next) {
      // What is as deep as it may be is known, and what follows it is not.
      if (states_[next].depth >= limits_.depth_max)
        is_cut_ = true;
      else
        expand(next);
    }
    found_.is_truncated = found_.is_clean() && (next < states_.size() || is_truncated_);
    found_.is_complete = found_.is_clean() && !found_.is_truncated && !is_cut_;
    found_.states = states_.size();
    found_.depth = states_.empty() ? 0 : states_.back().depth;
    found_.seconds = elapsed();
    return std::move(found_);
  }

 private:
  struct State {
    std::size_t parent = 0;
    std::uint32_t action = 0;  ///< of known_actions_
    int depth = 0;
    std::unique_ptr<LiveWorld> live;
  };

  bool is_over(double seconds) {
    return (limits_.is_interrupted && limits_.is_interrupted()) || seconds > limits_.seconds_max;
  }

  StateHistory history_of(std::size_t state) const {
    StateHistory history;
    for (; states_[state].depth > 0; state = states_[state].parent)
      history.push_back(actions_[states_[state].action]);
    std::reverse(history.begin(), history.end());
    return history;
  }

  std::uint32_t number_of(const Action& action) {
    const auto known = std::find(actions_.begin(), actions_.end(), action);
    if (known == actions_.end()) {
      actions_.push_back(action);
      return static_cast<std::uint32_t>(actions_.size() - 1);
    }
    return static_cast<std::uint32_t>(known - actions_.begin());
  }

  std::unique_ptr<LiveWorld> live(std::size_t state) {
    if (states_[state].live) {
      --engines_;
      return std::move(states_[state].live);
    }
    auto live = std::make_unique<LiveWorld>(world_);
    for (const Action& action : history_of(state))
      if (live->act(action)) static_cast<void>(live->check());
    live->count_in(&found_.coverage);
    return live;
  }

  void expand(std::size_t state) {
    const std::unique_ptr<LiveWorld> from = live(state);
    const std::vector<Action> actions = from->actions();
    for (const Action& action : actions) {
      auto to = std::make_unique<LiveWorld>(*from);
      bool is_possible = true;
      try {
        is_possible = to->act(action);
        if (is_possible) found_.result.divergence = to->check();
      } catch (const std::exception& error) {
        found_.result.exception = error.what();
      }
      found_.transitions += is_possible ? 1 : 0;
      if (!found_.is_clean()) {
        found_.history = history_of(state);
        found_.history.push_back(action);
        found_.result.action_count = found_.history.size();
        return;
      }
      if (is_possible) keep(state, action, std::move(to));
    }
  }

  void keep(std::size_t parent, const Action& action, std::unique_ptr<LiveWorld> live) {
    if (seen_.contains(live->key())) return;
    const int depth = states_[parent].depth + 1;
    if (states_.size() >= limits_.state_max) {
      is_truncated_ = true;
      return;
    }
    seen_.insert(live->key());
    if (engines_ >= limits_.engine_max) live = nullptr;
    engines_ += live ? 1 : 0;
    states_.push_back({parent, number_of(action), depth, std::move(live)});
  }

  const World& world_;
  ExplorerLimits limits_;
  Exploration found_;
  std::vector<Action> actions_;  ///< every action that led to a state, once
  std::vector<State> states_;    ///< in the order of their depth
  std::unordered_set<std::uint64_t> seen_;
  std::size_t engines_ = 0;
  bool is_cut_ = false;        ///< by depth_max
  bool is_truncated_ = false;  ///< by state_max
};

}  // namespace

Exploration explore(const World& world, const ExplorerLimits& limits) {
  return Explorer(world, limits).run();
}

}  // namespace draftproof::properties::state
