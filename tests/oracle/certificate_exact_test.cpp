// The certificate against subjects written here in rationals: a right one, and one for each way to
// be wrong at a single coin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "oracle/certificate.h"
#include "oracle/threshold.h"
#include "reference/error.h"
#include "reference/scalar.h"

namespace draftproof::oracle {
namespace {

using reference::BigInteger;
using reference::Exact;
using reference::MassRow;
using reference::Reason;
using reference::RequestOutcome;

MassRow row(std::vector<reference::Mass> mass) {
  MassRow result;
  result.mass = std::move(mass);
  for (reference::Mass each : result.mass) result.total += each;
  return result;
}

/// A tree with zeros in target and draft, equal rows and large masses, different at each context.
TreeLaw tree(int vocab_size, int draft_count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  TreeLaw law;
  law.vocab_size = vocab_size;
  law.draft_count = draft_count;
  std::size_t contexts = 1;
  for (int length = 0; length <= draft_count; ++length, contexts *= vocab_size) {
    std::vector<MassRow> target, draft;
    for (std::size_t context = 0; context < contexts; ++context) {
      std::vector<reference::Mass> masses[2];
      for (auto& mass : masses) {
        for (int v = 0; v < vocab_size; ++v)
          mass.push_back(random() % 4 == 0 ? 0 : random() >> (20 + random() % 8));
        mass[random() % vocab_size] += 1000;
      }
      target.push_back(row(masses[0]));
      draft.push_back(random() % 5 == 0 ? target.back() : row(masses[1]));
    }
    law.target.push_back(target);
    if (length < draft_count) law.draft.push_back(draft);
  }
  return law;
}

/// The rule in rationals with one fault switched on.
struct Subject {
  bool inclusive = false;           ///< accepts at u == ratio
  bool inclusive_draw = false;      ///< draws the earlier token at the edge of an interval
  bool residual_of_target = false;  ///< recovered tokens from the target instead of the residual
  bool reuses_coin = false;         ///< recovered token drawn with the accept coin
  bool has_hole = false;            ///< rejects a sixteenth of the axis that it should accept

  RequestOutcome run(const TreeLaw& law, const Probe& probe) const {
    RequestOutcome out;
    std::size_t context = 0;
    for (int i = 0; i < law.draft_count; ++i) {
      const MassRow& target = law.target[i][context];
      const MassRow& draft = law.draft[i][context];
      const int x = probe.draft[i];
      const Exact ratio = Exact(target.mass[x], target.total) / Exact(draft.mass[x], draft.total);
      const Exact u = unit(probe.accept_coins[i]);
      const bool hole = has_hole && u > Exact(3, 16) && u < Exact(4, 16);
      if ((u < ratio || (inclusive && u == ratio)) && !hole) {
        ++out.accepted_count;
        out.emitted.push_back({x, Reason::kAccepted});
        context = context * law.vocab_size + x;
        continue;
      }
      std::vector<Exact> weights;
      for (int v = 0; v < law.vocab_size; ++v) {
        const Exact gain = Exact(target.mass[v], target.total) -
                           (residual_of_target ? Exact(0) : Exact(draft.mass[v], draft.total));
        weights.push_back(gain > 0 ? gain : Exact(0));
      }
      const std::uint64_t coin = reuses_coin ? probe.accept_coins[i] : probe.recovered_coins[i];
      out.emitted.push_back({draw(weights, coin), Reason::kRecovered});
      return out;
    }
    std::vector<Exact> weights;
    for (reference::Mass mass : law.target[law.draft_count][context].mass)
      weights.emplace_back(mass);
    out.emitted.push_back({draw(weights, probe.bonus_coin), Reason::kBonus});
    return out;
  }

  static Exact unit(std::uint64_t coin) { return Exact(BigInteger(coin), BigInteger(1) << 64); }

  int draw(const std::vector<Exact>& weights, std::uint64_t coin) const {
    Exact sum = 0, prefix = 0;
    for (const Exact& weight : weights) sum += weight;
    for (std::size_t v = 0; v < weights.size(); ++v) {
      prefix += weights[v];
      if (unit(coin) * sum < prefix || (inclusive_draw && unit(coin) * sum == prefix))
        return static_cast<int>(v);
    }
    return -1;
  }
};

Certificate certify(const Subject& subject, const TreeLaw& law, const PlanOptions& options = {}) {
  const Plan planned = plan(law, options);
  std::vector<RequestOutcome> outcomes;
  for (const Probe& probe : planned.probes) outcomes.push_back(subject.run(law, probe));
  return judge(planned, outcomes);
}

TEST(Certificate, TheRuleItselfIsUpheldWithItsBound) {
  for (int draft_count = 0; draft_count <= 3; ++draft_count) {
    const Certificate result = certify({}, tree(3, draft_count, 7 + draft_count));
    EXPECT_EQ(result.kind, VerdictKind::kUpheld);
    EXPECT_EQ(result.failed, 0u);
    EXPECT_GT(result.decisions, 0u);
    EXPECT_GT(result.interior_probes, 0u);
    EXPECT_EQ(result.bound,
              reference::to_string(Exact(BigInteger(2 * draft_count + 3), BigInteger(1) << 65)));
    EXPECT_THAT(result.assumption,
                ::testing::HasSubstr(std::to_string(result.interior_probes) + " random coins"));
  }
}

TEST(Certificate, EachFaultAtTheEdgeOfADecisionIsViolated) {
  TreeLaw law = tree(4, 2, 11);
  law.target[0][0] = row({0, 3, 5, 1});
  law.draft[0][0] = row({4, 4, 1, 1});
  EXPECT_EQ(certify(Subject{.inclusive = true}, law).kind, VerdictKind::kViolated);
  EXPECT_EQ(certify(Subject{.residual_of_target = true}, law).kind, VerdictKind::kViolated);
  EXPECT_EQ(certify(Subject{.reuses_coin = true}, law).kind, VerdictKind::kViolated);
}

TEST(Certificate, AnInclusiveDrawIsSeenWhereAnEdgeIsACoin) {
  TreeLaw law = tree(4, 0, 3);
  law.target = {{row({1, 1, 1, 1})}};
  EXPECT_EQ(certify({}, law).kind, VerdictKind::kUpheld);
  EXPECT_EQ(certify(Subject{.inclusive_draw = true}, law).kind, VerdictKind::kViolated);
}

TEST(Certificate, AHoleInsideAnIntervalIsSeenByInteriorCoinsOnly) {
  TreeLaw law = tree(2, 1, 3);
  law.target = {{row({1, 1})}, {row({1, 1}), row({1, 1})}};
  law.draft = {{row({1, 1})}};
  PlanOptions options;
  options.interior_per_decision = 0;
  EXPECT_EQ(certify(Subject{.has_hole = true}, law, options).kind, VerdictKind::kUpheld);
  options.interior_per_decision = 100;
  EXPECT_EQ(certify(Subject{.has_hole = true}, law, options).kind, VerdictKind::kViolated);
}

TEST(Certificate, FewerOutcomesThanProbesIsInconclusiveAndAFailureIsStillAViolation) {
  const TreeLaw law = tree(3, 1, 5);
  const Plan planned = plan(law, {});
  std::vector<RequestOutcome> outcomes;
  for (const Probe& probe : planned.probes) outcomes.push_back(probe.expected);
  EXPECT_EQ(judge(planned, outcomes).kind, VerdictKind::kUpheld);
  outcomes.pop_back();
  EXPECT_EQ(judge(planned, outcomes).kind, VerdictKind::kInconclusive);
  EXPECT_EQ(judge(planned, {}).kind, VerdictKind::kInconclusive);
  outcomes[2].emitted[0].token += 1;
  const Certificate failed = judge(planned, outcomes);
  EXPECT_EQ(failed.kind, VerdictKind::kViolated);
  EXPECT_EQ(failed.first_failed, 2u);
  EXPECT_EQ(failed.failed, 1u);
  EXPECT_EQ(failed.bound, "");
}

TEST(Certificate, ProbesBothEndpointsAndBothSidesOfEveryAcceptThreshold) {
  const TreeLaw law = tree(3, 1, 9);
  const Plan planned = plan(law, {});
  for (int token = 0; token < 3; ++token) {
    if (law.draft[0][0].mass[token] == 0) continue;
    const Threshold threshold = accept_threshold(law.target[0][0], law.draft[0][0], token);
    std::vector<Threshold> wanted = {0, kAlways - 1};
    if (threshold > 0) wanted.push_back(threshold - 1);
    if (threshold < kAlways) wanted.push_back(threshold);
    for (Threshold coin : wanted)
      EXPECT_TRUE(
          std::any_of(planned.probes.begin(), planned.probes.end(), [&](const Probe& probe) {
            return probe.kind == DecisionKind::kAccept && probe.draft[0] == token &&
                   probe.accept_coins[0] == coin;
          }));
  }
}

TEST(Certificate, DraftsNoTokenWithoutDraftMass) {
  const TreeLaw law = tree(4, 2, 13);
  for (const Probe& probe : plan(law, {}).probes) {
    EXPECT_GT(law.draft[0][0].mass[probe.draft[0]], 0u);
    EXPECT_GT(law.draft[1][probe.draft[0]].mass[probe.draft[1]], 0u);
  }
}

TEST(Certificate, AMarginForgivesARoundedThresholdAndNothingLarger) {
  TreeLaw law = tree(2, 1, 3);
  law.target = {{row({1, 2})}, {row({1, 2}), row({2, 1})}};
  law.draft = {{row({2, 1})}};
  TreeLaw rounded = law, wrong = law;
  const reference::Mass scale = reference::Mass{1} << 30;
  rounded.target[0][0] = row({scale + 3, 2 * scale});
  wrong.target[0][0] = row({scale + (scale >> 12), 2 * scale});
  PlanOptions options;
  options.margin = std::uint64_t{1} << 45;
  const auto judged = [&](const TreeLaw& subject_law, const PlanOptions& with) {
    const Plan planned = plan(law, with);
    std::vector<RequestOutcome> outcomes;
    for (const Probe& probe : planned.probes) outcomes.push_back(Subject{}.run(subject_law, probe));
    return judge(planned, outcomes);
  };
  EXPECT_EQ(judged(rounded, options).kind, VerdictKind::kUpheld);
  EXPECT_EQ(judged(rounded, {}).kind, VerdictKind::kViolated);
  EXPECT_EQ(judged(wrong, options).kind, VerdictKind::kViolated);
  EXPECT_NE(judged(law, options).bound, judged(law, {}).bound);
}

TEST(Certificate, WithAMarginTokensOfTargetMassZeroAreStillProbedAtCoinZero) {
  TreeLaw law = tree(2, 1, 3);
  law.target = {{row({0, 1})}, {row({1, 2}), row({2, 1})}};
  law.draft = {{row({1, 1})}};
  PlanOptions options;
  options.margin = std::uint64_t{1} << 45;
  EXPECT_EQ(certify({}, law, options).kind, VerdictKind::kUpheld);
  EXPECT_EQ(certify(Subject{.inclusive = true}, law, options).kind, VerdictKind::kViolated);
}

TEST(Certificate, WithAMarginAResidualThatRoundingMayEmptyIsNotProbed) {
  TreeLaw law = tree(2, 1, 3);
  const reference::Mass one = reference::Mass{1} << 44;
  law.target = {{row({0, one})}, {row({1, 2}), row({2, 1})}};
  law.draft = {{row({1, one})}};
  PlanOptions options;
  const auto recovered = [&] {
    const Plan planned = plan(law, options);
    return std::count_if(planned.probes.begin(), planned.probes.end(), [](const Probe& probe) {
      return probe.expected.emitted.back().reason == Reason::kRecovered;
    });
  };
  EXPECT_GT(recovered(), 0);
  options.margin = std::uint64_t{1} << 45;
  EXPECT_EQ(recovered(), 0);
}

TEST(Certificate, WithAMarginARatioThatRoundingMayLowerIsNotProbedAtTheLargestCoin) {
  const reference::Mass one = reference::Mass{1} << 44;
  const auto probes_largest = [&](MassRow target, MassRow draft) {
    TreeLaw law = tree(2, 1, 3);
    law.target = {{std::move(target)}, {row({1, 2}), row({2, 1})}};
    law.draft = {{std::move(draft)}};
    PlanOptions options;
    options.margin = std::uint64_t{1} << 45;
    for (const Probe& probe : plan(law, options).probes)
      if (probe.kind == DecisionKind::kAccept && probe.draft[0] == 0 &&
          probe.accept_coins[0] == ~std::uint64_t{0})
        return true;
    return false;
  };
  EXPECT_FALSE(probes_largest(row({one + 1, one}), row({one, one})));
  EXPECT_TRUE(probes_largest(row({one, one}), row({one, one})));
  EXPECT_TRUE(probes_largest(row({2 * one, one}), row({one, one})));
}

TEST(Certificate, ALawThatDoesNotFitItsTreeIsOurFault) {
  TreeLaw law = tree(2, 1, 3);
  law.draft.clear();
  EXPECT_THROW(plan(law, {}), BrokenInvariant);
}

/// The bound in the certificate is a theorem about coins; here the law of 64-bit coins is computed
/// exactly from the thresholds and held against the ideal law.
TEST(Certificate, TheLawOfCoinsIsWithinTheBoundOfTheTargetLaw) {
  const TreeLaw law = tree(3, 1, 21);
  const Exact unit(BigInteger(1) << 64);
  const auto probability = [&](Threshold width) {
    return width == kAlways ? Exact(1) : Exact(static_cast<std::uint64_t>(width)) / unit;
  };
  const MassRow &target = law.target[0][0], &draft = law.draft[0][0];
  std::vector<Exact> first(3), ideal(3);
  const std::vector<Threshold> residual = residual_thresholds(target, draft);
  for (int x = 0; x < 3; ++x) {
    ideal[x] = Exact(target.mass[x], target.total);
    if (draft.mass[x] == 0) continue;
    const Exact drafted(draft.mass[x], draft.total);
    const Exact accept = probability(accept_threshold(target, draft, x));
    first[x] += drafted * accept;
    for (int v = 0; v < 3 && !residual.empty(); ++v)
      first[v] += drafted * (1 - accept) *
                  probability(residual[v] - (v == 0 ? Threshold{0} : residual[v - 1]));
  }
  Exact distance = 0;
  for (int v = 0; v < 3; ++v)
    distance += first[v] > ideal[v] ? first[v] - ideal[v] : ideal[v] - first[v];
  EXPECT_LE(distance / 2, Exact(BigInteger(2 + 3), BigInteger(1) << 65));
}

}  // namespace
}  // namespace draftproof::oracle
