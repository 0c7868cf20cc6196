// Laws of whole decodings, walked state by state, against the same runs as one program in which
// nothing is merged or forgotten; and what must hold of them whatever the rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/draft/model.h"
#include "reference/error.h"
#include "tests/reference/naive_decoding.h"
#include "tests/reference/tiny_families.h"

namespace draftproof::reference::law {
namespace {

Decoding decoding(int vocab_size, int draft_count, std::uint64_t seed, RuleFunction rule,
                  std::string_view scheme) {
  Decoding result =
      decoding_of(family_case(Family::kFullMemory, vocab_size, draft_count, seed), std::move(rule));
  result.coins = coin_scheme(scheme);
  return result;
}

template <class Law>
Exact sum_of(const Law& law) {
  Exact sum = 0;
  for (const auto& [key, probability] : law) sum += probability;
  return sum;
}

/// Drafts as its model does, from a row that depends on how much was accepted in the iterations so
/// far: memory that matters.
class CountingDrafter final : public draft::Drafter {
 public:
  explicit CountingDrafter(model::ToyModelPtr model) : model_(std::move(model)) {}
  Memory initial(const Context&) const override { return {0}; }
  DraftTree draft(const StepBegin& begin, Memory& own, Memory& shared,
                  Chooser& chooser) const override {
    shared = {shared.empty() ? 1 : (shared.front() + own.front() + 1) % 3};
    DraftTree tree;
    for (int node = 0; node < begin.draft_count; ++node) {
      const LawRow& row =
          model_->row({static_cast<Token>(own.front()), static_cast<Token>(shared.front() % 2)});
      append(tree, chooser.draw(row, {node, Purpose::kDraft}), row);
    }
    return tree;
  }
  void commit(const StepEnd& end, Memory& own, Memory&) const override {
    own = {(own.front() + static_cast<int>(end.decision.accepted.size())) % 2};
  }

 private:
  model::ToyModelPtr model_;
};

/// Rows of a context from which the first token of the last iteration is missing: a stale cache.
class StaleScorer final : public Scorer {
 public:
  explicit StaleScorer(model::ToyModelPtr target)
      : target_(std::move(target)), right_(model_scorer(target_)) {}
  Memory initial(const Context&) const override { return {-1}; }
  std::vector<LawRow> rows(const Context& context, const DraftTree& draft,
                           const Memory& memory) const override {
    Context stale = context;
    if (memory.front() >= 0) stale.erase(stale.begin() + memory.front());
    return right_->rows(stale, draft, memory);
  }
  void commit(const StepEnd& end, Memory& memory) const override {
    memory = {static_cast<std::int64_t>(end.before.size())};
  }

 private:
  model::ToyModelPtr target_;
  std::shared_ptr<const Scorer> right_;
};

std::vector<RuleFunction> two_rules() { return {chain_rule(), longest_passing}; }

TEST(SequenceLaw, IsThatOfTheWholeRunUnmergedUnderEveryCoinScheme) {
  int lossy = 0;
  for (const CoinScheme& scheme : coin_schemes()) {
    for (const RuleFunction& rule : two_rules()) {
      const Decoding tiny = decoding(2, 2, 5, rule, scheme.name);
      const BatchLaw law = batch_law({tiny}, 3);
      ASSERT_EQ(law, naive_batch_law({tiny}, 3)) << scheme.name;
      ASSERT_EQ(sum_of(law), 1) << scheme.name;
      lossy += sequence_distance(tiny, 3) != 0 ? 1 : 0;
    }
  }
  EXPECT_GE(lossy, static_cast<int>(coin_schemes().size())) << "one of the two rules is lossy";
}

/// Rows whose every cut is a quarter: any draft from (1/2, 1/2), targets of quarters.
Decoding quarters(RuleFunction rule, std::string_view scheme, int draft_count) {
  const auto target = model::function_model(2, [](const Context& context) {
    const int ones = static_cast<int>(std::ranges::count(context, 1));
    const Exact first((context.size() + 2 * static_cast<std::size_t>(ones)) % 3 + 1, 4);
    return LawRow{first, 1 - first};
  });
  const auto draft = model::position_model({distribution_from_text("1/2,1/2")});
  Decoding result = decoding_of(chain_case(target, draft, draft_count), std::move(rule));
  result.coins = coin_scheme(scheme);
  return result;
}

TEST(SequenceLaw, IsThatOfCoinsOnAGridWhereEveryCutIsOnIt) {
  for (const CoinScheme& scheme : coin_schemes()) {
    const Decoding chain = quarters(chain_rule(), scheme.name, 1);
    ASSERT_EQ(batch_law({chain}, 2), naive_batch_law({chain}, 2, 4)) << scheme.name;
  }
  for (const char* scheme : {"position-keyed", "one-coin"}) {
    const Decoding longest = quarters(longest_passing, scheme, 2);
    ASSERT_EQ(batch_law({longest}, 2), naive_batch_law({longest}, 2, 4)) << scheme;
  }
}

TEST(SequenceLaw, IsThatOfTheWholeRunWhereDrafterAndScorerRemember) {
  for (const char* scheme : {"fresh", "position-keyed"}) {
    Decoding tiny = decoding(2, 2, 9, longest_passing, scheme);
    tiny.drafter = std::make_shared<CountingDrafter>(model::full_memory_model({2, 40, false}));
    tiny.scorer = std::make_shared<StaleScorer>(tiny.target);
    EXPECT_EQ(batch_law({tiny}, 3), naive_batch_law({tiny}, 3)) << scheme;
    EXPECT_NE(sequence_distance(tiny, 3), 0);
  }
}

TEST(SequenceLaw, OfAStaleScorerIsWrongFromTheSecondIterationOn) {
  Decoding tiny = decoding(3, 1, 2, chain_rule(), "fresh");
  tiny.scorer = std::make_shared<StaleScorer>(tiny.target);
  EXPECT_EQ(sequence_distance(tiny, 1), 0) << "one token is of the first iteration";
  EXPECT_GT(sequence_distance(tiny, 2), 0);
}

TEST(SequenceLaw, OfADrafterThatRemembersIsTheTargetsAndOnlyItsLengthsChange) {
  Decoding tiny = decoding(3, 2, 2, chain_rule(), "fresh");
  const auto plain = expected_by_iteration(tiny, 2);
  tiny.drafter = std::make_shared<CountingDrafter>(tiny.target);
  EXPECT_EQ(sequence_distance(tiny, 3), 0);
  EXPECT_NE(expected_by_iteration(tiny, 2), plain);
}

TEST(SequenceLaw, OfAShorterHorizonIsTheMarginalOfALongerOne) {
  for (const char* scheme : {"fresh", "position-keyed", "offset-keyed"}) {
    const Decoding tiny = decoding(2, 2, 3, longest_passing, scheme);
    const SequenceLaw longer = sequence_law(tiny, 4);
    for (int horizon : {0, 1, 2, 3}) {
      SequenceLaw cut;
      for (const auto& [sequence, probability] : longer)
        cut[{sequence.begin(), sequence.begin() + horizon}] += probability;
      ASSERT_EQ(sequence_law(tiny, horizon), cut) << scheme << " " << horizon;
    }
  }
}

TEST(HistoryLaw, HasTheSequenceLawAsItsMarginalAndTheNaiveCounts) {
  for (const char* scheme : {"fresh", "position-keyed"}) {
    const Decoding tiny = decoding(2, 2, 4, longest_passing, scheme);
    const HistoryLaw law = history_law(tiny, 2);
    EXPECT_EQ(sum_of(law), 1);
    SequenceLaw tokens;
    std::map<std::vector<int>, Exact> counts;
    for (const auto& [history, probability] : law) {
      ASSERT_EQ(history.emitted_counts.size(), 2u);
      tokens[{history.tokens.begin(), history.tokens.begin() + 2}] += probability;
      counts[history.emitted_counts] += probability;
    }
    EXPECT_EQ(tokens, sequence_law(tiny, 2)) << "two iterations emit two tokens at least";

    CoinPlace place;
    std::map<std::vector<int>, Exact> naive;
    std::vector<NaiveRequest> requests;
    const AddressOf address_of = [&](const CoinUse& use) { return tiny.coins.address(use, place); };
    for_each_branch(
        {}, address_of,
        [&](Chooser& chooser) { requests = run_naively({tiny}, 1000, chooser, place, 2); },
        [&](const Exact& probability, const RevealedCoins&) {
          naive[requests.front().counts] += probability;
        });
    EXPECT_EQ(counts, naive) << scheme;
  }
}

TEST(ExpectedByIteration, IsTheMeanOfTheHistoryLaw) {
  Decoding tiny = decoding(2, 2, 4, longest_passing, "position-keyed");
  tiny.limits.eos = 1;
  const auto expected = expected_by_iteration(tiny, 3);
  ASSERT_EQ(expected.size(), 3u);
  for (std::size_t k = 0; k < expected.size(); ++k) {
    Exact took_place = 0;
    Exact emitted = 0;
    for (const auto& [history, probability] : history_law(tiny, 3)) {
      if (history.emitted_counts.size() <= k) continue;
      took_place += probability;
      emitted += probability * history.emitted_counts[k];
    }
    EXPECT_EQ(expected[k], Exact(emitted / took_place)) << k;
  }
  EXPECT_EQ(expected[0], expected_emitted(emission_law(tiny)));
}

TEST(ExpectedByIteration, IsAbsentForAnIterationThatNeverTakesPlace) {
  Decoding tiny = decoding(2, 1, 4, chain_rule(), "fresh");
  tiny.limits.token_count_max = 1;
  const auto expected = expected_by_iteration(tiny, 2);
  EXPECT_EQ(expected[0], Exact(1)) << "no draft where one token is left";
  EXPECT_EQ(expected[1], std::nullopt);
}

}  // namespace
}  // namespace draftproof::reference::law
