// The claim ladder: distinct names, and what falls with each claim.
#include "oracle/claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace draftproof::oracle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Claim, NamesAndStatementsAreDistinctAndPresent) {
  std::set<std::string_view> names, statements;
  for (Claim claim : all_claims()) {
    names.insert(to_string(claim));
    statements.insert(statement(claim));
    EXPECT_FALSE(to_string(claim).empty());
    EXPECT_EQ(statement(claim).back(), '.');
  }
  EXPECT_EQ(names.size(), all_claims().size());
  EXPECT_EQ(statements.size(), all_claims().size());
  EXPECT_EQ(all_claims().size(), 14u);
}

TEST(Claim, RefutingSupportTakesEverythingAboveItOnTheLadder) {
  EXPECT_THAT(also_refuted(Claim::kSupportSafe),
              ElementsAre(Claim::kGreedyExact, Claim::kMarginalLossless, Claim::kSequenceLossless,
                          Claim::kCoupled));
  EXPECT_THAT(also_refuted(Claim::kWellFormed),
              ElementsAre(Claim::kSupportSafe, Claim::kGreedyExact, Claim::kMarginalLossless,
                          Claim::kSequenceLossless, Claim::kCoupled));
}

TEST(Claim, GreedyExactAndMarginalLosslessDoNotFallWithEachOther) {
  EXPECT_THAT(also_refuted(Claim::kGreedyExact),
              ElementsAre(Claim::kSequenceLossless, Claim::kCoupled));
  EXPECT_THAT(also_refuted(Claim::kMarginalLossless),
              ElementsAre(Claim::kSequenceLossless, Claim::kCoupled));
}

TEST(Claim, NothingFallsWithTheTopOrWithASideClaim) {
  EXPECT_THAT(also_refuted(Claim::kCoupled), IsEmpty());
  EXPECT_THAT(also_refuted(Claim::kRaceFree), IsEmpty());
  EXPECT_THAT(also_refuted(Claim::kBatchInvariant), IsEmpty());
}

}  // namespace
}  // namespace draftproof::oracle
