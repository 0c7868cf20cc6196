// The ledger of coins, on the verifiers of the reference over random decodings: silent where each
// coin decides once, loud where one decides again. What it takes for granted, that nothing behind
// influence_end influences, is tested by moving those coins.
#include "reference/decode/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "reference/error.h"
#include "reference/proposal.h"
#include "reference/verify/verifiers.h"

namespace draftproof::reference::decode {
namespace {

constexpr int kVocab = 4;

// Trees for the rules that take them, chains for all; siblings distinct, drafts one-hot.
Proposal random_draft(std::mt19937& random, bool is_tree) {
  Proposal proposal;
  const int count = static_cast<int>(random() % 5);
  std::set<std::pair<int, Token>> siblings;
  for (int i = 0; i < count; ++i) {
    const int parent = is_tree ? static_cast<int>(random() % (i + 1)) - 1 : i - 1;
    const auto token = static_cast<Token>(random() % kVocab);
    if (!siblings.insert({parent, token}).second) break;
    proposal.tokens.push_back(token);
    proposal.parents.push_back(parent);
  }
  return proposal;
}

Row random_row(std::mt19937& random) {
  Row row(kVocab);
  for (float& logit : row) logit = static_cast<float>(random() % 4) / 2;
  return row;
}

Batch random_batch(std::mt19937& random, bool is_tree, std::uint32_t id, std::uint32_t position,
                   std::uint32_t iteration) {
  Batch batch;
  batch.vocab_size = kVocab;
  batch.preset = preset("default");
  batch.draft_kind = RowKind::kOneHot;
  Request request;
  request.id = id;
  request.position = position;
  request.iteration = iteration;
  request.proposal = random_draft(random, is_tree);
  for (std::size_t i = 0; i <= request.proposal.tokens.size(); ++i)
    request.target_rows.push_back(random_row(random));
  batch.requests.push_back(request);
  return batch;
}

using Readdressed = CoinAddress (*)(CoinAddress, std::uint32_t base);

// A faulty engine's addresses, recorded as it reads them.
class OtherAddresses final : public Coins {
 public:
  OtherAddresses(const Coins& coins, Readdressed readdressed, std::uint32_t base)
      : coins_(coins), readdressed_(readdressed), base_(base) {}
  std::uint64_t coin(const CoinAddress& address) const override {
    return coins_.coin(readdressed_(address, base_));
  }

 private:
  const Coins& coins_;
  Readdressed readdressed_;
  std::uint32_t base_;
};

struct Course {
  std::string rule;
  std::uint32_t seed = 1;
  Readdressed readdressed = [](CoinAddress address, std::uint32_t) { return address; };
  bool forgets = true;
  Fate thrown_away = Fate::kDiscardedBlindly;
};

// Three requests in turn, 200 steps: drafts of 0 to 4 tokens, some steps thrown away and done
// again, some cut as by a stop.
Ledger ledger_of(const Course& course) {
  const auto verifier = verify::make_verifier(course.rule);
  const PhiloxCoins coins(course.seed);
  std::mt19937 random(course.seed);
  Ledger ledger;
  std::vector<std::uint32_t> position = {0, 5, 1000}, iteration = {0, 0, 0};
  for (std::uint64_t step = 0; step < 200; ++step) {
    const std::uint32_t id = step % 3;
    ledger.begin_step(step);
    RecordingCoins record(coins);
    const OtherAddresses own(record, course.readdressed, position[id]);
    Batch batch =
        random_batch(random, verifier->traits().takes_trees, id, position[id], iteration[id]);
    const std::size_t emitted = verifier->verify(batch, own, {}).requests[0].emitted.size();
    for (const CoinAddress& address : record.reads()) ledger.read(address);
    if (random() % 4 == 0) {
      ledger.settle(step, id, course.thrown_away,
                    influence_end(course.rule, position[id], emitted));
      continue;
    }
    const std::size_t kept = random() % 3 == 0 ? 1 + random() % emitted : emitted;
    ledger.settle(step, id, Fate::kKept, influence_end(course.rule, position[id], kept));
    position[id] += static_cast<std::uint32_t>(kept);
    ++iteration[id];
    if (course.forgets) ledger.forget(id, position[id]);
  }
  return ledger;
}

const std::vector<std::string> kWithCoins = {
    "chain",     "block", "target-only", "with-replacement", "without-replacement",
    "traversal", "match"};

TEST(Ledger, IsSilentOnEveryRuleOfTheReference) {
  for (const std::string& rule : verify::rules())
    for (std::uint32_t seed = 1; seed <= 20; ++seed)
      for (bool forgets : {false, true}) {
        const Ledger ledger = ledger_of({.rule = rule, .seed = seed, .forgets = forgets});
        EXPECT_FALSE(ledger.fault().has_value()) << rule << ": " << ledger.fault()->why;
        EXPECT_EQ(ledger.open_count(), 0u);
        EXPECT_EQ(ledger.read_count() > 0, !rule.ends_with("greedy")) << rule;
      }
}

TEST(Ledger, SeesACoinThatDecidesAcceptanceAndRecoveryInOneStep) {
  const Ledger ledger =
      ledger_of({.rule = "chain", .readdressed = [](CoinAddress address, std::uint32_t) {
                   if (address.purpose == Purpose::kRecovered) address.purpose = Purpose::kAccept;
                   return address;
                 }});
  ASSERT_TRUE(ledger.fault().has_value());
  EXPECT_EQ(ledger.fault()->first_step, ledger.fault()->second_step);
  EXPECT_THAT(ledger.fault()->why, testing::HasSubstr("read twice in one step"));
}

TEST(Ledger, SeesCoinsThatAreKeyedByTheOffsetInTheStep) {
  for (const std::string& rule : kWithCoins) {
    const Ledger ledger = ledger_of({.rule = rule,
                                     .readdressed =
                                         [](CoinAddress address, std::uint32_t base) {
                                           address.position -= base;
                                           address.iteration = 0;
                                           return address;
                                         },
                                     .forgets = false});
    ASSERT_TRUE(ledger.fault().has_value()) << rule;
    EXPECT_LT(ledger.fault()->first_step, ledger.fault()->second_step) << rule;
  }
}

// Theorem C: a rule that looks ahead may not read its coins again in the next iteration.
TEST(Ledger, SeesARuleThatLooksAheadWithCoinsKeyedByPositionAlone) {
  const Readdressed by_position = [](CoinAddress address, std::uint32_t) {
    address.iteration = 0;
    return address;
  };
  for (const std::string& rule : kWithCoins) {
    bool is_seen = false;
    for (std::uint32_t seed = 1; seed <= 5; ++seed)
      is_seen |=
          ledger_of({.rule = rule, .seed = seed, .readdressed = by_position}).fault().has_value();
    EXPECT_EQ(is_seen, looks_ahead(rule)) << rule;
  }
}

TEST(Ledger, CountsWorkThatIsThrownAwayForItsOutcomeAsDecided) {
  for (const std::string& rule : kWithCoins) {
    const Ledger ledger = ledger_of({.rule = rule, .thrown_away = Fate::kDiscardedByOutcome});
    ASSERT_TRUE(ledger.fault().has_value()) << rule;
    EXPECT_THAT(ledger.fault()->why, testing::HasSubstr("read again after it had influenced"));
  }
}

// The same as above over one request, as one can follow it.
TEST(Ledger, LetsDiscardedWorkConsumeNothing) {
  const CoinAddress coin{7, 3, Purpose::kAccept};
  for (const auto& [fate, is_fault] :
       {std::pair(Fate::kDiscardedBlindly, false), std::pair(Fate::kDiscardedByOutcome, true),
        std::pair(Fate::kKept, true)}) {
    Ledger ledger;
    ledger.begin_step(1);
    ledger.read(coin);
    ledger.settle(1, 7, fate);
    ledger.begin_step(4);
    ledger.read(coin);
    EXPECT_EQ(ledger.fault().has_value(), is_fault);
    if (!is_fault) continue;
    EXPECT_EQ(ledger.fault()->address, coin);
    EXPECT_EQ(ledger.fault()->why,
              "the coin of request 7, position 3, accept, slot 0, iteration 0 is read again after "
              "it had influenced: step 1, then step 4");
  }
}

TEST(Ledger, AllowsReadingBehindTheKeptTokensAgainAndNotAmongThem) {
  for (std::uint32_t position : {4u, 5u}) {
    Ledger ledger;
    ledger.begin_step(1);
    for (std::uint32_t at = 3; at <= 6; ++at) ledger.read({0, at, Purpose::kDraft});
    ledger.settle(1, 0, Fate::kKept, influence_end("chain", 3, 2));
    ledger.begin_step(2);
    ledger.read({0, position, Purpose::kDraft});
    EXPECT_EQ(ledger.fault().has_value(), position == 4) << position;
  }
}

TEST(Ledger, JudgesUnitsThatAreOpenTogetherWhenTheySettle) {
  for (Fate late : {Fate::kKept, Fate::kDiscardedBlindly}) {
    Ledger ledger;
    for (std::uint64_t step : {1, 2}) {
      ledger.begin_step(step);
      ledger.read({0, 3, Purpose::kBonus});
    }
    EXPECT_EQ(ledger.open_count(), 2u);
    ledger.settle(1, 0, Fate::kKept);
    EXPECT_FALSE(ledger.fault().has_value());
    ledger.settle(2, 0, late);
    EXPECT_EQ(ledger.fault().has_value(), late == Fate::kKept);
  }
}

TEST(Ledger, CallsEveryReadBehindItsFloorAFaultAndKeepsTheFirstFault) {
  Ledger ledger;
  ledger.begin_step(9);
  ledger.forget(2, 100);
  ledger.forget(2, 50);  // a floor never falls
  ledger.read({2, 100, Purpose::kAccept});
  ledger.read({1, 5, Purpose::kAccept});
  EXPECT_FALSE(ledger.fault().has_value());
  ledger.read({2, 99, Purpose::kRecovered});
  ASSERT_TRUE(ledger.fault().has_value());
  ledger.read({2, 3, Purpose::kRecovered});
  EXPECT_EQ(ledger.fault()->address.position, 99u);
  EXPECT_THAT(ledger.fault()->why, testing::HasSubstr("behind tokens that stand"));
}

TEST(Ledger, KeepsNoMoreThanTheWindowThatIsNotForgotten) {
  Ledger ledger;
  for (std::uint32_t position = 0; position < 100000; ++position) {
    ledger.begin_step(position);
    ledger.read({0, position, Purpose::kAccept});
    ledger.settle(position, 0, Fate::kKept, position + 1);
    if (position >= 64) ledger.forget(0, position - 63);
  }
  EXPECT_FALSE(ledger.fault().has_value());
  EXPECT_EQ(ledger.remembered_count(), 64u);
  EXPECT_EQ(ledger.read_count(), 100000u);
  ledger.end_request(0);
  EXPECT_EQ(ledger.remembered_count(), 0u);
}

// Coins that answer otherwise from one position on.
class MovedFrom final : public Coins {
 public:
  MovedFrom(std::uint64_t seed, std::uint32_t position) : coins_(seed), position_(position) {}
  std::uint64_t coin(const CoinAddress& address) const override {
    const std::uint64_t coin = coins_.coin(address);
    return address.position < position_ ? coin : coin * 0x9e3779b97f4a7c15 + 1;
  }

 private:
  PhiloxCoins coins_;
  std::uint32_t position_;
};

// Trials in which the first `kept` tokens are not what they were when the coins from the position
// behind them on are moved.
int moved_count(const std::string& rule) {
  const auto verifier = verify::make_verifier(rule);
  std::mt19937 random(3);
  int moved = 0;
  for (std::uint64_t trial = 0; trial < 2000; ++trial) {
    Batch batch = random_batch(random, verifier->traits().takes_trees, 0, 10, 0);
    const auto before = verifier->verify(batch, PhiloxCoins(trial), {}).requests[0].emitted;
    const std::size_t kept = 1 + random() % before.size();
    const MovedFrom coins(trial, static_cast<std::uint32_t>(10 + kept));
    const auto after = verifier->verify(batch, coins, {}).requests[0].emitted;
    for (std::size_t i = 0; i < kept; ++i)
      if (i >= after.size() || after[i].token != before[i].token) {
        ++moved;
        break;
      }
  }
  return moved;
}

TEST(Ledger, IsRightThatNothingBehindTheKeptTokensInfluencesAWalk) {
  for (const std::string& rule : kWithCoins)
    if (!looks_ahead(rule)) {
      EXPECT_EQ(moved_count(rule), 0) << rule;
    }
}

TEST(Ledger, IsRightThatCoinsBehindInfluenceRulesThatLookAhead) {
  for (const std::string& rule : kWithCoins)
    if (looks_ahead(rule)) {
      EXPECT_GT(moved_count(rule), 0) << rule;
    }
}

}  // namespace
}  // namespace draftproof::reference::decode
