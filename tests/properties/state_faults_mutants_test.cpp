// Every state fault against the twin: found, by a check that it names, on a scene on which the
// right engine is clean; those of the draft's side found lossless but inefficient; controls upheld.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "fixtures/state_faults/state_fault.h"
#include "oracle/expected_length.h"
#include "properties/state/live_world.h"
#include "properties/state/world.h"
#include "reference/error.h"

namespace draftproof::properties::state {
namespace {

namespace decode = reference::decode;
namespace kv = reference::kv;
using fixtures::StateEffect;
using fixtures::StateFault;
using fixtures::StateScene;
using reference::Exact;
using reference::Token;
using ::testing::Contains;

World world_of(const StateFault* fault) {
  World world;
  world.name = fault == nullptr ? "right" : fault->name;
  world.is_scripted = false;
  if (fault != nullptr)
    world.make_engine = [fault](const decode::EngineConfig& config) {
      return fixtures::faulty_engine(*fault, {config, {}});
    };
  return world;
}

World world_of(const StateFault& fault, bool is_faulty) {
  World world = world_of(is_faulty ? &fault : nullptr);
  const StateScene scene = fault.scene();
  world.config = scene.config;
  world.requests = scene.requests;
  return world;
}

struct Interruption {
  ActionKind kind = ActionKind::kPreempt;
  int request = 0;
  int round = -1;  ///< none
  bool is_behind_draft = false;
};

/// Everybody comes and is served to the end. Late: a frame is committed behind the launch of the
/// next one.
StateHistory served(const World& world, bool is_late, Interruption by) {
  constexpr int kRounds = 12;
  StateHistory history;
  for (int request = 0; request < static_cast<int>(world.requests.size()); ++request)
    history.push_back({ActionKind::kSubmit, request});
  for (int round = 0; round < kRounds; ++round) {
    history.push_back({ActionKind::kDraft});
    if (round == by.round && by.is_behind_draft) history.push_back({by.kind, by.request});
    history.push_back({ActionKind::kVerify});
    if (round == by.round && !by.is_behind_draft) history.push_back({by.kind, by.request});
    if (round > 0 || !is_late) history.push_back({ActionKind::kCommit});
  }
  history.push_back({ActionKind::kCommit});
  return history;
}

/// One after the other, so that a later one finds what an earlier one has left.
StateHistory in_turns(const World& world) {
  StateHistory history;
  for (int request = 0; request < static_cast<int>(world.requests.size()); ++request) {
    World alone = world;
    alone.requests.resize(1);
    StateHistory turn = served(alone, false, {});
    turn.front().request = request;
    history.insert(history.end(), turn.begin(), turn.end());
  }
  return history;
}

std::vector<StateHistory> histories_of(const World& world) {
  std::vector<StateHistory> histories = {in_turns(world)};
  for (const bool is_late : {false, true}) {
    if (is_late && !world.config.is_asynchronous) continue;
    histories.push_back(served(world, is_late, {}));
    for (const ActionKind kind : {ActionKind::kPreempt, ActionKind::kCancel})
      for (int request = 0; request < static_cast<int>(world.requests.size()); ++request)
        for (int round = 0; round < 5; ++round)
          for (const bool is_behind_draft : {false, true})
            histories.push_back(served(world, is_late, {kind, request, round, is_behind_draft}));
  }
  return histories;
}

std::string name_of_check(const HistoryResult& result) {
  return result.divergence ? std::string(to_string(result.divergence->check)) : "exception";
}

std::vector<std::string> names_of(const std::set<StateEffect>& effects) {
  std::vector<std::string> names;
  for (const StateFault& fault : fixtures::state_faults())
    if (effects.contains(fault.effect)) names.push_back(fault.name);
  return names;
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) { return info.param; }

class OfStateFault : public ::testing::TestWithParam<std::string> {
 protected:
  const StateFault& fault() const { return fixtures::state_fault(GetParam()); }
};

class EveryStateFault : public OfStateFault {};

TEST_P(EveryStateFault, HasASceneOnWhichTheRightEngineIsClean) {
  const World world = world_of(fault(), false);
  for (const StateHistory& history : histories_of(world)) {
    const HistoryResult result = run(world, history);
    ASSERT_TRUE(result.is_clean()) << to_string(history) << "\n" << to_string(result);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryStateFault,
                         ::testing::ValuesIn(names_of({StateEffect::kLossy, StateEffect::kUnsafe,
                                                       StateEffect::kInefficient,
                                                       StateEffect::kHarmless})),
                         name_of);

class HarmfulStateFault : public OfStateFault {};

TEST_P(HarmfulStateFault, IsFoundFirstByACheckThatItNames) {
  const World world = world_of(fault(), true);
  StateHistory earliest;
  for (const StateHistory& history : histories_of(world)) {
    const HistoryResult result = run(world, history);
    const auto shown = history.begin() + static_cast<std::ptrdiff_t>(result.action_count);
    if (!result.is_clean() && (earliest.empty() || result.action_count < earliest.size()))
      earliest.assign(history.begin(), shown);
  }
  ASSERT_FALSE(earliest.empty()) << "no history of the scene shows it";
  const StateHistory least = least_history(world, earliest);
  const HistoryResult result = run(world, least);
  RecordProperty("check", name_of_check(result));
  RecordProperty("least_history", to_string(least));
  RecordProperty("divergence", to_string(result));
  EXPECT_THAT(fault().killed_by, Contains(name_of_check(result))) << to_string(least) << "\n"
                                                                  << to_string(result);
}

INSTANTIATE_TEST_SUITE_P(All, HarmfulStateFault,
                         ::testing::ValuesIn(names_of({StateEffect::kLossy, StateEffect::kUnsafe})),
                         name_of);

class HarmlessStateControl : public OfStateFault {};

TEST_P(HarmlessStateControl, IsUpheldByEveryCheck) {
  const World world = world_of(fault(), true);
  for (const StateHistory& history : histories_of(world)) {
    const HistoryResult result = run(world, history);
    ASSERT_TRUE(result.is_clean()) << to_string(history) << "\n" << to_string(result);
  }
}

INSTANTIATE_TEST_SUITE_P(All, HarmlessStateControl,
                         ::testing::ValuesIn(names_of({StateEffect::kHarmless})), name_of);

/// Tokens and verifications.
struct Length {
  std::int64_t emitted = 0;
  std::int64_t verifications = 0;
  Exact mean() const { return Exact(emitted) / verifications; }
};

/// The scene's requests, longer, one after the other.
std::vector<decode::RequestSpec> workload_of(const StateScene& scene) {
  std::vector<decode::RequestSpec> requests = scene.requests;
  for (decode::RequestSpec& request : requests) request.max_tokens = 90;
  return requests;
}

Length length_of(decode::Engine engine, const std::vector<decode::RequestSpec>& requests) {
  Length length;
  for (const decode::RequestSpec& request : requests) {
    const decode::RequestId id = engine.submit(request);
    while (engine.step()) {
    }
    const decode::Metrics& metrics = engine.request(id).metrics;
    length.emitted += metrics.emitted + metrics.cut;
    length.verifications += metrics.verifications;
  }
  return length;
}

/// What the source drafts behind `tokens` when all of them are fed one by one to a cache of its
/// own.
reference::Proposal serial_draft(const decode::EngineConfig& config,
                                 const decode::RequestSpec& request,
                                 const std::vector<Token>& tokens, int count) {
  kv::CacheConfig pages = config.draft_cache;
  pages.page_count = 128;
  kv::PagedCache cache(pages);
  const kv::SequenceId sequence = cache.open();
  const auto length = static_cast<int>(tokens.size());
  cache.reserve(sequence, length);
  std::vector<int> all;
  const std::vector<kv::Cell> cells = serial_cells(cache, tokens);
  for (int slot = 0; slot < length; ++slot) {
    cache.write(sequence, slot, cells[static_cast<std::size_t>(slot)]);
    all.push_back(slot);
  }
  cache.commit(sequence, all);
  cache.reserve(sequence, count);
  const decode::Sight sight =
      decode::sight_of(cache, sequence, length, config.target->vocab_size());
  const reference::PhiloxCoins coins(1);  // at temperature 0 nothing depends on them
  decode::DraftTask task;
  task.tokens = tokens;
  task.draft_count_max = count;
  task.sampling = request.sampling;
  task.coins = &coins;
  task.cache = &cache;
  task.sequence = sequence;
  task.visible = &sight;
  task.cell_position = length;
  reference::law::Memory own = config.drafts->initial_memory(), shared;
  return config.drafts->draft(task, own, shared).proposal;
}

Token first_maximum(const reference::Row& row) {
  return static_cast<Token>(std::max_element(row.begin(), row.end()) - row.begin());
}

/// The greedy rule's own formula: at every verification the drafted path that the target's first
/// maxima follow, and one token more.
Length serial_length(const decode::EngineConfig& config,
                     const std::vector<decode::RequestSpec>& requests) {
  Length length;
  const auto next = [&](const std::vector<Token>& tokens) {
    decode::Seen seen;
    seen.tokens = tokens;
    return first_maximum(config.target->row(seen));
  };
  for (const decode::RequestSpec& request : requests) {
    std::vector<Token> tokens = request.prompt;
    const std::size_t end = tokens.size() + static_cast<std::size_t>(request.max_tokens);
    for (bool is_prefill = true; tokens.size() < end; is_prefill = false) {
      const auto room = static_cast<int>(end - tokens.size());
      const int count = is_prefill ? 0 : std::min(room - 1, config.draft_count);
      reference::Proposal draft;
      if (count > 0) draft = serial_draft(config, request, tokens, count);
      for (int node = -1, child = 0; child >= 0; node = child) {
        tokens.push_back(next(tokens));
        ++length.emitted;
        child = -1;
        for (int at = static_cast<int>(draft.tokens.size()); at-- > 0;) {
          const auto i = static_cast<std::size_t>(at);
          const int parent = draft.parents.empty() ? at - 1 : draft.parents[i];
          if (parent == node && draft.tokens[i] == tokens.back()) child = at;
        }
      }
      ++length.verifications;
    }
  }
  return length;
}

oracle::LengthExpectation expectation_of(const StateScene& scene) {
  oracle::LengthExpectation expected;
  expected.emitted_max = scene.config.draft_count + 1;
  expected.optimum = expected.emitted_max;
  expected.optimum_name = "every drafted token is kept";
  expected.rule = scene.config.rule;
  expected.rule_length = serial_length(scene.config, workload_of(scene)).mean();
  return expected;
}

class DraftSideStateFault : public OfStateFault {};

TEST_P(DraftSideStateFault, IsFoundInTheDraftsCellsAloneIfAtAll) {
  const World world = world_of(fault(), true);
  for (const StateHistory& history : histories_of(world)) {
    const HistoryResult result = run(world, history);
    if (result.is_clean()) continue;
    EXPECT_EQ(name_of_check(result), "draft cells") << to_string(result);
    RecordProperty("divergence", to_string(result));
  }
}

/// By everything but cells, prefixes and the device's state; every verification is replayed.
std::optional<Divergence> divergence_without_cells(const World& world, const StateHistory& history,
                                                   std::int64_t& replayed_count) {
  const auto config = std::make_shared<const decode::EngineConfig>(world.config);
  Twin twin(config);
  decode::Engine engine = world.make_engine(*config);
  engine.observe([&](const decode::VerificationRecord& record) { twin.verified(record); });
  std::map<int, decode::RequestId> ids;
  for (const Action& action : history) {
    if (action.kind == ActionKind::kSubmit)
      ids[action.request] = engine.submit(world.requests[static_cast<std::size_t>(action.request)]);
    if (action.kind == ActionKind::kDraft) engine.draft();
    if (action.kind == ActionKind::kVerify) engine.verify();
    if (action.kind == ActionKind::kCommit) engine.commit();
    if (action.kind == ActionKind::kPreempt) engine.preempt(ids.at(action.request));
    if (action.kind == ActionKind::kCancel) engine.cancel(ids.at(action.request));
    if (std::optional<Divergence> divergence = twin.check_light(engine)) return divergence;
  }
  replayed_count += twin.replayed_count();
  return std::nullopt;
}

TEST_P(DraftSideStateFault, TakesNothingFromTheTokensRowsAndDecisions) {
  std::int64_t replayed_count = 0;
  const World world = world_of(fault(), true);
  for (const StateHistory& history : histories_of(world)) {
    const std::optional<Divergence> divergence =
        divergence_without_cells(world, history, replayed_count);
    ASSERT_FALSE(divergence) << to_string(*divergence) << "\n" << to_string(history);
  }
  EXPECT_GT(replayed_count, 0);
}

TEST(StateFaults, ThatAreLossyAreSeenWithoutCells) {
  std::int64_t replayed_count = 0;
  for (const char* name : {"history_masked_out", "siblings_see_each_other", "late_output_kept"}) {
    const World world = world_of(fixtures::state_fault(name), true);
    const std::vector<StateHistory> histories = histories_of(world);
    EXPECT_TRUE(std::any_of(histories.begin(), histories.end(), [&](const StateHistory& history) {
      return divergence_without_cells(world, history, replayed_count).has_value();
    })) << name;
  }
}

TEST_P(DraftSideStateFault, IsLosslessButInefficientBesideTheRightEngine) {
  const StateScene scene = fault().scene();
  const oracle::LengthExpectation expected = expectation_of(scene);
  const std::vector<decode::RequestSpec> requests = workload_of(scene);
  const auto judged = [&](decode::Engine engine) {
    return oracle::emits_as_its_rule(length_of(std::move(engine), requests).mean(), expected, true);
  };
  const oracle::Verdict right = judged(fixtures::right_engine(scene));
  EXPECT_EQ(right.kind, oracle::VerdictKind::kUpheld) << right.evidence;
  EXPECT_THAT(right.notes, ::testing::Not(Contains("lossless but inefficient"))) << right.evidence;
  const oracle::Verdict faulty = judged(fixtures::faulty_engine(fault(), scene));
  EXPECT_EQ(faulty.kind, oracle::VerdictKind::kUpheld) << faulty.evidence;
  EXPECT_THAT(faulty.notes, Contains("lossless but inefficient")) << faulty.evidence;
  RecordProperty("right", right.evidence);
  RecordProperty("faulty", faulty.evidence);
}

INSTANTIATE_TEST_SUITE_P(All, DraftSideStateFault,
                         ::testing::ValuesIn(names_of({StateEffect::kInefficient})), name_of);

/// First and last entry of every section of the list of known faults that is meant here.
const std::map<char, std::pair<std::string, std::string>>& sections() {
  static const std::map<char, std::pair<std::string, std::string>> sections = {
      {'F', {"B064", "B069"}}, {'G', {"B070", "B080"}}, {'H', {"B081", "B099"}},
      {'I', {"B100", "B105"}}, {'J', {"B106", "B108"}}, {'K', {"B109", "B115"}},
      {'L', {"B116", "B121"}}, {'M', {"B122", "B126"}}, {'N', {"B128", "B131"}},
      {'O', {"B132", "B135"}}, {'P', {"B136", "B138"}}, {'Q', {"B139", "B140"}},
      {'R', {"B141", "B145"}}};
  return sections;
}

TEST(StateFaults, AreFortyOrMoreWithTwoInEverySection) {
  std::map<char, int> counts;
  int faults = 0;
  for (const StateFault& fault : fixtures::state_faults()) {
    ++counts[fault.section];
    faults += fault.effect == StateEffect::kHarmless ? 0 : 1;
  }
  EXPECT_GE(faults, 40);
  for (const auto& [section, entries] : sections()) EXPECT_GE(counts[section], 2) << section;
}

TEST(StateFaults, HaveNamesOfTheirOwnAndEntriesOfTheirSection) {
  std::set<std::string> names;
  for (const StateFault& fault : fixtures::state_faults()) {
    EXPECT_TRUE(names.insert(fault.name).second) << fault.name;
    EXPECT_FALSE(fault.statement.empty() || fault.report.empty()) << fault.name;
    EXPECT_EQ(fault.killed_by.empty(), fault.effect == StateEffect::kHarmless) << fault.name;
    if (fault.effect == StateEffect::kHarmless) continue;
    ASSERT_TRUE(sections().contains(fault.section)) << fault.name;
    if (fault.entry == "derived") continue;
    const auto& [first, last] = sections().at(fault.section);
    EXPECT_TRUE(fault.entry >= first && fault.entry <= last) << fault.name << " " << fault.entry;
  }
}

TEST(StateFaults, OfUnknownNamesAreRefusedWithTheKnownOnes) {
  EXPECT_THAT([] { fixtures::state_fault("no_such_fault"); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("drafts_published")));
}

}  // namespace
}  // namespace draftproof::properties::state
