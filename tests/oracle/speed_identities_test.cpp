// Identities. Goal: a consistent trace breaks none, and every way a counter can lie breaks the one
// that is about it, at the request and iteration where it lies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "oracle/speed/identities.h"
#include "tests/oracle/speed_traces.h"

namespace draftproof::oracle::speed {
namespace {

using tests::made_trace;

/// A trace that reports everything.
Trace full_trace() {
  Trace trace = made_trace({});
  for (Iteration& each : trace.iterations) {
    if (each.arm == Arm::kBaseline) continue;
    each.wasted = each.drafted - each.accepted;
    each.bonus = each.accepted == each.drafted;
    if (each.accepted < each.drafted) each.first_rejection = each.accepted + 1;
  }
  for (int r = 0; r < 8; ++r) {
    for (const Arm arm : {Arm::kBaseline, Arm::kSpeculative}) {
      Request request;
      request.request = "r" + std::to_string(r);
      request.arm = arm;
      request.cohort = "all";
      request.arrival = r;
      request.prefill_tokens = 1;
      request.output_tokens = 1;
      double accepted = 0, drafted = 0, emitted = 0, calls = 0;
      for (const Iteration& each : trace.iterations) {
        if (each.request != request.request || each.arm != arm) continue;
        *request.output_tokens += each.emitted;
        accepted += static_cast<double>(each.accepted);
        drafted += static_cast<double>(each.drafted);
        emitted += static_cast<double>(each.emitted);
        calls += 1;
      }
      if (arm == Arm::kSpeculative) {
        request.draft_acceptance = accepted / drafted;
        request.accepted_length = emitted / calls;
      }
      trace.requests.push_back(request);
    }
  }
  return trace;
}

Iteration& draft_at(Trace& trace, std::int64_t index) {
  for (Iteration& each : trace.iterations)
    if (each.arm == Arm::kSpeculative && each.request == "r3" && each.index == index) return each;
  throw std::runtime_error("no such iteration");
}

Request& request_at(Trace& trace, Arm arm) {
  for (Request& each : trace.requests)
    if (each.arm == arm && each.request == "r3") return each;
  throw std::runtime_error("no such request");
}

/// Ids of the broken ones; where `at` is given, each must name r3.
std::set<std::string> broken(const Trace& trace) {
  std::set<std::string> ids;
  for (const auto& identity : identities_of(cohorts_of(trace).front())) {
    if (identity.status != IdentityStatus::kBroken) continue;
    ids.insert(identity.id);
    EXPECT_GE(identity.broken, 1u);
    EXPECT_FALSE(identity.breaches.empty());
    for (const auto& breach : identity.breaches) EXPECT_FALSE(breach.detail.empty());
  }
  return ids;
}

const IdentityResult& find(const std::vector<IdentityResult>& list, const std::string& id) {
  for (const auto& identity : list)
    if (identity.id == id) return identity;
  throw std::runtime_error("no identity " + id);
}

TEST(Identities, AllHoldForAConsistentTraceThatReportsEverything) {
  const Trace trace = full_trace();
  for (const auto& identity : identities_of(cohorts_of(trace).front())) {
    const bool may_rest = identity.id == "fallback-reason";
    EXPECT_EQ(identity.status, may_rest ? IdentityStatus::kNotExercised : IdentityStatus::kHolds)
        << identity.id;
  }
}

TEST(Identities, AreNotExercisedWhereNothingIsReported) {
  const Trace trace = made_trace({});
  const auto identities = identities_of(cohorts_of(trace).front());
  for (const char* id : {"wasted", "bonus", "first-rejection", "output-tokens",
                         "reported-acceptance", "reported-length", "fallback-reason"}) {
    EXPECT_EQ(find(identities, id).status, IdentityStatus::kNotExercised) << id;
    EXPECT_EQ(find(identities, id).checked, 0u) << id;
  }
  EXPECT_FALSE(any_broken(identities));
}

struct Lie {
  std::string name;
  std::function<void(Trace&)> tell;
  std::string broken;
};

std::vector<Lie> lies() {
  return {
      {"MoreAcceptedThanDrafted", [](Trace& t) { draft_at(t, 5).accepted = 9; },
       "accepted-within-draft"},
      {"DeeperThanDrafted", [](Trace& t) { draft_at(t, 5).depth = 7; }, "accepted-within-draft"},
      {"BonusNotEmitted", [](Trace& t) { draft_at(t, 5).emitted -= 1; }, "emitted-per-iteration"},
      {"CutThatWasNone", [](Trace& t) { draft_at(t, 5).cut = 1; }, "emitted-per-iteration"},
      {"WastedOffByOne", [](Trace& t) { *draft_at(t, 5).wasted += 1; }, "wasted"},
      {"RejectionOffByOne", [](Trace& t) { draft_at(t, 5).first_rejection = 5; },
       "first-rejection"},
      {"BonusWithoutAWholeDraft",
       [](Trace& t) {
         Iteration& draft = draft_at(t, 5);
         draft.bonus = !*draft.bonus;
       },
       "bonus"},
      {"NoDraftAndNoReason",
       [](Trace& t) {
         Iteration& silent = draft_at(t, 5);
         silent.drafted = silent.accepted = 0;
         Iteration& told = draft_at(t, 6);
         told.drafted = told.accepted = 0;
         told.fallback = "batch full";
       },
       "fallback-reason"},
      {"ReasonBesideADraft", [](Trace& t) { draft_at(t, 5).fallback = "grammar"; },
       "fallback-reason"},
      {"TermsAboveTheStep", [](Trace& t) { *draft_at(t, 5).draft += 0.01; }, "terms-within-step"},
      {"MissingIteration", [](Trace& t) { draft_at(t, 19).index = 20; }, "no-gap"},
      {"OutputThatWasNotEmitted",
       [](Trace& t) { *request_at(t, Arm::kBaseline).output_tokens += 1; }, "output-tokens"},
      {"ConditionalRateReportedAsDraftAcceptance",
       [](Trace& t) { request_at(t, Arm::kSpeculative).draft_acceptance = 0.8; },
       "reported-acceptance"},
      {"AcceptedLengthWithoutTheBonus",
       [](Trace& t) { *request_at(t, Arm::kSpeculative).accepted_length -= 1; }, "reported-length"},
      {"ArrivedLater", [](Trace& t) { *request_at(t, Arm::kSpeculative).arrival += 0.1; },
       "arms-paired"},
      {"BaselineThatDrafts", [](Trace& t) { t.iterations[1].drafted = 2; }, "baseline-plain"},
  };
}

class Lies : public testing::TestWithParam<Lie> {};

TEST_P(Lies, BreakTheIdentityThatIsAboutThem) {
  Trace trace = full_trace();
  GetParam().tell(trace);
  EXPECT_THAT(broken(trace), testing::Contains(GetParam().broken));
}

INSTANTIATE_TEST_SUITE_P(All, Lies, testing::ValuesIn(lies()),
                         [](const auto& info) { return info.param.name; });

TEST(Identities, NameTheRequestTheIterationAndTheLine) {
  Trace trace = full_trace();
  draft_at(trace, 5).accepted = 9;
  const auto identities = identities_of(cohorts_of(trace).front());
  const Breach& breach = find(identities, "accepted-within-draft").breaches.front();
  EXPECT_EQ(breach.request, "r3");
  EXPECT_EQ(breach.iteration, 5);
  EXPECT_EQ(breach.line, draft_at(trace, 5).line);
  EXPECT_EQ(breach.detail, "accepted 9, depth 4, drafted 4");
  // A draft that fits nowhere is in no bin of the histogram, and the sums say so.
  EXPECT_THAT(broken(trace), testing::IsSupersetOf({"histogram", "accepted-per-call"}));
}

TEST(Identities, KeepTheFirstBreachesAndCountAll) {
  Trace trace = full_trace();
  for (Iteration& each : trace.iterations)
    if (each.arm == Arm::kSpeculative) each.emitted += 1;
  const auto identities = identities_of(cohorts_of(trace).front());
  const auto& emitted = find(identities, "emitted-per-iteration");
  EXPECT_EQ(emitted.broken, 160u);
  EXPECT_EQ(emitted.breaches.size(), kBreachesKept);
}

TEST(Identities, NameTheConfusionBehindAReportedRate) {
  Trace trace = full_trace();
  Request& request = request_at(trace, Arm::kSpeculative);
  request.draft_acceptance = *request.accepted_length / 4;  // emitted over drafted
  const auto identities = identities_of(cohorts_of(trace).front());
  EXPECT_THAT(find(identities, "reported-acceptance").breaches.front().detail,
              testing::HasSubstr("it is emitted / drafted"));
}

TEST(Identities, OfARuleWithoutABonusWantOneTokenLessForAWholeDraft) {
  Trace trace = made_trace({});
  trace.setup.emits_bonus = false;
  EXPECT_TRUE(broken(trace).contains("emitted-per-iteration"));
  for (Iteration& each : trace.iterations)
    if (each.drafted > 0 && each.accepted == each.drafted) each.emitted -= 1;
  EXPECT_TRUE(broken(trace).empty());
}

TEST(Identities, TakeATreesDepthForItsLength) {
  Trace trace = made_trace({});
  for (Iteration& each : trace.iterations) {
    if (each.arm == Arm::kBaseline) continue;
    each.depth = each.drafted;
    each.drafted = 16;
  }
  EXPECT_TRUE(broken(trace).empty());
}

TEST(Identities, SeeARequestThatOnlyOneArmGot) {
  Trace trace = made_trace({});
  std::erase_if(trace.iterations, [](const Iteration& each) {
    return each.arm == Arm::kBaseline && each.request == "r2";
  });
  EXPECT_EQ(broken(trace), std::set<std::string>{"arms-paired"});
}

}  // namespace
}  // namespace draftproof::oracle::speed
