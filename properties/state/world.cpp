// Histories of worlds: run, shortened, in words (world.h).
#include "properties/state/world.h"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "properties/state/live_world.h"
#include "reference/error.h"

namespace draftproof::properties::state {
namespace {

bool is_of_request(ActionKind kind) {
  return kind == ActionKind::kSubmit || kind == ActionKind::kPreempt || kind == ActionKind::kCancel;
}

std::string words(const Action& action) {
  std::string text(to_string(action.kind));
  if (is_of_request(action.kind)) return text + " " + std::to_string(action.request);
  const char* separator = " ";
  for (const DraftPlan& plan : action.plans) {
    text += separator;
    text += plan.count == 0
                ? "nothing"
                : std::to_string(plan.right) + " right of " + std::to_string(plan.count);
    separator = " and ";
  }
  return text;
}

/// `history` without `count` actions from `begin` on.
StateHistory without(const StateHistory& history, std::size_t begin, std::size_t count) {
  StateHistory shorter(history.begin(), history.begin() + static_cast<std::ptrdiff_t>(begin));
  const std::size_t end = std::min(begin + count, history.size());
  shorter.insert(shorter.end(), history.begin() + static_cast<std::ptrdiff_t>(end), history.end());
  return shorter;
}

/// The history up to where it fails; nothing when it does not.
std::optional<StateHistory> failing(const World& world, const StateHistory& history) {
  const HistoryResult result = run(world, history);
  if (result.is_clean()) return std::nullopt;
  return StateHistory(history.begin(),
                      history.begin() + static_cast<std::ptrdiff_t>(result.action_count));
}

/// `history` without every action that it fails without.
StateHistory with_least_actions(const World& world, StateHistory history) {
  // Zeller and Hildebrandt's delta debugging (TSE 2002): halves first, single actions last.
  for (std::size_t size = history.size() / 2; size >= 1;) {
    bool is_shorter = false;
    for (std::size_t begin = 0; begin < history.size();) {
      const std::optional<StateHistory> shorter = failing(world, without(history, begin, size));
      if (shorter) {
        history = *shorter;
        is_shorter = true;
      } else {
        begin += size;
      }
    }
    if (size > 1 || !is_shorter) size /= 2;
  }
  return history;
}

/// `history` with every draft as short, and right for as few tokens, as it still fails with.
StateHistory with_least_drafts(const World& world, StateHistory history) {
  const auto fails_with = [&](DraftPlan& plan, const DraftPlan& smaller) {
    const DraftPlan before = std::exchange(plan, smaller);
    const bool is_failing = !run(world, history).is_clean();
    if (!is_failing) plan = before;
    return is_failing;
  };
  for (Action& action : history)
    for (DraftPlan& plan : action.plans)
      for (bool is_smaller = true; is_smaller;) {
        is_smaller = plan.right > 0 && fails_with(plan, {plan.count, plan.right - 1});
        if (is_smaller || plan.count == 0) continue;
        is_smaller = fails_with(plan, {plan.count - 1, std::min(plan.right, plan.count - 1)});
      }
  return history;
}

}  // namespace

std::string_view to_string(ActionKind kind) {
  static constexpr std::array<std::string_view, kActionKindCount> kNames = {
      "submit", "draft", "verify", "commit", "preempt", "cancel", "evict"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string to_string(const StateHistory& history) {
  std::string text;
  for (const Action& action : history) text += (text.empty() ? "" : ", ") + words(action);
  return text;
}

std::string to_string(const HistoryResult& result) {
  if (result.divergence) return to_string(*result.divergence);
  return result.exception.empty() ? "" : "the engine threw: " + result.exception;
}

HistoryResult run(const World& world, const StateHistory& history) {
  HistoryResult result;
  try {
    LiveWorld live(world);
    for (const Action& action : history) {
      ++result.action_count;
      if (!live.act(action)) continue;
      result.divergence = live.check();
      if (result.divergence) return result;
    }
  } catch (const std::exception& error) {
    result.exception = error.what();
  }
  return result;
}

StateHistory least_history(const World& world, StateHistory history) {
  const std::optional<StateHistory> first = failing(world, history);
  DRAFTPROOF_CHECK(first.has_value(), "a history that does not fail has no least one");
  history = *first;
  // Behind shorter drafts an action may be one too many.
  for (StateHistory before; before != history;) {
    before = history;
    history = with_least_drafts(world, with_least_actions(world, std::move(history)));
  }
  return history;
}

}  // namespace draftproof::properties::state
