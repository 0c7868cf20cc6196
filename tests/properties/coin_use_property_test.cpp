// Verifiers that use their coins otherwise than the reference, and are lossless all the same: coins
// of two positions exchanged, draws from the other end of the row. Their law must not be called
// wrong; what they promised of their coins, if they did, may be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wrong_verifiers.h"

namespace draftproof::properties {
namespace {

using oracle::VerdictKind;
using reference::CoinAddress;
using reference::Purpose;

/// The reference with other coins: each a one-to-one image of those handed in.
class Recoined final : public reference::Verifier {
 public:
  using Map = std::uint64_t (*)(const reference::Coins&, CoinAddress);
  Recoined(Map map, bool declares_masses)
      : map_(map), inner_(reference::verify::make_verifier("chain")), traits_(inner_->traits()) {
    traits_.name = "recoined";
    traits_.declares_masses = declares_masses;
  }
  const reference::VerifierTraits& traits() const override { return traits_; }
  reference::Outcome verify(reference::Batch& batch, const reference::Coins& coins,
                            const reference::Execution& execution) override {
    reference::Outcome outcome = inner_->verify(batch, Mapped(coins, map_), execution);
    for (reference::RequestOutcome& each : outcome.requests)
      if (loses_token_1 && !each.emitted.empty() && each.emitted.back().token == 1)
        each.emitted.back().token = 0;
    return outcome;
  }
  bool loses_token_1 = false;

 private:
  class Mapped final : public reference::Coins {
   public:
    Mapped(const reference::Coins& coins, Map map) : coins_(coins), map_(map) {}
    std::uint64_t coin(const CoinAddress& address) const override { return map_(coins_, address); }

   private:
    const reference::Coins& coins_;
    Map map_;
  };
  Map map_;
  std::unique_ptr<reference::Verifier> inner_;
  reference::VerifierTraits traits_;
};

std::uint64_t exchanged(const reference::Coins& coins, CoinAddress address) {
  address.position ^= 1;
  return coins.coin(address);
}

std::uint64_t mirrored(const reference::Coins& coins, CoinAddress address) {
  const std::uint64_t coin = coins.coin(address);
  return address.purpose == Purpose::kAccept ? coin : ~coin;
}

TEST(CoinUse, OtherThanTheReferencesIsNoFaultOfTheLaw) {
  for (Recoined::Map map : {exchanged, mirrored}) {
    Recoined lossless(map, false);
    const oracle::Verdict verdict = verdict_of("emitted_law_is_target_law", lossless);
    EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive) << verdict.evidence;
    EXPECT_THAT(verdict.evidence, ::testing::HasSubstr("no thresholds of the coins"));
    EXPECT_FALSE(verdict.bound.has_value());
  }
}

TEST(CoinUse, OtherThanTheReferencesDoesNotExcuseAWrongLaw) {
  for (Recoined::Map map : {exchanged, mirrored}) {
    Recoined wrong(map, false);
    wrong.loses_token_1 = true;
    EXPECT_EQ(kind_of("emitted_law_is_target_law", wrong), VerdictKind::kViolated);
  }
}

TEST(CoinUse, OtherThanPromisedIsAViolationOfParity) {
  for (Recoined::Map map : {exchanged, mirrored}) {
    Recoined promised(map, true);
    EXPECT_EQ(kind_of("kernel_equals_reference", promised), VerdictKind::kViolated);
  }
}

}  // namespace
}  // namespace draftproof::properties
