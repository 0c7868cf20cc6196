// Metrics. Goal: every number by hand on a trace of a few lines, and "not reported" wherever a part
// of what a metric needs is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "oracle/speed/metrics.h"
#include "tests/oracle/speed_traces.h"

namespace draftproof::oracle::speed {
namespace {

using testing::ElementsAre;
using testing::Pair;

Iteration draft(std::int64_t index, std::int64_t drafted, std::int64_t accepted) {
  Iteration iteration;
  iteration.request = "a";
  iteration.cohort = "all";
  iteration.index = index;
  iteration.drafted = drafted;
  iteration.accepted = accepted;
  iteration.emitted = accepted + 1;
  iteration.bonus = drafted > 0 && accepted == drafted;
  iteration.batch = 2;
  iteration.draft = 0.002 * static_cast<double>(drafted);
  iteration.verify = 0.010;
  iteration.accept = 0.001;
  iteration.rollback = 0.0005;
  iteration.target_kv_bytes = 100 * drafted;
  iteration.draft_kv_bytes = 10 * drafted;
  iteration.divergence = 0.25;
  return iteration;
}

Request request(Arm arm, double arrival, double latency, std::int64_t tokens) {
  Request one;
  one.request = "a" + std::to_string(arrival);
  one.cohort = "all";
  one.arm = arm;
  one.arrival = arrival;
  one.latency = latency;
  one.ttft = 0.1;
  one.itl = latency / 10;
  one.output_tokens = tokens;
  one.leaked_blocks = 1;
  one.energy = 50;
  return one;
}

/// Drafts of 3, 3, 1 with 3, 1, 0 accepted, one call that fell back, two plain steps of 8 ms.
Trace small_trace() {
  Trace trace;
  trace.iterations = {draft(0, 3, 3), draft(1, 3, 1), draft(2, 1, 0), draft(3, 0, 0)};
  trace.iterations[3].fallback = "batch full";
  for (int i = 0; i < 2; ++i) {
    Iteration plain;
    plain.request = "a";
    plain.cohort = "all";
    plain.arm = Arm::kBaseline;
    plain.index = i;
    plain.emitted = 1;
    plain.step = 0.008;
    trace.iterations.push_back(plain);
  }
  trace.requests = {request(Arm::kSpeculative, 0, 2, 10), request(Arm::kSpeculative, 3, 1, 30),
                    request(Arm::kBaseline, 0, 4, 20)};
  trace.setup.slo_itl = 0.15;
  trace.setup.draft_layers = 1;
  trace.setup.target_layers = 32;
  return trace;
}

class Metrics : public testing::Test {
 protected:
  std::vector<std::pair<std::string, double>> values(const std::string& id) {
    for (const Metric& metric : metrics_of(cohorts_of(trace).front()))
      if (metric.id == id) return metric.values;
    throw std::runtime_error("no metric " + id);
  }
  double value(const std::string& id) {
    const auto all = values(id);
    EXPECT_EQ(all.size(), 1u) << id;
    return all.empty() ? -1 : all.front().second;
  }
  Trace trace = small_trace();
};

TEST_F(Metrics, OfAcceptanceAreCounts) {
  EXPECT_DOUBLE_EQ(value("committed-per-call"), 8.0 / 4);
  EXPECT_DOUBLE_EQ(value("draft-acceptance"), 4.0 / 7);
  EXPECT_THAT(values("conditional-acceptance"),
              ElementsAre(Pair("1", 2.0 / 3), Pair("2", 0.5), Pair("3", 1)));
  EXPECT_DOUBLE_EQ(value("mean-draft-length"), 7.0 / 3);
  EXPECT_THAT(values("accepted-prefix"), ElementsAre(Pair("0", 2), Pair("1", 1), Pair("3", 1)));
  EXPECT_THAT(values("first-rejection"), ElementsAre(Pair("1", 1), Pair("2", 1)));
  EXPECT_DOUBLE_EQ(value("bonus-rate"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(value("bonus-used"), 1);
  EXPECT_DOUBLE_EQ(value("wasted-suffix"), 3.0 / 4);
  EXPECT_DOUBLE_EQ(value("enable-rate"), 0.75);
  EXPECT_THAT(values("fallback-reason"), ElementsAre(Pair("batch full", 1)));
  EXPECT_DOUBLE_EQ(value("divergence"), 0.25);
}

TEST_F(Metrics, SeeABonusThatIsNeverUsed) {
  trace.iterations[0].bonus = false;
  EXPECT_DOUBLE_EQ(value("bonus-used"), 0);
}

TEST_F(Metrics, OfTimesAreMeansOverCallsWithADraft) {
  EXPECT_DOUBLE_EQ(value("draft-time"), 0.014 / 3);
  EXPECT_DOUBLE_EQ(value("verify-time"), 0.010);
  EXPECT_DOUBLE_EQ(value("rollback-time"), 0.0005);
  EXPECT_DOUBLE_EQ(value("decode-time"), 0.008);
  // 7 tokens; .014 s shared by two requests a step; 10 rows in .03 s shared by two.
  EXPECT_DOUBLE_EQ(value("draft-rate"), 7 / 0.007);
  EXPECT_DOUBLE_EQ(value("verify-rate"), 10 / 0.015);
  EXPECT_DOUBLE_EQ(value("target-kv"), 700.0 / 3);
  EXPECT_DOUBLE_EQ(value("draft-kv"), 70.0 / 3);
  EXPECT_DOUBLE_EQ(value("verify-slope"), 1.25);
  EXPECT_DOUBLE_EQ(value("rho-measured"), 0.2);
  EXPECT_DOUBLE_EQ(value("rho-layers"), 1.0 / 32);
  EXPECT_TRUE(values("link-time").empty());
}

TEST_F(Metrics, OfLatenciesNameBothArms) {
  // Steps: .0175, .0175, .0135 and .0115 of the call without a draft; 8 tokens.
  EXPECT_THAT(values("time-per-token"),
              ElementsAre(Pair("off", 0.008), Pair("on", testing::DoubleNear(0.06 / 8, 1e-15))));
  // On: 40 tokens from 0 to 4 s; of them the 30 of the request at .1 s a token are within .15.
  EXPECT_THAT(values("tokens-per-second"), ElementsAre(Pair("off", 5), Pair("on", 10)));
  EXPECT_THAT(values("goodput"), ElementsAre(Pair("off", 0), Pair("on", 7.5)));
  EXPECT_THAT(values("latency"), ElementsAre(Pair("off", 4), Pair("on", 1.5)));
  EXPECT_THAT(values("leaked-blocks"), ElementsAre(Pair("off", 1), Pair("on", 2)));
  EXPECT_THAT(values("energy"), ElementsAre(Pair("off", 2.5), Pair("on", 2.5)));
}

TEST_F(Metrics, HeadlineIsCommittedTokensAndTheRatioOfLatencies) {
  const Headline headline = headline_of(cohorts_of(trace).front());
  EXPECT_DOUBLE_EQ(*headline.committed_per_call, 2);
  EXPECT_NEAR(*headline.itl_ratio, 0.008 / 0.0075, 1e-12);
  trace.iterations[1].verify = std::nullopt;
  EXPECT_FALSE(headline_of(cohorts_of(trace).front()).itl_ratio);
}

TEST_F(Metrics, AreNotReportedWhenAPartIsMissing) {
  trace.iterations[1].rollback = std::nullopt;
  trace.iterations[1].batch = std::nullopt;
  trace.requests[0].ttft = std::nullopt;
  trace.setup.slo_itl = std::nullopt;
  EXPECT_TRUE(values("rollback-time").empty());
  EXPECT_TRUE(values("draft-rate").empty());
  EXPECT_THAT(values("ttft"), ElementsAre(Pair("off", 0.1)));
  EXPECT_TRUE(values("goodput").empty());
}

TEST_F(Metrics, HaveUnitDefinitionAndFieldAndTheSameIdsForEveryTrace) {
  std::vector<std::string> ids;
  for (const Metric& metric : metrics_of(cohorts_of(trace).front())) {
    ids.push_back(metric.id);
    EXPECT_FALSE(metric.unit.empty() || metric.definition.empty() || metric.field.empty());
  }
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
  const Trace other = tests::made_trace({});
  std::vector<std::string> others;
  for (const Metric& metric : metrics_of(cohorts_of(other).front())) others.push_back(metric.id);
  EXPECT_EQ(ids, others);
}

}  // namespace
}  // namespace draftproof::oracle::speed
