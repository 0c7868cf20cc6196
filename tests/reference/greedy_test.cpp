// The greedy rule: what it keeps, what it never reads.
#include "reference/verify/greedy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reference/batches.h"

namespace draftproof::reference::verify {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
const Row kUnread = {kNan, kNan, kNan};

RequestOutcome judged(const Batch& batch) { return greedy(batch, batch.requests[0]); }

TEST(GreedyVerify, KeepsDraftsThatAreTheFirstMaximum) {
  const Batch batch = one_request({1, 0, 2}, {{0, 3, 3}, {-0.0F, 0.0F, -1}, {5, 5, 4}, kUnread},
                                  {kUnread, kUnread, kUnread});
  const RequestOutcome outcome = judged(batch);
  EXPECT_EQ(outcome.accepted_count, 2);
  EXPECT_THAT(outcome.emitted, testing::ElementsAre(EmittedToken{1, Reason::kAccepted},
                                                    EmittedToken{0, Reason::kAccepted},
                                                    EmittedToken{0, Reason::kRecovered}));
}

TEST(GreedyVerify, EndsWithTheBonusWhenTheDraftDoes) {
  const RequestOutcome full = judged(one_request({1}, {{0, 1, 0}, {0, 0, 1}}, {kUnread}));
  EXPECT_THAT(full.emitted, testing::ElementsAre(EmittedToken{1, Reason::kAccepted},
                                                 EmittedToken{2, Reason::kBonus}));
  const RequestOutcome ended =
      judged(one_request({kPlaceholder, 7}, {{0, 1, 0}, kUnread, kUnread}, {kUnread, kUnread}));
  EXPECT_THAT(ended.emitted, testing::ElementsAre(EmittedToken{1, Reason::kBonus}));
}

TEST(GreedyVerify, IgnoresTemperatureFiltersAndRange) {
  Batch batch = one_request({0}, {{1e30F, -1e30F, 0}, {1, 2, 3}}, {kUnread});
  batch.requests[0].sampling = {1e-9, 2, 0.1, 0.9};
  EXPECT_THAT(judged(batch).emitted, testing::ElementsAre(EmittedToken{0, Reason::kAccepted},
                                                          EmittedToken{2, Reason::kBonus}));
}

TEST(GreedyVerify, StopsAtARowThatCannotBeJudged) {
  const auto status_of = [](std::vector<Token> tokens, Row second) {
    const RequestOutcome outcome = judged(one_request(
        std::move(tokens), {{1, 0, 0}, std::move(second), kUnread}, {kUnread, kUnread}));
    EXPECT_EQ(outcome.accepted_count, 1);
    EXPECT_EQ(outcome.emitted.size(), 1U);
    EXPECT_EQ(outcome.status_position, 1);
    return outcome.status;
  };
  EXPECT_EQ(status_of({0, 0}, {1, kNan, 0}), Status::kNan);
  EXPECT_EQ(status_of({0, 0}, {kInfinity, 1, 0}), Status::kPositiveInfinity);
  EXPECT_EQ(status_of({0, 0}, {-kInfinity, -kInfinity, -kInfinity}), Status::kEmptyRow);
  EXPECT_EQ(status_of({0, 3}, {kNan, 1, 0}), Status::kDraftTokenRange);
  EXPECT_EQ(status_of({0, kPlaceholder}, {kNan, 1, 0}), Status::kNan);
}

TEST(GreedyVerify, TakesProbabilitiesToo) {
  Batch batch = one_request({2}, {{.25F, .25F, .5F}, {.5F, .5F, 0}}, {{1, 0, 0}});
  batch.target_kind = RowKind::kProbabilities;
  EXPECT_THAT(judged(batch).emitted, testing::ElementsAre(EmittedToken{2, Reason::kAccepted},
                                                          EmittedToken{0, Reason::kBonus}));
  batch.requests[0].target_rows[0][0] = -.25F;
  EXPECT_EQ(judged(batch).status, Status::kBadProbability);
}

}  // namespace
}  // namespace draftproof::reference::verify
