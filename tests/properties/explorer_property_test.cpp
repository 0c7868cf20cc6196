// The explorer. Goal: every history of every world of the catalogue is clean for a right engine and
// every corner is turned; a fault is found behind a shortest history; and states that are taken for
// one go on alike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "properties/state/explorer.h"
#include "properties/state/live_world.h"
#include "properties/state/worlds.h"
#include "reference/error.h"

namespace draftproof::properties::state {
namespace {

namespace decode = reference::decode;

TEST(Explorer, FindsEveryWorldOfTheCatalogueCleanAndTurnsEveryCorner) {
  Coverage coverage;
  for (const World& world : worlds()) {
    const Exploration found = explore(world);
    EXPECT_TRUE(found.is_complete) << world.name;
    EXPECT_EQ(to_string(found.result), "") << world.name << ": " << to_string(found.history);
    coverage.add(found.coverage);
  }
  std::vector<std::string> missing;
  for (const CoverageCell& cell : coverage.missing()) missing.push_back(to_string(cell));
  EXPECT_THAT(missing, testing::IsEmpty());
}

TEST(Explorer, LeavesCornersEmptyWhereNothingIsPreempted) {
  World world = state::world("max-tokens-4");
  world.has_preemptions = false;
  const Coverage coverage = explore(world).coverage;
  EXPECT_EQ(coverage.share(Operation::kPreempt).reached, 0u);
  EXPECT_EQ(coverage.share(Operation::kResume).reached, 0u);
  EXPECT_GT(coverage.share(Operation::kVerify).reached, 0u);
  EXPECT_LT(coverage.share(Operation::kVerify).reached,
            coverage.share(Operation::kVerify).reachable);
}

/// Keeps one drafted token more than was accepted (ml-explore/mlx-lm#1109 kept all).
class KeepsOneMore final : public decode::EngineSteps {
  std::vector<int> kept(const decode::Entry& entry) const override {
    std::vector<int> offsets = EngineSteps::kept(entry);
    if (offsets.size() < entry.tokens.size()) offsets.push_back(offsets.back() + 1);
    return offsets;
  }
};

World with_fault(World world, decode::EngineStepsPtr steps) {
  world.make_engine = [steps = std::move(steps)](const decode::EngineConfig& config) {
    return decode::Engine(config, steps);
  };
  return world;
}

TEST(Explorer, FindsAFaultBehindAShortestHistory) {
  World world = with_fault(state::world("pages-2"), std::make_shared<KeepsOneMore>());
  world.config.target_cache.keeps_prefixes = false;  // or the prefix index would tell first
  const Exploration found = explore(world);
  EXPECT_FALSE(found.is_complete);
  ASSERT_TRUE(found.result.divergence) << to_string(found.result);
  EXPECT_EQ(found.result.divergence->check, StateCheck::kTargetCells);
  // Nothing shorter drafts: a first token has to be there before.
  EXPECT_EQ(to_string(found.history), "submit 0, verify, draft 0 right of 1, commit, verify");
  EXPECT_EQ(run(world, found.history).divergence, found.result.divergence);
}

TEST(Explorer, ShortensALongHistoryToTheLeastOne) {
  const World world = with_fault(state::world("pages-2"), std::make_shared<KeepsOneMore>());
  const auto draft = [](int count, int right) {
    return Action{ActionKind::kDraft, 0, {{count, right}}};
  };
  const StateHistory longer = {{ActionKind::kEvict},
                               {ActionKind::kSubmit, 0},
                               {ActionKind::kVerify},
                               {ActionKind::kCommit},
                               draft(0, 0),
                               {ActionKind::kVerify},
                               {ActionKind::kPreempt, 0},
                               {ActionKind::kCommit},
                               {ActionKind::kVerify},
                               {ActionKind::kCommit},
                               draft(2, 2),
                               {ActionKind::kVerify},
                               {ActionKind::kCommit},
                               draft(3, 1),
                               {ActionKind::kVerify},
                               {ActionKind::kCommit}};
  ASSERT_FALSE(run(world, longer).is_clean());
  const StateHistory least = least_history(world, longer);
  EXPECT_FALSE(run(world, least).is_clean());
  EXPECT_LE(least.size(), 6u) << to_string(least);
  EXPECT_THAT(to_string(least), testing::HasSubstr("draft 0 right of 1"));
  for (std::size_t i = 0; i < least.size(); ++i) {
    StateHistory shorter = least;
    shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_TRUE(run(world, shorter).is_clean()) << "without action " << i;
  }
}

TEST(Explorer, TakesWhatAnEngineThrowsForADivergence) {
  World world = state::world("pages-2");
  world.make_engine = [](const decode::EngineConfig&) -> decode::Engine {
    throw Error(ErrorKind::kInput, "no engine today", "test");
  };
  const Exploration found = explore(world);
  EXPECT_THAT(found.result.exception, testing::HasSubstr("no engine today"));
  EXPECT_THAT(run(world, {}).exception, testing::HasSubstr("no engine today"));
}

TEST(Explorer, SaysThatItIsNotCompleteWhereALimitEndsIt) {
  const World world = state::world("pages-2");
  const Exploration shallow = explore(world, {.depth_max = 5});
  EXPECT_FALSE(shallow.is_complete);
  EXPECT_TRUE(shallow.is_clean());
  EXPECT_EQ(shallow.depth, 5);
  EXPECT_FALSE(shallow.is_truncated);
  for (const ExplorerLimits& limits :
       {ExplorerLimits{.state_max = 100}, ExplorerLimits{.seconds_max = 0},
        ExplorerLimits{.is_interrupted = [] { return true; }}}) {
    const Exploration cut = explore(world, limits);
    EXPECT_FALSE(cut.is_complete);
    EXPECT_TRUE(cut.is_truncated);
  }
}

TEST(Explorer, FindsTheSameStatesWhenItKeepsNoEngines) {
  const World world = state::world("max-tokens-4");
  const Exploration kept = explore(world);
  const Exploration made_again = explore(world, {.engine_max = 0});
  EXPECT_EQ(kept.states, made_again.states);
  EXPECT_EQ(kept.transitions, made_again.transitions);
  EXPECT_EQ(kept.depth, made_again.depth);
}

TEST(LiveWorlds, GoOnAsTheirCopiesDo) {
  // A copy that counted its admissions anew would put the preempted request first again.
  const World world = state::world("two-ragged");
  LiveWorld first(world);
  for (const Action& action : {Action{ActionKind::kSubmit, 0}, Action{ActionKind::kSubmit, 1},
                               Action{ActionKind::kVerify}, Action{ActionKind::kCommit}})
    first.act(action);
  LiveWorld second(first);
  const StateHistory behind = {{ActionKind::kPreempt, 0}, {ActionKind::kVerify},
                               {ActionKind::kCommit},     {ActionKind::kDraft, 0, {{2, 1}, {1, 0}}},
                               {ActionKind::kVerify},     {ActionKind::kCommit}};
  for (const Action& action : behind) {
    EXPECT_EQ(first.act(action), second.act(action));
    EXPECT_EQ(first.key(), second.key()) << to_string({action});
  }
  EXPECT_NE(first.key(), LiveWorld(world).key());
}

TEST(ScriptedDrafts, AreAcceptedAsPlanned) {
  for (const char* name : {"pages-2", "match", "tree-match", "tree-greedy", "penalties", "grammar",
                           "window", "recurrent-select"}) {
    World world = state::world(name);
    world.requests.front().max_tokens = 12;  // room for any draft
    const int places = world.parents.empty() ? 3 : 5;
    for (int right = 0; right <= places; ++right) {
      LiveWorld live(world);
      live.act({ActionKind::kSubmit, 0});
      live.act({ActionKind::kVerify});
      live.act({ActionKind::kCommit});
      live.act({ActionKind::kDraft, 0, {{places, right}}});
      live.act({ActionKind::kVerify});
      const decode::Entry& entry = live.engine().state().in_flight.front().entries.front();
      ASSERT_EQ(entry.draft.proposal.tokens.size(), static_cast<std::size_t>(places)) << name;
      if (world.parents.empty()) {
        EXPECT_EQ(entry.outcome.accepted_count, right) << name;
      } else {
        const std::vector<int>& nodes = entry.outcome.accepted_nodes;
        EXPECT_EQ(nodes.empty() ? 0 : nodes.back() + 1, right) << name;
      }
    }
  }
}

using KeyOf = std::function<std::uint64_t(const LiveWorld&)>;

/// What can be seen of an engine's requests that have not finished, and of its pages.
std::string seen(const LiveWorld& live) {
  std::string text;
  for (const auto& [id, host] : live.engine().state().host) {
    if (host.phase == decode::Phase::kFinished) continue;
    text += std::string(decode::to_string(host.phase));
    for (const reference::Token token : host.output_tokens()) text += " " + std::to_string(token);
    text += "; ";
  }
  const reference::kv::PageCounts pages = live.engine().state().target_cache->counts();
  return text + std::to_string(pages.free) + " free, " + std::to_string(pages.cached) + " cached";
}

/// Goes through a world; wherever two histories lead to equal keys, takes every action behind both.
/// The first difference of keys, of what is possible, or of what is seen.
std::string difference_of_equals(const World& world, const KeyOf& key_of, std::size_t state_max) {
  std::map<std::uint64_t, std::unique_ptr<LiveWorld>> known;
  std::vector<LiveWorld*> states;
  const auto add = [&](std::unique_ptr<LiveWorld> live) {
    states.push_back(live.get());
    known.emplace(key_of(*live), std::move(live));
  };
  add(std::make_unique<LiveWorld>(world));
  for (std::size_t next = 0; next < states.size() && states.size() < state_max; ++next)
    for (const Action& action : states[next]->actions()) {
      auto to = std::make_unique<LiveWorld>(*states[next]);
      if (!to->act(action)) continue;
      static_cast<void>(to->check());
      const auto equal = known.find(key_of(*to));
      if (equal == known.end()) {
        add(std::move(to));
        continue;
      }
      for (const Action& behind : to->actions()) {
        LiveWorld first(*to), second(*equal->second);
        if (first.act(behind) != second.act(behind)) return "possible: " + to_string({behind});
        if (key_of(first) != key_of(second)) return "keys behind " + to_string({behind});
        if (seen(first) != seen(second)) return seen(first) + " | " + seen(second);
      }
    }
  return "";
}

TEST(Explorer, TakesForOneOnlyStatesThatGoOnAlike) {
  for (const char* name : {"pages-2-draft-4", "asynchronous-eos", "evictions", "small-pool",
                           "tree-match", "asynchronous-offload", "prefix-equal"})
    EXPECT_EQ(difference_of_equals(state::world(name), &LiveWorld::key, 600), "") << name;
}

TEST(Explorer, WouldNotTakeForOneWhatDiffersInOneField) {
  // Keys that leave something out, and what tells: the same test says so of each.
  const World world = state::world("asynchronous-eos");
  const KeyOf without_frames = [](const LiveWorld& live) {
    std::uint64_t key = live.engine().state().target_cache->state_hash();
    for (const auto& [id, device] : live.engine().state().device)
      key = reference::kv::history_behind(key, static_cast<reference::Token>(id),
                                          static_cast<int>(device.tokens.size()));
    return key;
  };
  EXPECT_NE(difference_of_equals(world, without_frames, 600), "");
  const KeyOf nothing = [](const LiveWorld&) { return std::uint64_t{1}; };
  EXPECT_NE(difference_of_equals(world, nothing, 600), "");
}

TEST(Worlds, AreFoundByNameOrListed) {
  EXPECT_EQ(state::world("eos").name, "eos");
  try {
    static_cast<void>(state::world("flat"));
    FAIL() << "a world that is not there";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("pages-1"));
  }
}

}  // namespace
}  // namespace draftproof::properties::state
