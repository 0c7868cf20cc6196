// Exact numbers from text and from doubles, and laws that must sum to one.
#include "reference/distribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/error.h"

namespace draftproof::reference {
namespace {

TEST(ExactNumbers, AreReadAsTheySpell) {
  EXPECT_EQ(exact_from_text(".3"), Exact(3, 10));
  EXPECT_EQ(exact_from_text("0.30"), Exact(3, 10));
  EXPECT_EQ(exact_from_text("3/10"), Exact(3, 10));
  EXPECT_EQ(exact_from_text("1e-3"), Exact(1, 1000));
  EXPECT_EQ(exact_from_text("2.5E+1"), Exact(25));
  EXPECT_EQ(exact_from_text("-2"), Exact(-2));
  EXPECT_EQ(exact_from_text("+.5/2"), Exact(1, 4));
  EXPECT_EQ(exact_from_text("7."), Exact(7));
  EXPECT_NE(exact_from_text(".1"), exact_from_double(.1)) << "decimals are not binary fractions";
}

TEST(ExactNumbers, OtherTextIsRefused) {
  for (const char* text : {"", ".", "-", "e3", "1e", "1/0", "1/", "0x1", "1,2", "nan", "inf", "1 2",
                           "1e9999999999", "--1"})
    EXPECT_THROW(exact_from_text(text), Error) << text;
}

TEST(ExactNumbers, ComeFromDoublesWithoutRounding) {
  EXPECT_EQ(exact_from_double(0.375), Exact(3, 8));
  EXPECT_EQ(exact_from_double(-6), Exact(-6));
  EXPECT_EQ(exact_from_double(0), Exact(0));
  EXPECT_EQ(exact_from_double(0x1p-1074), Exact(1, BigInteger(1) << 1074));
  EXPECT_EQ(exact_from_double(0x1p100), Exact(BigInteger(1) << 100));
  EXPECT_THROW(exact_from_double(1.0 / 0.0), BrokenInvariant);
}

TEST(ExactNumbers, AreWrittenInLowestTerms) {
  EXPECT_EQ(to_string(Exact(6, 20)), "3/10");
  EXPECT_EQ(to_string(Exact(4, 2)), "2");
  EXPECT_EQ(to_string(Exact(-1, 3)), "-1/3");
}

TEST(Distributions, AreReadFromDecimalsAndFractions) {
  EXPECT_EQ(distribution_from_text(".1,.3,.6"), distribution_from_text("1/10, 3/10 , 3/5"));
  EXPECT_EQ(to_string(distribution_from_text(".1,.3,.6")), "1/10, 3/10, 3/5");
  EXPECT_EQ(distribution_from_text("1").vocab_size(), 1U);
}

TEST(Distributions, RefuseASumThatIsNotOneAndNameIt) {
  const auto complaint = [](const char* text) -> std::string {
    try {
      distribution_from_text(text, "--target");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(complaint(".1,.3,.7"), "--target: probabilities sum to 11/10, not to 1");
  EXPECT_EQ(complaint(".3333,.3333,.3333"), "--target: probabilities sum to 9999/10000, not to 1");
  EXPECT_EQ(complaint("1.5,-.5"), "--target: probability -.5 is negative");
  EXPECT_THAT(complaint(""), testing::StartsWith("--target: "));
  EXPECT_THAT(complaint("1,"), testing::StartsWith("--target: "));
  EXPECT_THAT(complaint("a,b"), testing::StartsWith("--target: 'a' is not a number"));
}

TEST(Distributions, AreNormalisedByConstruction) {
  EXPECT_THROW(Distribution({Exact(1, 2)}), BrokenInvariant);
  EXPECT_THROW(Distribution({Exact(3, 2), Exact(-1, 2)}), BrokenInvariant);
  EXPECT_EQ(normalised({Exact(1), Exact(3)}), distribution_from_text(".25,.75"));
  EXPECT_EQ(distribution_of({{1, 3, 0}, 4, Status::kOk}), distribution_from_text(".25,.75,0"));
  EXPECT_EQ(point_mass(3, 1), distribution_from_text("0,1,0"));
}

TEST(Distributions, DistanceIsHalfTheAbsoluteDifferences) {
  EXPECT_EQ(total_variation(distribution_from_text(".1,.3,.6"), distribution_from_text(".7,.2,.1")),
            Exact(3, 5));
  EXPECT_EQ(total_variation(point_mass(2, 0), point_mass(2, 1)), Exact(1));
}

}  // namespace
}  // namespace draftproof::reference
