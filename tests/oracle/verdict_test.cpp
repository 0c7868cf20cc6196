// Verdicts: merging by dominance, what a list refutes, and how witnesses and verdicts read.
#include "oracle/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oracle/explain.h"

namespace draftproof::oracle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Verdict verdict(VerdictKind kind, Claim claim) {
  Verdict result;
  result.kind = kind;
  result.claim = claim;
  return result;
}

TEST(Verdict, AViolationOutweighsEverythingAndInconclusiveIsNeverUpheld) {
  const Verdict upheld = verdict(VerdictKind::kUpheld, Claim::kSupportSafe);
  const Verdict open = verdict(VerdictKind::kInconclusive, Claim::kSupportSafe);
  const Verdict violated = verdict(VerdictKind::kViolated, Claim::kSupportSafe);
  EXPECT_EQ(merged({upheld, upheld}), VerdictKind::kUpheld);
  EXPECT_EQ(merged({upheld, open, upheld}), VerdictKind::kInconclusive);
  EXPECT_EQ(merged({open, violated, upheld}), VerdictKind::kViolated);
}

TEST(Verdict, NothingCheckedIsInconclusive) {
  EXPECT_EQ(merged({}), VerdictKind::kInconclusive);
  EXPECT_EQ(headline({}), "Nothing was checked.");
}

TEST(Refutation, NamesTheWeakestClaimOnceAndWhatFallsWithIt) {
  const std::vector<Verdict> verdicts = {
      verdict(VerdictKind::kViolated, Claim::kSequenceLossless),
      verdict(VerdictKind::kViolated, Claim::kSupportSafe),
      verdict(VerdictKind::kViolated, Claim::kRaceFree),
      verdict(VerdictKind::kUpheld, Claim::kWellFormed),
  };
  const Refutation result = refutation(verdicts);
  EXPECT_THAT(result.refuted, ElementsAre(Claim::kSupportSafe, Claim::kRaceFree));
  EXPECT_THAT(result.also_refuted, ElementsAre(Claim::kGreedyExact, Claim::kMarginalLossless,
                                               Claim::kSequenceLossless, Claim::kCoupled));
  EXPECT_EQ(headline(verdicts),
            "NOT support-safe, race-free (also not: greedy-exact, marginal-lossless, "
            "sequence-lossless, coupled)");
}

TEST(Refutation, IsEmptyWithoutAViolation) {
  const std::vector<Verdict> verdicts = {verdict(VerdictKind::kInconclusive, Claim::kCoupled)};
  EXPECT_THAT(refutation(verdicts).refuted, IsEmpty());
  EXPECT_THAT(headline(verdicts), HasSubstr("Inconclusive"));
  EXPECT_EQ(headline({verdict(VerdictKind::kUpheld, Claim::kCoupled)}), "Upheld: coupled.");
}

TEST(Explain, TellsAWitnessAsLetExpectedObservedBecauseReplay) {
  const Witness witness{"row 0\nand row 1",    "token 2", "token 3", "the comparison is inclusive",
                        "draftproof replay 1", ""};
  EXPECT_EQ(explain(witness),
            "Let        row 0\n"
            "           and row 1\n"
            "Expected   token 2\n"
            "Observed   token 3\n"
            "Because    the comparison is inclusive\n"
            "Replay     draftproof replay 1\n");
  EXPECT_EQ(explain(Witness{}), "");
}

TEST(Explain, AnUpheldVerdictCarriesItsBoundEffectAndAssumption) {
  Verdict upheld = verdict(VerdictKind::kUpheld, Claim::kSequenceLossless);
  upheld.property = "emitted_law_is_target_law";
  upheld.evidence = "6 decisions";
  upheld.bound = "1/2";
  upheld.smallest_visible_effect = "one coin in 2^64";
  upheld.assumption = "one threshold per decision";
  const std::string text = explain(upheld);
  EXPECT_THAT(text, HasSubstr("upheld  emitted_law_is_target_law  (sequence-lossless)  6"));
  EXPECT_THAT(text, HasSubstr("total variation <= 1/2"));
  EXPECT_THAT(text, HasSubstr("one coin in 2^64"));
  EXPECT_THAT(text, HasSubstr("one threshold per decision"));
}

TEST(Explain, AnObservationNamesBothParties) {
  reference::Observation race;
  race.check = "race";
  race.message = "4 bytes of out";
  race.place = {"chain", 12, "chain.cu", 7, 1, 2, 0x80000003};
  race.other = {"chain", 14, "", 0, 1, 3, 1};
  race.schedule = "random:7";
  race.count = 2;
  EXPECT_EQ(describe(race),
            "race in chain at PTX line 12 (chain.cu:7), block 1 warp 2 lanes 0x80000003, and chain "
            "at PTX line 14, block 1 warp 3 lanes 0x1: 4 bytes of out [random:7] (seen 2 times)");
}

}  // namespace
}  // namespace draftproof::oracle
