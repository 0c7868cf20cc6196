// A verifier that is right in fp32 and promises no integer masses: 24 bits of each coin, divided
// probabilities, a rounded running sum. No property may refute it for its rounding; with one
// inclusive comparison more it must fall.
#include <gtest/gtest.h>

#include <vector>

#include "oracle/explain.h"
#include "properties/laws.h"
#include "wrong_verifiers.h"

namespace draftproof::properties {
namespace {

using reference::MassRow;
using reference::Purpose;
using reference::Reason;
using reference::Status;

class Rounding final : public reference::Verifier {
 public:
  explicit Rounding(bool is_inclusive) : is_inclusive_(is_inclusive) {
    traits_.name = "rounding";
    traits_.rule = "chain";
    traits_.declares_masses = false;
  }

  const reference::VerifierTraits& traits() const override { return traits_; }

  reference::Outcome verify(reference::Batch& batch, const reference::Coins& coins,
                            const reference::Execution&) override {
    reference::Outcome outcome;
    for (const reference::Request& request : batch.requests)
      outcome.requests.push_back(judged(batch, request, coins));
    return outcome;
  }

 private:
  static std::vector<float> probabilities(const MassRow& row) {
    std::vector<float> result;
    for (reference::Mass mass : row.mass)
      result.push_back(static_cast<float>(mass) / static_cast<float>(row.total));
    return result;
  }

  static int drawn(const std::vector<float>& weights, float u) {
    float sum = 0, prefix = 0;
    for (float weight : weights) sum += weight;
    int last = 0;
    for (std::size_t v = 0; v < weights.size(); ++v) {
      if (weights[v] <= 0) continue;
      last = static_cast<int>(v);
      prefix += weights[v];
      if (u * sum < prefix) return last;
    }
    return last;
  }

  reference::RequestOutcome judged(const reference::Batch& batch, const reference::Request& request,
                                   const reference::Coins& coins) const {
    reference::RequestOutcome out;
    const int count = draft_count(request);
    for (int i = 0;; ++i) {
      const auto u = [&](Purpose purpose) {
        const std::uint64_t coin = coins.coin(
            {request.id, request.position + static_cast<std::uint32_t>(i), purpose, 0, 0});
        return static_cast<float>(coin >> 40) * 0x1p-24f;
      };
      const auto stopped = [&](Status status) {
        out.status = status;
        out.status_position = i;
        return out;
      };
      const MassRow target = target_law(batch, request, i);
      if (target.status != Status::kOk) return stopped(target.status);
      const std::vector<float> p = probabilities(target);
      if (i == count) {
        out.emitted.push_back({drawn(p, u(Purpose::kBonus)), Reason::kBonus});
        return out;
      }
      const reference::Token token = request.proposal.tokens[i];
      const MassRow draft = draft_law(batch, request, i);
      if (draft.status != Status::kOk) return stopped(draft.status);
      if (draft.mass[token] == 0) return stopped(Status::kDraftMassZero);
      const std::vector<float> q = probabilities(draft);
      const float ratio = p[token] / q[token];
      if (u(Purpose::kAccept) < ratio || (is_inclusive_ && u(Purpose::kAccept) == ratio)) {
        out.emitted.push_back({token, Reason::kAccepted});
        ++out.accepted_count;
        continue;
      }
      std::vector<float> residual;
      float left = 0;
      for (std::size_t v = 0; v < p.size(); ++v) {
        residual.push_back(std::max(0.0f, p[v] - q[v]));
        left += residual[v];
      }
      // Rounding may leave nothing of a residual that is smaller than it.
      if (left == 0) residual = p;
      out.emitted.push_back({drawn(residual, u(Purpose::kRecovered)), Reason::kRecovered});
      return out;
    }
  }

  bool is_inclusive_;
  reference::VerifierTraits traits_;
};

TEST(RoundingVerifier, IsUpheldByEveryPropertyThatApplies) {
  int applied = 0;
  for (const Property& each : catalog()) {
    Rounding verifier(false);
    if (!each.exemption(verifier.traits()).empty()) continue;
    const oracle::Verdict verdict = verdict_of(each.id, verifier);
    EXPECT_EQ(verdict.kind, oracle::VerdictKind::kUpheld) << oracle::explain(verdict);
    ++applied;
  }
  EXPECT_GE(applied, 11);
}

TEST(RoundingVerifier, CarriesALargerBoundThanTheMassesDo) {
  Rounding rounding(false);
  Altered exact(nullptr);
  const auto bound = [](reference::Verifier& verifier) {
    return *verdict_of("emitted_law_is_target_law", verifier).bound;
  };
  EXPECT_NE(bound(rounding), bound(exact));
}

TEST(RoundingVerifier, WithAnInclusiveComparisonFallsAtCoinZero) {
  for (const char* id :
       {"nothing_outside_the_support", "emitted_law_is_target_law", "hostile_draft_rejects_all"}) {
    Rounding verifier(true);
    EXPECT_EQ(kind_of(id, verifier), oracle::VerdictKind::kViolated) << id;
  }
}

}  // namespace
}  // namespace draftproof::properties
