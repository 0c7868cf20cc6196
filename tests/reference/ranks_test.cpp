// Ranks of one engine: what moves by an ulp, when ranks may decide alone, and how far apart they
// come once they have parted.
#include "reference/decode/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "reference/error.h"
#include "reference/verify/verifiers.h"

namespace draftproof::reference::decode {
namespace {

RankSetup setup_of(std::string rule, std::size_t rank_count = 2) {
  RankSetup setup;
  setup.rule = std::move(rule);
  setup.rank_count = rank_count;
  setup.vocab_size = 6;
  setup.target = coarse_rows(6, 1, 3);
  setup.draft = coarse_rows(6, 2, 3);
  return setup;
}

ReplayRequest request_of(std::optional<std::uint64_t> seed, int tokens, std::vector<int> lengths) {
  ReplayRequest request;
  request.seed = seed;
  request.token_count = tokens;
  request.draft_lengths = std::move(lengths);
  request.prompt = {0, 1, 2, 0, 3, 0};
  return request;
}

// Ragged drafts, seeds and none, a preemption, a stop inside a draft.
ReplayRun three_requests(int tokens) {
  ReplayRun run{{request_of({}, tokens, {3, 0, 2}), request_of(7, tokens, {}),
                 request_of(8, tokens + 3, {4, 1})},
                false,
                5};
  run.requests[0].preempted_steps = {0, 2};
  run.requests[2].stops = {3, 5};
  return run;
}

// Every rank for itself: what the agreements prevent.
class Alone : public Ranks {
 public:
  using Ranks::Ranks;

 protected:
  Proposal agreed_draft(std::size_t, const Proposal& own, const Proposal&) override { return own; }
  RankCommit commit(std::size_t, const RankWork& own, const RankWork&, const Coins&) override {
    return committed_outcome(own);
  }
};

int ulps_between(float a, float b) {
  return std::abs(std::bit_cast<std::int32_t>(a) - std::bit_cast<std::int32_t>(b));
}

TEST(RankRows, MoveByAtMostOneUlpAndEachWay) {
  const Row row(300, 1.5f);
  std::set<float> values;
  for (std::size_t rank : {1, 2})
    for (float logit : nudged(row, 9, rank, 4)) {
      EXPECT_LE(ulps_between(logit, 1.5f), 1);
      values.insert(logit);
    }
  EXPECT_EQ(values.size(), 3u);
  EXPECT_EQ(nudged(row, 9, 1, 4), nudged(row, 9, 1, 4));
  EXPECT_NE(nudged(row, 9, 1, 4), nudged(row, 9, 2, 4));
  EXPECT_NE(nudged(row, 9, 1, 4), nudged(row, 9, 1, 5));
  EXPECT_NE(nudged(row, 9, 1, 4), nudged(row, 8, 1, 4));
  EXPECT_EQ(nudged(row, 9, 0, 4), row);
}

TEST(RankRows, KeepWhatIsNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float most = std::numeric_limits<float>::max();
  const Row row = {-infinity, infinity, std::nanf(""), most, -most, 0};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Row moved = nudged(row, seed, 1, 0);
    EXPECT_EQ(moved[0], -infinity);
    EXPECT_EQ(moved[1], infinity);
    EXPECT_TRUE(std::isnan(moved[2]));
    EXPECT_TRUE(std::isfinite(moved[3]) && std::isfinite(moved[4]));
    EXPECT_LE(std::abs(moved[5]), std::numeric_limits<float>::denorm_min());
  }
}

TEST(Ranks, CommitTheSameWhenRankZeroBroadcasts) {
  for (const std::string& rule : verify::rules()) {
    RankSetup setup = setup_of(rule, 3);
    setup.entropies = {1, 2, 3};
    setup.ulp_seed = 4;
    const RankRun run = Ranks(setup).decode(three_requests(30));
    EXPECT_FALSE(run.divergence.has_value()) << rule << "\n" << to_string(*run.divergence);
    EXPECT_FALSE(first_divergence(run.steps).has_value());
    EXPECT_EQ(run.streams[0], run.streams[1]);
    EXPECT_EQ(run.streams[0], run.streams[2]);
    EXPECT_EQ(run.streams[0][2].size(), 33u);
  }
}

TEST(Ranks, MayDecideAloneFromEqualInputs) {
  for (const std::string& rule : verify::rules()) {
    RankSetup setup = setup_of(rule, 3);
    const RankRun broadcast = Ranks(setup).decode(three_requests(30));
    setup.agreement = Agreement::kProvablyIdentical;
    const RankRun run = Ranks(setup).decode(three_requests(30));
    EXPECT_FALSE(run.refusal.has_value()) << rule;
    EXPECT_FALSE(run.divergence.has_value()) << rule;
    EXPECT_EQ(run.streams, broadcast.streams);
  }
}

TEST(Ranks, RefuseToDecideAloneFromAnythingElse) {
  RankSetup setup = setup_of("chain");
  setup.agreement = Agreement::kProvablyIdentical;
  RankSetup rows = setup, coins = setup, drafts = setup, lookup = setup;
  rows.ulp_seed = 1;
  coins.entropies = {1, 2};
  drafts.entropies = {1, 2};
  lookup.draft = nullptr;
  lookup.lookup_ties_by_rank = true;
  const auto refusal = [](const RankSetup& of, std::vector<int> lengths) {
    const RankRun run = Ranks(of).decode({{request_of({}, 20, std::move(lengths))}, false, 1});
    EXPECT_FALSE(run.divergence.has_value());
    EXPECT_LT(run.streams[0][0].size(), 20u);
    return run.refusal.value().differs;
  };
  EXPECT_EQ(refusal(rows, {2}), RankSource::kRows);
  EXPECT_EQ(refusal(coins, {}), RankSource::kCoins);
  EXPECT_EQ(refusal(drafts, {4}), RankSource::kDrafter);
  EXPECT_EQ(refusal(lookup, {2}), RankSource::kDrafter);
  // A seeded request has the same coins on all ranks.
  EXPECT_FALSE(Ranks(coins).decode({{request_of(3, 20, {2})}, false, 1}).refusal.has_value());
}

// The coin 2^63 against a target of one half: kept on a rank whose logit is one ulp higher.
class HalfCoin final : public Generator {
 public:
  void begin_run(const ReplayRun&, std::uint64_t) override {}
  std::uint64_t coin(const CoinAddress&) override { return std::uint64_t{1} << 63; }
};

TEST(Ranks, PartByOneUlpAtOneCoin) {
  RankSetup setup = setup_of("chain");
  setup.vocab_size = 2;
  setup.target = [](std::span<const Token>) { return Row{1, 1}; };
  setup.draft = nullptr;
  setup.generator = [] { return std::make_unique<HalfCoin>(); };
  bool has_parted = false;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    setup.ulp_seed = seed;
    ReplayRequest request = request_of({}, 2, {1});
    request.prompt = {0, 0};  // looked up: token 0
    const RankRun run = Alone(setup).decode({{request}, false, 1});
    const Row moved = nudged({1, 1}, seed, 1, 2);
    EXPECT_EQ(moved[0] > moved[1], run.divergence.has_value() && run.divergence->step == 0);
    if (moved[0] <= moved[1]) continue;
    has_parted = true;
    EXPECT_EQ(run.divergence->lead->accepted_count, 0);
    EXPECT_EQ(run.divergence->other->accepted_count, 1);
    EXPECT_THAT(run.divergence->least_cause, testing::ElementsAre(RankSource::kRows));
    EXPECT_FALSE(Ranks(setup).decode({{request}, false, 1}).divergence.has_value());
  }
  EXPECT_TRUE(has_parted);
}

TEST(Ranks, ComeFurtherApartOnceTheyHaveParted) {
  RankSetup setup = setup_of("chain");
  setup.entropies = {1, 2};
  const RankRun run = Alone(setup).decode({{request_of({}, 30, {3})}, false, 1});
  ASSERT_TRUE(run.divergence.has_value());
  EXPECT_THAT(run.divergence->least_cause, testing::ElementsAre(RankSource::kCoins));
  EXPECT_NE(run.streams[0], run.streams[1]);
  // The ranks' histories have other lengths at the same step, which is what hangs a collective.
  std::size_t tokens[2] = {0, 0}, apart = 0;
  for (const RankStep& step : run.steps) {
    for (int rank : {0, 1})
      if (step.commits[rank]) tokens[rank] += step.commits[rank]->tokens.size();
    apart += tokens[0] != tokens[1];
  }
  EXPECT_GT(apart, 0u);
}

TEST(Ranks, NameTwoCausesWhereOneIsNotEnough) {
  RankSetup setup = setup_of("greedy");
  setup.draft = nullptr;
  setup.target = [](std::span<const Token>) { return Row(6, 1.0f); };
  setup.lookup_ties_by_rank = true;
  std::set<std::size_t> sizes;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    setup.ulp_seed = seed;
    ReplayRequest request = request_of({}, 1, {1});
    request.prompt = {0, 1, 0, 2, 0};
    const RankRun run = Alone(setup).decode({{request}, false, 1});
    ASSERT_TRUE(run.divergence.has_value());  // the drafts differ always
    sizes.insert(run.divergence->least_cause.size());
  }
  EXPECT_THAT(sizes, testing::ElementsAre(1, 2));
}

TEST(RankRecord, HashesAcceptedCountAndTokens) {
  const RankCommit commit{{4}, 1, {4, 5}};
  EXPECT_EQ(committed_hash(commit), committed_hash({{9}, 1, {4, 5}}));
  EXPECT_NE(committed_hash(commit), committed_hash({{4}, 0, {4, 5}}));
  EXPECT_NE(committed_hash(commit), committed_hash({{4}, 1, {5, 4}}));
  EXPECT_NE(committed_hash(commit), committed_hash({{4}, 1, {4}}));
}

TEST(RankRecord, FindsTheFirstStepThatIsNotTheSame) {
  const RankCommit one{{4}, 1, {4, 5}}, two{{4}, 0, {5}}, drafted{{3}, 1, {4, 5}};
  EXPECT_FALSE(first_divergence({{0, 0, {one, one}}, {1, 0, {two, two}}}).has_value());
  EXPECT_FALSE(first_divergence({{0, 0, {{}, {}}}}).has_value());
  const auto found = first_divergence({{0, 0, {one, one, one}}, {1, 2, {one, one, two}}});
  EXPECT_EQ(found.value().step, 1u);
  EXPECT_EQ(found->request, 2u);
  EXPECT_EQ(found->rank, 2u);
  EXPECT_TRUE(first_divergence({{0, 0, {one, drafted}}}).has_value());
  EXPECT_TRUE(first_divergence({{0, 0, {one, {}}}}).has_value());
  EXPECT_THAT(to_string(*found),
              testing::AllOf(testing::HasSubstr("rank 0 drafted [4], accepted 1, committed [4, 5]"),
                             testing::HasSubstr("rank 2 drafted [4], accepted 0, committed [5]")));
}

TEST(Ranks, KeepACleanLedger) {
  for (const std::string& rule : verify::rules()) {
    Ledger ledger;
    RankSetup setup = setup_of(rule);
    setup.ledger = &ledger;
    Ranks(setup).decode(three_requests(60));
    EXPECT_FALSE(ledger.fault().has_value()) << rule << ": " << ledger.fault()->why;
    EXPECT_GT(ledger.read_count(), 60u) << rule;
    EXPECT_EQ(ledger.open_count(), 0u);
  }
}

// Drafts of the next step read coins that this step's drafts had read, and that influenced under a
// rule that looks ahead: without the iteration in the address the ledger says so.
class NoIteration final : public Ranks {
 public:
  using Ranks::Ranks;

 protected:
  Proposal draft(const Coins& coins, const RankSources& sources, const Request& place,
                 std::span<const Token> history, std::size_t length) override {
    Request first = place;
    first.iteration = 0;
    return Ranks::draft(coins, sources, first, history, length);
  }
};

TEST(Ranks, ShowTheLedgerDraftsThatAreKeyedByPositionUnderTheBlockRule) {
  for (const char* rule : {"chain", "block"}) {
    Ledger ledger;
    RankSetup setup = setup_of(rule);
    setup.ledger = &ledger;
    NoIteration(setup).decode({{request_of(1, 60, {4})}, false, 1});
    EXPECT_EQ(ledger.fault().has_value(), looks_ahead(rule)) << rule;
  }
}

TEST(Ranks, ServeEveryRequestItsTokensWhateverHappensToIt) {
  ReplayRun run = three_requests(25);
  const auto decode = replay_decoder(std::make_shared<Ranks>(setup_of("match", 1)));
  const std::vector<Stream> batch = decode(run);
  ASSERT_EQ(batch.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(batch[i].size(), static_cast<std::size_t>(run.requests[i].token_count));
  run.serial = true;
  EXPECT_EQ(decode(run), batch);
  run.entropy = 6;
  const std::vector<Stream> other = decode(run);
  EXPECT_NE(other[0], batch[0]);
  EXPECT_EQ(other[1], batch[1]);
}

TEST(Ranks, RefuseSetupsThatMeanNothing) {
  EXPECT_THROW(Ranks(setup_of("none")), Error);
  RankSetup setup = setup_of("chain");
  setup.entropies = {1};
  EXPECT_THROW(Ranks{setup}, BrokenInvariant);
  setup = setup_of("chain");
  setup.target = nullptr;
  EXPECT_THROW(Ranks{setup}, BrokenInvariant);
}

}  // namespace
}  // namespace draftproof::reference::decode
