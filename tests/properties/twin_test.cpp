// The twin where a test says what should come out.
#include "properties/state/twin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "properties/state/words.h"
#include "tests/properties/planted.h"

namespace draftproof::properties::state {
namespace {

using decode::FinishReason;
using decode::VerificationRecord;
using reference::Token;
using testing::HasSubstr;

decode::EngineConfig plain_config() {
  decode::EngineConfig config;
  config.target = decode::hashed_model({.vocab_size = kRunVocab, .seed = 1});
  config.drafts = decode::greedy_model_source(
      decode::hashed_model({.vocab_size = kRunVocab, .seed = 2, .shared_parts = 12}));
  config.context_max = 40;
  return config;
}

decode::RequestSpec thirty_tokens() {
  decode::RequestSpec spec;
  spec.prompt = {1, 2, 3};
  spec.max_tokens = 30;
  return spec;
}

SerialDecoder serial_of(decode::EngineConfig config) {
  return SerialDecoder(std::make_shared<const decode::EngineConfig>(std::move(config)));
}

TEST(SerialDecoder, EndsAtTheFirstTokenAtWhichAnythingDoes) {
  const SerialDecoder serial = serial_of(plain_config());
  decode::RequestSpec spec;
  spec.prompt = {1};
  spec.max_tokens = 5;
  spec.eos = 6;
  spec.stops = {{3, 4}};
  const auto end = [&](std::vector<Token> tokens) {
    const SerialDecoder::Ending ending = serial.ending(spec, tokens);
    return std::pair(ending.count, ending.finish);
  };
  EXPECT_EQ(end({0, 1}), std::pair(std::size_t{2}, FinishReason::kNone));
  EXPECT_EQ(end({0, 6, 3, 4}), std::pair(std::size_t{2}, FinishReason::kEos));
  EXPECT_EQ(end({0, 3, 4, 6}), std::pair(std::size_t{3}, FinishReason::kStop));
  EXPECT_EQ(end({0, 1, 2, 3, 4, 5}), std::pair(std::size_t{5}, FinishReason::kStop));
  EXPECT_EQ(end({0, 1, 2, 0, 6, 5}), std::pair(std::size_t{5}, FinishReason::kEos));
  EXPECT_EQ(end({0, 1, 2, 0, 1, 6}), std::pair(std::size_t{5}, FinishReason::kLength));
  spec.stops.push_back({6});
  EXPECT_EQ(end({6}), std::pair(std::size_t{1}, FinishReason::kEos));
}

TEST(SerialDecoder, EndsWhereTheContextIsFullAndPutsTheLengthBeforeIt) {
  const SerialDecoder serial = serial_of(plain_config());
  decode::RequestSpec spec;
  spec.prompt.assign(38, 0);
  spec.max_tokens = 5;
  const std::vector<Token> tokens = {1, 2, 3};
  EXPECT_EQ(serial.ending(spec, tokens).count, 2u);
  EXPECT_EQ(serial.ending(spec, tokens).finish, FinishReason::kContext);
  spec.max_tokens = 2;
  EXPECT_EQ(serial.ending(spec, tokens).finish, FinishReason::kLength);
}

TEST(SerialDecoder, SeesNoMoreThanTheWindowAndKnowsWhereItBegins) {
  decode::EngineConfig config = plain_config();
  config.target_cache.window = 3;
  const SerialDecoder serial = serial_of(config);
  const std::vector<Token> tokens = {5, 4, 3, 2, 1};
  const std::vector<Token> others = {0, 0, 3, 2, 1};
  EXPECT_EQ(serial.raw_row({}, tokens), serial.raw_row({}, others));
  EXPECT_EQ(serial.raw_row({}, tokens),
            config.target->row({.tokens = std::span(tokens).subspan(2), .first_position = 2}));
  const SerialDecoder unlimited = serial_of(plain_config());
  EXPECT_NE(unlimited.raw_row({}, tokens), unlimited.raw_row({}, others));
}

TEST(SerialDecoder, StartsAGrammarBehindItsMarkerOnly) {
  const SerialDecoder serial = serial_of(plain_config());
  decode::RequestSpec spec;
  spec.grammar = run_grammar();
  spec.grammar_behind = 6;
  EXPECT_FALSE(serial.grammar_place(spec, std::vector<Token>{0, 0}).is_on);
  const auto place = serial.grammar_place(spec, std::vector<Token>{0, 6, 1});
  EXPECT_TRUE(place.is_on);
  EXPECT_EQ(place.state, spec.grammar->next(0, 1));
  // State 0 refuses token 0: what came before the marker does not count.
  EXPECT_EQ(serial.grammar_place(spec, std::vector<Token>{6, 0}).state, std::nullopt);
  const reference::Row raw(kRunVocab, 0.0f);
  const reference::Row row =
      serial.adjusted_row(spec, raw, std::vector<Token>{2}, std::vector<Token>{6});
  EXPECT_TRUE(std::isinf(row[0]));
  EXPECT_EQ(row[1], 0.0f);
}

TEST(SerialDecoder, ChainsQuantisedCellsByWhatTheCacheReadsBack) {
  kv::CacheConfig config;
  config.is_quantised = true;
  const kv::PagedCache cache(config);
  const std::vector<kv::Cell> cells = serial_cells(cache, std::vector<Token>{3, 4});
  const std::uint64_t first = kv::history_behind(kv::kEmptyHistory, 3, 0) & 0xffff;
  EXPECT_EQ(cells[0].history, first);
  EXPECT_EQ(cells[1].history, kv::history_behind(first, 4, 1) & 0xffff);
}

struct Beside {
  explicit Beside(const decode::EngineConfig& config)
      : engine(
            config, decode::right_steps(),
            [](const kv::CacheConfig& cache, bool) { return std::make_unique<OpenCache>(cache); }),
        twin(std::make_shared<const decode::EngineConfig>(config)) {
    engine.observe([this](const VerificationRecord& record) { records.push_back(record); });
  }
  std::optional<Divergence> check(Boundary boundary = Boundary::kAfterEmit) {
    for (const VerificationRecord& record : records) twin.verified(record);
    records.clear();
    return twin.check(engine, boundary);
  }
  decode::Engine engine;
  Twin twin;
  std::vector<VerificationRecord> records;
};

TEST(Twin, FindsARejectedContinuationThatCanBeFoundAgain) {
  decode::EngineConfig config = plain_config();
  config.target_cache.page_size = 1;
  Beside beside(config);
  beside.engine.submit(thirty_tokens());
  int planted = 0;
  while (beside.engine.step()) {
    Twin asked = beside.twin;
    for (const VerificationRecord& record : beside.records) asked.verified(record);
    if (!beside.records.empty()) {
      const VerificationRecord& record = beside.records.back();
      const auto accepted = static_cast<std::size_t>(record.outcome.accepted_count);
      if (accepted < record.draft.proposal.tokens.size()) {
        std::vector<Token> tokens = record.context;
        tokens.insert(
            tokens.end(), record.draft.proposal.tokens.begin(),
            record.draft.proposal.tokens.begin() + static_cast<std::ptrdiff_t>(accepted) + 1);
        decode::Engine wrong(beside.engine);
        kv::PagedCache& cache = *const_cast<decode::EngineState&>(wrong.state()).target_cache;
        const kv::SequenceId sequence = cache.open();
        ASSERT_TRUE(cache.reserve(sequence, static_cast<int>(tokens.size())));
        const std::vector<kv::Cell> cells = serial_cells(cache, tokens);
        std::vector<int> kept;
        for (std::size_t slot = 0; slot < cells.size(); ++slot) {
          kept.push_back(static_cast<int>(slot));
          cache.write(sequence, kept.back(), cells[slot]);
        }
        cache.commit(sequence, kept);
        cache.publish_prefix(sequence, tokens);
        cache.release(sequence);
        const auto divergence = asked.check(wrong, Boundary::kAfterEmit);
        ASSERT_TRUE(divergence) << words(tokens);
        EXPECT_EQ(divergence->check, StateCheck::kPrefix) << to_string(*divergence);
        ++planted;
      }
    }
    const auto divergence = beside.check();
    ASSERT_FALSE(divergence) << to_string(*divergence);
  }
  EXPECT_GE(planted, 3);
}

TEST(Twin, FindsAnIterationThatComesTwice) {
  Beside beside(plain_config());
  beside.engine.submit(thirty_tokens());
  beside.engine.step();
  ASSERT_FALSE(beside.check());
  beside.engine.step();
  ASSERT_EQ(beside.records.size(), 1u);
  beside.records.front().judged.iteration = 0;
  const auto divergence = beside.check();
  ASSERT_TRUE(divergence);
  EXPECT_EQ(divergence->check, StateCheck::kCoins);
  EXPECT_THAT(to_string(*divergence), HasSubstr("0 once more"));
}

TEST(Twin, FindsRecordsThatAreNoTreesWithoutWalkingThem) {
  using Found = std::pair<StateCheck, std::string>;
  const auto observed = [](const std::function<void(VerificationRecord&)>& damage) -> Found {
    Beside beside(plain_config());
    beside.engine.submit(thirty_tokens());
    beside.engine.step();
    EXPECT_FALSE(beside.check());
    beside.engine.step();
    EXPECT_EQ(beside.records.size(), 1u);
    EXPECT_GT(beside.records.front().draft.proposal.tokens.size(), 1u);
    damage(beside.records.front());
    const auto divergence = beside.check();
    EXPECT_TRUE(divergence);
    return divergence ? Found{divergence->check, divergence->observed} : Found{};
  };
  EXPECT_EQ(observed([](VerificationRecord& record) {
              record.draft.proposal.parents.assign(record.draft.proposal.tokens.size(), 1);
            }),
            (Found{StateCheck::kProposal, "node 0 behind 1"}));
  EXPECT_EQ(observed([](VerificationRecord& record) { record.judged.proposal.parents = {-1}; }),
            (Found{StateCheck::kProposal, "1 parents of 3"}));
  EXPECT_EQ(observed([](VerificationRecord& record) { record.draft.proposal.rows.resize(1); }),
            (Found{StateCheck::kProposal, "1 rows of 3"}));
  EXPECT_EQ(observed([](VerificationRecord& record) { record.outcome.accepted_count = 4; }),
            (Found{StateCheck::kDecision, "4 accepted of 3"}));
  EXPECT_EQ(observed([](VerificationRecord& record) {
              record.outcome.accepted_count = 1;
              record.outcome.emitted.resize(2);
              record.outcome.accepted_nodes = {7};
            }),
            (Found{StateCheck::kDecision, "node 7 accepted"}));
}

TEST(Twin, AnswersWhatItFoundFirstForEver) {
  Beside beside(plain_config());
  beside.engine.submit(thirty_tokens());
  beside.engine.step();
  beside.records.front().seed ^= 1;
  const auto first = beside.check();
  ASSERT_TRUE(first);
  beside.engine.step();
  EXPECT_EQ(beside.check(), first);
}

TEST(Twin, IsCopiedWithItsEngineAndGoesOnByItself) {
  Beside beside(plain_config());
  beside.engine.submit(thirty_tokens());
  beside.engine.step();
  ASSERT_FALSE(beside.check());
  decode::Engine copy(beside.engine);
  Twin twin = beside.twin;
  copy.observe([&](const VerificationRecord& record) { twin.verified(record); });
  for (int i = 0; i < 3; ++i) {
    copy.step();
    ASSERT_FALSE(twin.check(copy, Boundary::kAfterEmit));
  }
  EXPECT_GT(twin.replayed_count(), beside.twin.replayed_count());
  beside.engine.step();
  EXPECT_FALSE(beside.check());
}

TEST(Twin, SaysWhereWhatAndBehindWhichBoundary) {
  const Divergence divergence{StateCheck::kDraftCells, Boundary::kAfterFeed, 3, "a", "b"};
  EXPECT_EQ(to_string(divergence), "draft cells of request 3 after feed: expected a, observed b");
  EXPECT_EQ(to_string(Divergence{StateCheck::kPages, Boundary::kAfterEmit, 0, "a", "b"}),
            "pages after emit: expected a, observed b");
}

/// Steps of an engine under load, watched lightly; `spoil` may change the state behind each.
template <typename Spoil>
std::optional<Divergence> watched_lightly(std::uint64_t seed, std::int64_t& replayed, Spoil spoil) {
  Dice dice(seed);
  const decode::EngineConfig config = run_config(dice);
  decode::Engine engine(config);
  Twin twin(std::make_shared<const decode::EngineConfig>(config), 3);
  engine.observe([&](const VerificationRecord& record) { twin.verified(record); });
  for (int i = 0; i < 150; ++i) {
    if (dice.one_in(4)) engine.submit(run_request(dice, config));
    engine.step();
    spoil(const_cast<decode::EngineState&>(engine.state()));
    if (const auto divergence = twin.check_light(engine)) return divergence;
  }
  replayed += twin.replayed_count();
  return std::nullopt;
}

TEST(Twin, FindsNothingInARightEngineByALightLookEither) {
  std::int64_t replayed = 0;
  for (std::uint64_t seed = 500; seed < 560; ++seed) {
    const auto divergence = watched_lightly(seed, replayed, [](decode::EngineState&) {});
    EXPECT_FALSE(divergence) << "run " << seed << ": " << to_string(*divergence);
  }
  EXPECT_GT(replayed, 500);
}

TEST(Twin, SeesWrongOutputsCountersAndLeaksByALightLook) {
  const auto found = [](auto spoil) {
    std::int64_t replayed = 0;
    for (std::uint64_t seed = 500; seed < 510; ++seed)
      if (const auto divergence = watched_lightly(seed, replayed, spoil)) return divergence->check;
    return StateCheck::kRows;
  };
  const auto to_finished = [](auto what) {
    return [what](decode::EngineState& state) {
      for (auto& [id, host] : state.host)
        if (!host.output.empty()) return what(host);
    };
  };
  EXPECT_EQ(found(to_finished([](auto& host) {
              host.output.back().token = (host.output.back().token + 1) % kRunVocab;
            })),
            StateCheck::kOutput);
  EXPECT_EQ(found(to_finished([](auto& host) { ++host.metrics.accepted; })), StateCheck::kMetrics);
  EXPECT_EQ(found(to_finished([](auto& host) { ++host.in_flight; })), StateCheck::kLengths);
  EXPECT_EQ(found([](decode::EngineState& state) { state.target_cache->open(); }),
            StateCheck::kLeak);
}

/// What a light look and a whole one say behind light ones, once `spoil` has changed the state.
template <typename Spoil>
std::pair<std::optional<Divergence>, std::optional<Divergence>> said_of(Spoil spoil) {
  Beside beside(plain_config());
  beside.engine.observe([&](const VerificationRecord& record) { beside.twin.verified(record); });
  beside.engine.submit(thirty_tokens());
  for (int i = 0; i < 4; ++i) {
    beside.engine.step();
    EXPECT_FALSE(beside.twin.check_light(beside.engine));
  }
  spoil(const_cast<decode::EngineState&>(beside.engine.state()));
  Twin whole = beside.twin;
  return {beside.twin.check_light(beside.engine, Boundary::kAfterFeed),
          whole.check(beside.engine, Boundary::kAfterFeed)};
}

TEST(Twin, LooksByAWholeLookAtWhatLightOnesHaveCompared) {
  const auto [light, whole] = said_of([](decode::EngineState& state) {
    Token& token = state.device.begin()->second.tokens.front();
    token = (token + 1) % kRunVocab;
  });
  EXPECT_FALSE(light);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->check, StateCheck::kOutput) << to_string(*whole);
  const auto of_output = said_of([](decode::EngineState& state) {
    Token& token = state.host.begin()->second.output.front().token;
    token = (token + 1) % kRunVocab;
  });
  EXPECT_FALSE(of_output.first);
  ASSERT_TRUE(of_output.second);
  EXPECT_EQ(of_output.second->check, StateCheck::kOutput) << to_string(*of_output.second);
}

TEST(Twin, NamesTheBoundaryOfALightLookToo) {
  const auto [light, whole] =
      said_of([](decode::EngineState& state) { state.target_cache->open(); });
  ASSERT_TRUE(light);
  EXPECT_EQ(*light, *whole);
  EXPECT_EQ(light->boundary, Boundary::kAfterFeed);
}

}  // namespace
}  // namespace draftproof::properties::state
