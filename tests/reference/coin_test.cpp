// Coins against numbers that were published or computed by another program.
#include "reference/coin.h"

#include <gtest/gtest.h>

#include "reference/error.h"

namespace draftproof::reference {
namespace {

// Random123 1.14, file kat_vectors, the three lines "philox4x32 10". A counter word is
// {position, slot, purpose | iteration << 8, request}; the coin is out[1] << 32 | out[0].
TEST(PhiloxCoins, MatchThePublishedKnownAnswers) {
  EXPECT_EQ(PhiloxCoins(0).coin({}), 0xe169c58d6627e8d5U);
  EXPECT_EQ(PhiloxCoins(~std::uint64_t{0})
                .coin({0xffffffff, 0xffffffff, Purpose{0xff}, 0xffffffff, 0xffffff}),
            0x41c83b0e408f276dU);
  EXPECT_EQ(PhiloxCoins(0x299f31d0a4093822)
                .coin({0x03707344, 0x243f6a88, Purpose{0x2e}, 0x85a308d3, 0x13198a}),
            0x94fdccebd16cfe09U);
}

// Computed by a separate Philox in Python, itself checked with the vectors above. Every field of
// the address occurs with two values, so that no two of them can be exchanged unseen.
TEST(PhiloxCoins, MatchALiteralTable) {
  struct Entry {
    std::uint64_t seed;
    CoinAddress address;
    std::uint64_t coin;
  };
  const Entry table[] = {
      {0x1, {0, 0, Purpose{0}, 0, 0}, 0xe50a0ebce3e80670},
      {0x1, {0, 0, Purpose{1}, 0, 0}, 0x428264b607071c12},
      {0x1, {0, 0, Purpose{2}, 0, 0}, 0x8cedc5d3e73404cf},
      {0x1, {0, 0, Purpose{3}, 0, 0}, 0xdce68da689e3af3f},
      {0x1, {0, 1, Purpose{1}, 0, 0}, 0xf04a50803b539b4f},
      {0x1, {1, 0, Purpose{1}, 0, 0}, 0x657c46165f385a57},
      {0x1, {0, 0, Purpose{1}, 1, 0}, 0xaa3a4ac5062e388e},
      {0x1, {0, 0, Purpose{1}, 0, 1}, 0x78aa519d988dc920},
      {0x123456789abcdef0, {7, 4096, Purpose{3}, 2, 9}, 0x0e1985d844d350f7},
      {~std::uint64_t{0},
       {0xffffffff, 0xffffffff, Purpose{5}, 0xffffffff, 0xffffff},
       0x8f75843043c1c6bd},
  };
  for (const Entry& entry : table)
    EXPECT_EQ(PhiloxCoins(entry.seed).coin(entry.address), entry.coin)
        << entry.address.request << " " << entry.address.position;
}

TEST(PhiloxCoins, AreTheSameWhenLookedAtTwice) {
  const PhiloxCoins coins(5);
  const std::uint64_t first = coins.coin({3, 4, Purpose::kAccept});
  coins.coin({3, 5, Purpose::kAccept});
  EXPECT_EQ(coins.coin({3, 4, Purpose::kAccept}), first);
}

TEST(PhiloxCoins, RefuseAnIterationThatDoesNotFit) {
  EXPECT_THROW(PhiloxCoins(1).coin({0, 0, Purpose::kDraft, 0, 1U << 24}), BrokenInvariant);
}

TEST(ScriptedCoins, AnswerWhatWasWrittenAndElseTheFallback) {
  ScriptedCoins coins(9);
  coins.set({1, 2, Purpose::kBonus}, 77);
  EXPECT_EQ(coins.coin({1, 2, Purpose::kBonus}), 77U);
  EXPECT_EQ(coins.coin({1, 2, Purpose::kAccept}), 9U);
  EXPECT_EQ(coins.coin({2, 1, Purpose::kBonus}), 9U);
}

}  // namespace
}  // namespace draftproof::reference
