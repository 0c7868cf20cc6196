// Worlds: an engine, a few requests, and everything that can happen to them, one action at a time.
// A history is a list of actions, a plain value that can be printed, shortened and run again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "properties/state/twin.h"
#include "reference/decode/engine.h"

namespace draftproof::properties::state {

enum class ActionKind : std::uint8_t {
  kSubmit,   ///< the request of this number arrives
  kDraft,    ///< Engine::draft; the next drafts are right for `argument` tokens and wrong behind
  kVerify,   ///< Engine::verify
  kCommit,   ///< Engine::commit
  kPreempt,  ///< the request of this number
  kCancel,
  kEvict,  ///< Engine::evict_prefixes
};

struct Action {
  ActionKind kind = ActionKind::kDraft;
  int argument = 0;

  friend bool operator==(const Action&, const Action&) = default;
};
using StateHistory = std::vector<Action>;
/// "submit 0, draft 2 right, verify, commit, preempt 0"
std::string to_string(const StateHistory& history);

/// How an engine is made: the right one, or one with a fault.
using EngineFactory =
    std::function<reference::decode::Engine(const reference::decode::EngineConfig&)>;

struct World {
  std::string name;
  reference::decode::EngineConfig config;
  std::vector<reference::decode::RequestSpec> requests;
  EngineFactory make_engine = {};  ///< empty: the right engine
  /// Drafts are scripted: as many tokens of what greedy decoding would emit as the action says,
  /// then others. False: the configuration's own source drafts and `argument` says nothing.
  bool is_scripted = true;
};

/// What a history came to: the first divergence and the action behind which it showed; an exception
/// of the engine (BrokenInvariant, Error, std::out_of_range, ...) is a divergence of its own.
struct HistoryResult {
  std::optional<Divergence> divergence;
  std::string exception;         ///< what() of what the engine threw
  std::size_t action_count = 0;  ///< actions that were run
  bool is_clean() const { return !divergence && exception.empty(); }
};

/// Runs `history`; actions that are not possible in their state do nothing.
HistoryResult run(const World& world, const StateHistory& history);

/// `history` without every action that it fails without, again and again until none is left out
/// that could be: the least one in this sense. Precondition: it fails.
StateHistory least_history(const World& world, StateHistory history);

}  // namespace draftproof::properties::state
