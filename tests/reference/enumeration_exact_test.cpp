// The enumerator of coins, held against coins on a grid: where every cut is a multiple of the
// grid's step, replacing a uniform coin by a uniform grid point changes nothing. Coins are asked
// about again and again, in any order and under any condition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "reference/error.h"
#include "tests/reference/naive_decoding.h"

namespace draftproof::reference::law {
namespace {

using Answers = std::vector<int>;
using AnswerLaw = std::map<Answers, Exact>;
using Program = std::function<Answers(Chooser&)>;

CoinAddress by_slot(const CoinUse& use) {
  return {0, 0, use.purpose, static_cast<std::uint32_t>(use.slot), 0};
}

AnswerLaw enumerated(const Program& program) {
  AnswerLaw law;
  Answers answers;
  for_each_branch(
      {}, by_slot, [&](Chooser& chooser) { answers = program(chooser); },
      [&](const Exact& probability, const RevealedCoins&) { law[answers] += probability; });
  return law;
}

AnswerLaw on_grid(const Program& program, int size) {
  AnswerLaw law;
  Answers answers;
  for_each_grid_point(
      size, by_slot, [&](Chooser& chooser) { answers = program(chooser); },
      [&](const Exact& weight) { law[answers] += weight; });
  return law;
}

Exact sum_of(const AnswerLaw& law) {
  Exact sum = 0;
  for (const auto& [answers, probability] : law) sum += probability;
  return sum;
}

/// Five questions about three coins; which ones depends on the answers so far.
Program random_program(std::uint32_t seed, int size) {
  return [seed, size](Chooser& chooser) {
    Answers answers;
    for (int question = 0; question < 5; ++question) {
      std::uint32_t mixed = seed;
      for (int answer : answers) mixed = mixed * 31 + static_cast<std::uint32_t>(answer) + 7;
      std::mt19937 random(mixed);
      const CoinUse use{0, Purpose::kAccept, static_cast<int>(random() % 3)};
      if (random() % 2 == 0) {
        const Exact probability(random() % (size + 1), size);
        answers.push_back(chooser.accept(probability, use) ? 1 : 0);
      } else {
        const int first = static_cast<int>(random() % (size + 1));
        const int second = static_cast<int>(random() % (size + 1 - first));
        answers.push_back(chooser.draw(
            {Exact(first, size), Exact(second, size), Exact(size - first - second, size)}, use));
      }
    }
    return answers;
  };
}

TEST(Enumeration, IsTheLawOfCoinsOnAGridWhereEveryCutIsOnIt) {
  constexpr int kSize = 8;
  std::size_t paths = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const Program program = random_program(seed, kSize);
    const AnswerLaw law = enumerated(program);
    ASSERT_EQ(law, on_grid(program, kSize)) << "seed " << seed;
    ASSERT_EQ(sum_of(law), 1);
    paths += law.size();
  }
  EXPECT_GT(paths, 300u) << "the programs hardly branch";
}

TEST(Enumeration, DiffersFromAGridThatIsTooCoarse) {
  const Program program = [](Chooser& chooser) {
    return Answers{chooser.accept(Exact(1, 8), {}) ? 1 : 0};
  };
  EXPECT_EQ(enumerated(program), on_grid(program, 8));
  EXPECT_NE(enumerated(program), on_grid(program, 4));
}

// One coin, asked three times: below 1/2; given that, its third of a three-token row; then below
// 1/4. By hand: [0, 1/4) 1/4 yes yes; [1/4, 1/3) 1/12; [1/3, 1/2) 1/6; [1/2, 2/3) 1/6; rest 1/3.
TEST(Enumeration, NarrowsACoinQuestionByQuestion) {
  const Program program = [](Chooser& chooser) {
    const bool is_below_half = chooser.accept(Exact(1, 2), {});
    const Token token = chooser.draw({Exact(1, 3), Exact(1, 3), Exact(1, 3)}, {});
    const bool is_below_quarter = chooser.accept(Exact(1, 4), {});
    return Answers{is_below_half, token, is_below_quarter};
  };
  EXPECT_EQ(enumerated(program), (AnswerLaw{{{1, 0, 1}, Exact(1, 4)},
                                            {{1, 0, 0}, Exact(1, 12)},
                                            {{1, 1, 0}, Exact(1, 6)},
                                            {{0, 1, 0}, Exact(1, 6)},
                                            {{0, 2, 0}, Exact(1, 3)}}));
}

TEST(Enumeration, TellsWhatIsKnownOfCoinsAfterwardsAndGoesOnFromThere) {
  const RevealedCoins before = {{CoinAddress{}, {Exact(1, 4), Exact(3, 4)}}};
  std::vector<std::pair<Exact, Interval>> seen;
  for_each_branch(
      before, [](const CoinUse&) { return CoinAddress{}; },
      [](Chooser& chooser) { chooser.accept(Exact(1, 3), {}); },
      [&](const Exact& probability, const RevealedCoins& after) {
        ASSERT_EQ(after.size(), 1u);
        seen.emplace_back(probability, after.begin()->second);
      });
  // [1/4, 1/3) is a sixth of [1/4, 3/4).
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0], std::pair(Exact(1, 6), Interval{Exact(1, 4), Exact(1, 3)}));
  EXPECT_EQ(seen[1], std::pair(Exact(5, 6), Interval{Exact(1, 3), Exact(3, 4)}));
}

TEST(Enumeration, ForgetsOnTheNextBranchWhatOnlyTheLastOneTold) {
  std::vector<std::size_t> known;
  for_each_branch(
      {}, by_slot,
      [](Chooser& chooser) {
        if (chooser.accept(Exact(1, 2), {0, Purpose::kAccept, 0}))
          chooser.accept(Exact(1, 2), {0, Purpose::kAccept, 1});
      },
      [&](const Exact&, const RevealedCoins& after) { known.push_back(after.size()); });
  EXPECT_EQ(known, (std::vector<std::size_t>{2, 2, 1}));
}

TEST(Enumeration, GivesNoBranchToImpossibleAnswers) {
  const Program program = [](Chooser& chooser) {
    const bool never = chooser.accept(0, {0, Purpose::kAccept, 0});
    const bool always = chooser.accept(1, {0, Purpose::kAccept, 1});
    const Token token = chooser.draw({0, Exact(1, 2), 0, Exact(1, 2), 0}, {});
    return Answers{never, always, token};
  };
  EXPECT_EQ(enumerated(program), (AnswerLaw{{{0, 1, 1}, Exact(1, 2)}, {{0, 1, 3}, Exact(1, 2)}}));
}

TEST(Enumeration, OfAProgramThatAsksNothingIsOneBranch) {
  EXPECT_EQ(enumerated([](Chooser&) { return Answers{5}; }), (AnswerLaw{{{5}, 1}}));
}

TEST(Enumeration, RefusesRowsAndProbabilitiesThatAreNone) {
  const auto asks = [](const Program& program) { return [program] { enumerated(program); }; };
  const std::vector<Program> wrong = {
      [](Chooser& chooser) { return Answers{chooser.accept(Exact(9, 8), {})}; },
      [](Chooser& chooser) { return Answers{chooser.accept(Exact(-1, 8), {})}; },
      [](Chooser& chooser) {
        return Answers{chooser.draw({Exact(1, 2), Exact(1, 4)}, {})};
      },
      [](Chooser& chooser) {
        return Answers{chooser.draw({Exact(3, 2), Exact(-1, 2)}, {})};
      }};
  for (const Program& program : wrong) EXPECT_THROW(asks(program)(), BrokenInvariant);
}

TEST(Enumeration, RefusesAProgramThatChangesWithItsRuns) {
  int run = 0;
  const std::vector<Program> fickle = {
      [&](Chooser& chooser) { return Answers{chooser.accept(Exact(1, 2 + ++run % 2), {})}; },
      [&](Chooser& chooser) {
        return Answers{chooser.accept(Exact(1, 2), {0, Purpose::kAccept, ++run % 2})};
      },
      [&](Chooser& chooser) {
        const bool is_even = ++run % 2 == 0;
        return Answers{chooser.draw({Exact(is_even ? 1 : 2, 4), Exact(is_even ? 3 : 2, 4)}, {})};
      },
      [&](Chooser& chooser) {
        if (++run % 2 == 0) return Answers{};
        return Answers{chooser.accept(Exact(1, 2), {})};
      }};
  for (const Program& program : fickle) EXPECT_THROW(enumerated(program), BrokenInvariant);
}

}  // namespace
}  // namespace draftproof::reference::law
