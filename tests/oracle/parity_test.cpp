// Parity: no difference between equal outcomes, and the first one, named, between all others.
#include "oracle/parity.h"

#include <gtest/gtest.h>

namespace draftproof::oracle {
namespace {

using reference::Reason;
using reference::RequestOutcome;
using reference::Status;

RequestOutcome accepted_then(int token, Reason reason) {
  return {1, {{3, Reason::kAccepted}, {token, reason}}, Status::kOk, 0};
}

TEST(Parity, EqualOutcomesHaveNoDifference) {
  EXPECT_FALSE(
      first_difference(accepted_then(1, Reason::kBonus), accepted_then(1, Reason::kBonus)));
}

TEST(Parity, NamesTheFirstTokenThatDiffersAndItsReason) {
  const auto token =
      first_difference(accepted_then(1, Reason::kBonus), accepted_then(2, Reason::kBonus));
  ASSERT_TRUE(token);
  EXPECT_EQ(token->what, "token 1");
  EXPECT_EQ(token->expected, "1 (bonus)");
  EXPECT_EQ(token->observed, "2 (bonus)");
  const auto reason =
      first_difference(accepted_then(1, Reason::kBonus), accepted_then(1, Reason::kRecovered));
  ASSERT_TRUE(reason);
  EXPECT_EQ(reason->observed, "1 (recovered)");
}

TEST(Parity, SeesAMissingTokenAStatusACountAndARow) {
  RequestOutcome expected = accepted_then(1, Reason::kBonus), observed = expected;
  observed.emitted.pop_back();
  EXPECT_EQ(first_difference(expected, observed)->observed, "nothing");
  observed = expected;
  observed.status = Status::kNan;
  EXPECT_EQ(first_difference(expected, observed)->what, "status");
  observed = expected;
  observed.accepted_count = 2;
  EXPECT_EQ(first_difference(expected, observed)->what, "accepted count");
  observed = expected;
  observed.accepted_nodes = {3};
  EXPECT_EQ(first_difference(expected, observed)->what, "accepted nodes");
  observed = expected;
  expected.status = observed.status = Status::kNan;
  observed.accepted_count = expected.accepted_count;
  observed.status_position = 1;
  EXPECT_EQ(first_difference(expected, observed)->what, "row of the status");
}

TEST(Parity, SeesTheRequestAndAMissingRequest) {
  reference::Outcome expected, observed;
  expected.requests = {accepted_then(1, Reason::kBonus), accepted_then(2, Reason::kBonus)};
  observed = expected;
  EXPECT_FALSE(first_difference(expected, observed));
  observed.requests[1].emitted[1].token = 0;
  EXPECT_EQ(first_difference(expected, observed)->request, 1u);
  observed.requests.pop_back();
  const auto missing = first_difference(expected, observed);
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->what, "number of outcomes");
  EXPECT_EQ(missing->observed, "1 outcome");
}

TEST(Parity, DescribesAnOutcomeInWords) {
  EXPECT_EQ(describe(accepted_then(0, Reason::kRecovered)),
            "accepted 1, emitted 3 (accepted), 0 (recovered)");
  EXPECT_EQ(describe(RequestOutcome{0, {}, Status::kNan, 1}),
            "accepted 0, emitted nothing, status nan at row 1");
}

}  // namespace
}  // namespace draftproof::oracle
