// Expressions of cards: values, precedence, and errors with the place of the expression.
#include "gpu/card_expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/error.h"

namespace draftproof::gpu {
namespace {

using testing::HasSubstr;

const Names kNames = {{"B", 3}, {"G", 4}, {"V", 32000}};

std::int64_t value(const char* text) { return CardExpression(text, "a.toml:7").evaluate(kNames); }

std::string message(const char* text) {
  try {
    value(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "no error";
}

TEST(CardExpression, FollowsTheUsualPrecedence) {
  EXPECT_EQ(value("2+3*4"), 14);
  EXPECT_EQ(value("(2+3)*4"), 20);
  EXPECT_EQ(value("20-3-4"), 13);
  EXPECT_EQ(value("B*(G+1)*V"), 480000);
  EXPECT_EQ(value("-G + 1"), -3);
  EXPECT_EQ(value("7 / 2"), 3);
  EXPECT_EQ(value("-7 / 2"), -3);
  EXPECT_EQ(value("7 % 4"), 3);
  EXPECT_EQ(value("2**32"), std::int64_t{1} << 32);
  EXPECT_EQ(value("2**62"), std::int64_t{1} << 62);
}

TEST(CardExpression, Compares) {
  EXPECT_EQ(value("B < G"), 1);
  EXPECT_EQ(value("B >= G"), 0);
  EXPECT_EQ(value("V%4 == 0"), 1);
  EXPECT_EQ(value("B*(G+1)*V < 2**32"), 1);
  EXPECT_EQ(value("B != 3"), 0);
  EXPECT_EQ(value("B <= 3"), 1);
  EXPECT_EQ(value("B > 3"), 0);
}

TEST(CardExpression, ChoosesAndLeavesTheOtherBranchAlone) {
  EXPECT_EQ(value("4 if V%4 == 0 else 1"), 4);
  EXPECT_EQ(value("4 if B%4 == 0 else 2 if B%2 == 0 else 1"), 1);
  EXPECT_EQ(value("1 if B else 1/0"), 1);
  EXPECT_THAT(message("1 if B == 0 else 1/0"), HasSubstr("divides by zero"));
}

TEST(CardExpression, ErrorsNameTheLine) {
  EXPECT_THAT(message("B + W"), HasSubstr("a.toml:7: "));
  EXPECT_THAT(message("B + W"), HasSubstr("unknown name 'W'; known: B, G, V"));
  EXPECT_THAT(message("V / (B-3)"), HasSubstr("divides by zero"));
  EXPECT_THAT(message("V % 0"), HasSubstr("divides by zero"));
  EXPECT_THAT(message("9223372036854775807 + 1"), HasSubstr("overflows"));
  EXPECT_THAT(message("-9223372036854775807 - 2"), HasSubstr("overflows"));
  EXPECT_THAT(message("V*V*V*V*V"), HasSubstr("overflows"));
  EXPECT_THAT(message("9223372036854775808"), HasSubstr("does not fit"));
  EXPECT_THAT(message("2**63"), HasSubstr("does not fit"));
  EXPECT_THAT(message("(0-9223372036854775807-1) / -1"), HasSubstr("overflows"));
}

TEST(CardExpression, RejectsWhatItDoesNotKnow) {
  for (const char* text : {"", "B +", "(B", "B)", "B G", "1.5", "0x10", "B & 1", "B = 3", "f(B)",
                           "4 if B", "if", "**2", "B**2", "3x"})
    EXPECT_THROW(value(text), Error) << text;
  EXPECT_THROW(value(std::string(200, '(').c_str()), Error);
  EXPECT_THROW(value((std::string(200, '-') + "1").c_str()), Error);
}

}  // namespace
}  // namespace draftproof::gpu
