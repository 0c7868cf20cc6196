// Worlds: an engine, a few requests, and everything that can happen to them, one action at a time.
// A history is a list of actions, a plain value that can be printed, shortened and run again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "properties/state/twin.h"
#include "reference/decode/engine.h"

namespace draftproof::properties::state {

enum class ActionKind : std::uint8_t {
  kSubmit,   ///< the request of this number arrives
  kDraft,    ///< Engine::draft; scripted drafts are as `plans` say
  kVerify,   ///< Engine::verify
  kCommit,   ///< Engine::commit
  kPreempt,  ///< the request of this number
  kCancel,
  kEvict,  ///< Engine::evict_prefixes
};
inline constexpr std::size_t kActionKindCount = 7;
/// "submit", "draft", ...
std::string_view to_string(ActionKind kind);

/// What a scripted draft is to be. `right` is 0, or 1 + the deepest node that the verification will
/// accept: of a chain the number of accepted tokens; of a tree the place of the accepted path.
struct DraftPlan {
  int count = 0;  ///< tokens or nodes, as far as the engine asks for so many
  int right = 0;  ///< at most count

  friend bool operator==(const DraftPlan&, const DraftPlan&) = default;
};

struct Action {
  ActionKind kind = ActionKind::kDraft;
  int request = 0;  ///< of kSubmit, kPreempt, kCancel: its number in the world
  /// Of kDraft, by request number; the last one is also that of all requests behind. None: as many
  /// tokens as the engine asks for, all right.
  std::vector<DraftPlan> plans = {};

  friend bool operator==(const Action&, const Action&) = default;
};
using StateHistory = std::vector<Action>;
/// "submit 0, draft 2 right of 3, verify, commit, preempt 0"
std::string to_string(const StateHistory& history);

/// How an engine is made: the right one, or one with a fault.
using EngineFactory =
    std::function<reference::decode::Engine(const reference::decode::EngineConfig&)>;

struct World {
  std::string name;
  reference::decode::EngineConfig config;
  std::vector<reference::decode::RequestSpec> requests;
  EngineFactory make_engine = {};  ///< empty: the right engine
  /// Drafts are scripted: plans say how many tokens the verification will accept. The source of
  /// `config` then only says whether there is a draft model. Right tokens are what the request
  /// would emit without drafts, so the rule must decide by the target alone: temperature 0, or
  /// "match". False: the configuration's own source drafts, and plans say nothing.
  bool is_scripted = true;
  /// Of scripted trees: the parents of as many nodes as there may be; empty: chains.
  std::vector<int> parents = {};
  std::string statement = {};  ///< what is looked at here, in one line
  /// What may happen besides submit, draft, verify and commit.
  bool has_preemptions = true;
  bool has_cancels = true;
  bool has_evictions = true;
};

/// What a history came to: the first divergence and the action behind which it showed; an exception
/// of the engine (BrokenInvariant, Error, std::out_of_range, ...) is a divergence of its own.
struct HistoryResult {
  std::optional<Divergence> divergence;
  std::string exception;         ///< what() of what the engine threw
  std::size_t action_count = 0;  ///< actions that were run
  bool is_clean() const { return !divergence && exception.empty(); }
};
/// The divergence, or what was thrown; empty when clean.
std::string to_string(const HistoryResult& result);

/// Runs `history`; actions that are not possible in their state do nothing.
HistoryResult run(const World& world, const StateHistory& history);

/// `history` without every action that it fails without, again and again until none is left out
/// that could be, its drafts as short as they may be: the least one in this sense. Precondition: it
/// fails.
StateHistory least_history(const World& world, StateHistory history);

}  // namespace draftproof::properties::state
