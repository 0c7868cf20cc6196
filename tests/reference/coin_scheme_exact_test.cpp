// Coin schemes: which coins are one coin, whether a scheme knows when a coin comes up again, and
// what that does to a rule that stops at its first failure and to one that does not (theorem C).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "reference/error.h"
#include "tests/reference/naive_decoding.h"
#include "tests/reference/tiny_families.h"

namespace draftproof::reference::law {
namespace {

constexpr std::array kPurposes = {Purpose::kDraft, Purpose::kAccept,    Purpose::kRecovered,
                                  Purpose::kBonus, Purpose::kTreeLevel, Purpose::kTreeSecond};

std::vector<CoinUse> uses_of_an_iteration() {
  std::vector<CoinUse> uses;
  for (int offset : {0, 1, 2})
    for (int slot : {0, 1})
      for (Purpose purpose : kPurposes) uses.push_back({offset, purpose, slot});
  return uses;
}

std::size_t coins_in(const CoinScheme& scheme, const std::vector<CoinPlace>& places,
                     const std::set<Purpose>& purposes) {
  std::set<CoinAddress> addresses;
  for (const CoinPlace& place : places)
    for (const CoinUse& use : uses_of_an_iteration())
      if (purposes.contains(use.purpose)) addresses.insert(scheme.address(use, place));
  return addresses.size();
}

TEST(CoinSchemes, ShareWhatTheySayAndNothingElse) {
  const CoinPlace first{0, 5, 0, 5};
  const CoinPlace next{0, 6, 0, 6};       // the same request one token later
  const CoinPlace companion{1, 5, 1, 5};  // another request of the same iteration
  struct Row {
    const char* scheme;
    std::size_t draft;  // coins of three offsets and two slots, in `first` and `next` together
    std::size_t accept;
    std::size_t alone;       // accept coins of `first`
    std::size_t companions;  // accept coins of `first` and `companion` together
  };
  // 6 an iteration, 12 for two; by position two iterations one token apart have 4 offsets.
  for (const Row& row : {Row{"fresh", 12, 12, 6, 12}, Row{"position-keyed", 8, 8, 6, 12},
                         Row{"accept-keyed", 12, 8, 6, 12}, Row{"draft-keyed", 8, 12, 6, 12},
                         Row{"offset-keyed", 12, 6, 6, 12}, Row{"request-shared", 12, 12, 6, 6},
                         Row{"row-keyed", 8, 8, 6, 12}, Row{"one-coin", 12, 4, 2, 4}}) {
    const CoinScheme& scheme = coin_scheme(row.scheme);
    EXPECT_EQ(coins_in(scheme, {first, next}, {Purpose::kDraft}), row.draft) << row.scheme;
    EXPECT_EQ(coins_in(scheme, {first, next}, {Purpose::kAccept}), row.accept) << row.scheme;
    EXPECT_EQ(coins_in(scheme, {first}, {Purpose::kAccept}), row.alone) << row.scheme;
    EXPECT_EQ(coins_in(scheme, {first, companion}, {Purpose::kAccept}), row.companions)
        << row.scheme;
  }
  EXPECT_EQ(coin_schemes().size(), 8u) << "one is missing above";
}

TEST(CoinSchemes, NeverGiveTwoPurposesOneCoin) {
  for (const CoinScheme& scheme : coin_schemes()) {
    std::size_t sum = 0;
    for (Purpose purpose : kPurposes) sum += coins_in(scheme, {{0, 5, 0, 5}}, {purpose});
    EXPECT_EQ(coins_in(scheme, {{0, 5, 0, 5}}, {kPurposes.begin(), kPurposes.end()}), sum)
        << scheme.name;
  }
}

/// Whether `scheme` denies that a coin comes up again that does.
bool denies_a_coin_that_recurs(const CoinScheme& scheme) {
  for (std::uint32_t base : {0U, 1U, 2U}) {
    for (std::uint32_t later : {1U, 2U, 3U}) {
      // Requests stand at different places; the later iteration begins at `base` + `later`.
      const CoinPlace now{0, base, 0, 2 * base};
      for (std::uint32_t request : {0U, 1U}) {
        const std::uint32_t at = request == 0 ? base + later : base + later - 1;
        for (std::uint32_t row : {0U, 1U}) {
          const CoinPlace then{request, at, row, 2 * base + later};
          for (const CoinUse& first : uses_of_an_iteration())
            for (const CoinUse& second : uses_of_an_iteration())
              if (scheme.address(first, now) == scheme.address(second, then) &&
                  !scheme.may_recur(scheme.address(first, now), at))
                return true;
        }
      }
    }
  }
  return false;
}

TEST(CoinSchemes, KnowWhenACoinComesUpAgain) {
  for (const CoinScheme& scheme : coin_schemes())
    EXPECT_FALSE(denies_a_coin_that_recurs(scheme)) << scheme.name;
}

CoinScheme forgetful(std::string_view name) {
  CoinScheme scheme = coin_scheme(name);
  scheme.may_recur = [](const CoinAddress&, std::uint32_t) { return false; };
  return scheme;
}

TEST(CoinSchemes, ThatWronglySayNeverAreFoundOut) {
  for (const char* name :
       {"position-keyed", "accept-keyed", "draft-keyed", "offset-keyed", "row-keyed"}) {
    EXPECT_TRUE(denies_a_coin_that_recurs(forgetful(name))) << name;
    Decoding tiny = decoding_of(family_case(Family::kFullMemory, 2, 2, 5), longest_passing);
    tiny.coins = forgetful(name);
    EXPECT_NE(batch_law({tiny}, 3), naive_batch_law({tiny}, 3)) << name;
    tiny.coins = coin_scheme(name);
    EXPECT_EQ(batch_law({tiny}, 3), naive_batch_law({tiny}, 3)) << name;
  }
}

TEST(CoinSchemes, KeyedByPositionKeepTheLawOfARuleThatStopsAtItsFirstFailure) {
  for (const char* name : {"fresh", "position-keyed", "accept-keyed", "draft-keyed"}) {
    for (std::uint64_t seed : {1, 2}) {
      Decoding tiny = decoding_of(family_case(Family::kFullMemory, 3, 2, seed), chain_rule());
      tiny.coins = coin_scheme(name);
      EXPECT_EQ(sequence_distance(tiny, 4), 0) << name;
    }
  }
}

TEST(CoinSchemes, KeyedByPositionBreakTheLawOfARuleThatReadsEveryCoin) {
  ModelCase tiny = family_case(Family::kFullMemory, 2, 2, 2);
  const auto check = [&](std::string_view scheme) {
    Decoding decoding = decoding_of(tiny, law_rule("block").make({}));
    EXPECT_EQ(sequence_distance(decoding, 4), 0);
    decoding.coins = coin_scheme(scheme);
    EXPECT_GT(sequence_distance(decoding, 4), 0) << scheme;
    EXPECT_EQ(sequence_distance(decoding, 1), 0) << "one iteration is right";
  };
  check("position-keyed");
  check("draft-keyed");
  tiny.report = DraftReport::kOneHot;
  check("accept-keyed");
}

TEST(CoinSchemes, AreFoundByNameAndOthersRefused) {
  for (const CoinScheme& scheme : coin_schemes()) EXPECT_EQ(&coin_scheme(scheme.name), &scheme);
  try {
    coin_scheme("stale");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("fresh, position-keyed"));
  }
}

}  // namespace
}  // namespace draftproof::reference::law
