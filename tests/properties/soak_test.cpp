// Soaks and coverage. Goal: a short soak of a right engine is clean and everything it is for
// happens in it; a leak and a wrong count are found; coverage counts what happened, at the edges it
// was at.
#include "properties/state/soak.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "properties/state/coverage.h"

namespace draftproof::properties::state {
namespace {

namespace decode = reference::decode;

TEST(Soak, OfARightEngineIsCleanAndEverythingHappensInIt) {
  const SoakReport report = soak({.token_count = 14'000, .seed = 3});
  ASSERT_EQ(report.failed(), nullptr)
      << report.failed()->name << ": " << to_string(report.failed()->result);
  EXPECT_TRUE(report.is_complete);
  EXPECT_GE(report.tokens, 14'000);
  SoakLeg sum;
  for (const SoakLeg& leg : report.legs) {
    sum.preemptions += leg.preemptions;
    sum.cancels += leg.cancels;
    sum.evictions += leg.evictions;
    sum.hits += leg.hits;
    sum.dropped += leg.dropped;
    sum.accepted += leg.accepted;
    sum.replayed += leg.replayed;
    EXPECT_GT(leg.whole_checks, 0) << leg.name;
  }
  for (const std::int64_t count : {sum.preemptions, sum.cancels, sum.evictions, sum.hits,
                                   sum.dropped, sum.accepted, sum.replayed})
    EXPECT_GT(count, 0);
}

TEST(Soak, OfOneTokenRunsEveryEngineAllTheSame) {
  const SoakReport report = soak({.token_count = 1});
  EXPECT_TRUE(report.is_complete);
  EXPECT_EQ(report.legs.size(), 7u);
}

TEST(Soak, IsAFunctionOfItsSeed) {
  const SoakReport first = soak({.token_count = 3'000, .seed = 5});
  const SoakReport second = soak({.token_count = 3'000, .seed = 5});
  ASSERT_EQ(first.legs.size(), second.legs.size());
  for (std::size_t i = 0; i < first.legs.size(); ++i) {
    EXPECT_EQ(first.legs[i].steps, second.legs[i].steps);
    EXPECT_EQ(first.legs[i].accepted, second.legs[i].accepted);
  }
  EXPECT_NE(first.legs[0].accepted, soak({.token_count = 3'000, .seed = 6}).legs[0].accepted);
}

/// Keeps the draft's pages of requests that end (sgl-project/sglang-jax#1147).
class Leaks final : public decode::EngineSteps {
  void leave(decode::EngineState& state, decode::RequestId id, decode::Leave why) const override {
    const auto found = state.device.find(id);
    if (found != state.device.end() && why == decode::Leave::kFinished)
      found->second.draft = decode::kNoSequence;
    EngineSteps::leave(state, id, why);
  }
};

TEST(Soak, FindsALeak) {
  const SoakReport report = soak({.token_count = 14'000, .make_engine = [](const auto& config) {
                                    return decode::Engine(config, std::make_shared<Leaks>());
                                  }});
  ASSERT_NE(report.failed(), nullptr);
  EXPECT_FALSE(report.is_complete);
  ASSERT_TRUE(report.failed()->result.divergence);
  EXPECT_EQ(report.failed()->result.divergence->check, StateCheck::kLeak)
      << to_string(report.failed()->result);
}

TEST(Coverage, CountsAtEveryEdgeThatALengthIsAt) {
  Coverage coverage;
  coverage.add({Operation::kVerify, 7, 4, 0, 3, 1});  // 2 * 4 - 1; 4 + 3 is no edge
  EXPECT_EQ(coverage.count({Operation::kVerify, -1, 0, 3, 1}), 1);
  EXPECT_EQ(coverage.share(Operation::kVerify).reached, 1u);
  coverage.add({Operation::kVerify, 6, 4, 0, 3, 1});  // 4 + 2 and 8 - 2
  EXPECT_EQ(coverage.count({Operation::kVerify, 2, 0, 3, 1}), 1);
  EXPECT_EQ(coverage.count({Operation::kVerify, -2, 0, 3, 1}), 1);
  EXPECT_EQ(coverage.share(Operation::kVerify).events, 3);
  coverage.add({Operation::kVerify, 1, 4, 0, 3, 1});  // no page is full, none nearly
  coverage.add({Operation::kVerify, 6, 4, 0, 4, 1});  // a longer draft than is counted
  EXPECT_EQ(coverage.share(Operation::kVerify).events, 3);
  EXPECT_EQ(coverage.missing().size(), Coverage::reachable().size() - 3);
}

TEST(Coverage, HasACellForEveryAcceptCountOfEveryChangeOfLength) {
  const Coverage none;
  // Five edges; lengths 0 .. 3 behind 0 .. 3 with 1 + 2 + 3 + 4 accept counts.
  EXPECT_EQ(none.share(Operation::kVerify).reachable, 5u * 4 * 10);
  EXPECT_EQ(none.share(Operation::kCommit).reachable, 5u * 10);
  EXPECT_EQ(none.share(Operation::kDrop).reachable, 5u * 3);
  EXPECT_EQ(none.share(Operation::kResume).reachable, 5u);
  EXPECT_EQ(to_string({Operation::kVerify, -1, 2, 1, 0}),
            "verify 1 before a page edge, draft length 1 behind 2, 0 accepted");
}

}  // namespace
}  // namespace draftproof::properties::state
