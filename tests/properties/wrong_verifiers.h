// Verifiers that are wrong in one small way, each a wrapper of the reference, so that every
// property can be seen to fail. Device subjects are pretended: only their traits and observations
// matter here.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "properties/property.h"
#include "reference/verify/verifiers.h"

namespace draftproof::properties {

/// The reference with a change to its outcome, its input or its coins.
class Altered final : public reference::Verifier {
 public:
  using Change =
      std::function<void(reference::Outcome&, reference::Batch&, const reference::Execution&)>;

  explicit Altered(Change change, const std::string& rule = "chain")
      : inner_(reference::verify::make_verifier(rule)), change_(std::move(change)) {
    traits_ = inner_->traits();
    traits_.name = "altered";
  }

  const reference::VerifierTraits& traits() const override { return traits_; }
  reference::VerifierTraits& traits() { return traits_; }

  reference::Outcome verify(reference::Batch& batch, const reference::Coins& coins,
                            const reference::Execution& execution) override {
    reference::Outcome outcome = inner_->verify(batch, coins, execution);
    if (change_) change_(outcome, batch, execution);
    return outcome;
  }

 private:
  std::unique_ptr<reference::Verifier> inner_;
  Change change_;
  reference::VerifierTraits traits_;
};

/// Changes only the outcome of each request.
inline Altered::Change each_outcome(
    std::function<void(reference::RequestOutcome&, const reference::Request&)> change) {
  return
      [change](reference::Outcome& outcome, reference::Batch& batch, const reference::Execution&) {
        for (std::size_t r = 0; r < outcome.requests.size(); ++r)
          change(outcome.requests[r], batch.requests[r]);
      };
}

/// The verdict of a property on a verifier, smoke battery, seed 1.
inline oracle::Verdict verdict_of(const std::string& id, reference::Verifier& verifier) {
  const auto& rules = reference::verify::rules();
  const std::string& rule = verifier.traits().rule;
  const bool is_known = std::find(rules.begin(), rules.end(), rule) != rules.end();
  const auto twin = reference::verify::make_verifier(is_known ? rule : "chain");
  Settings settings;
  settings.battery = Battery::kSmoke;
  return property(id).check({&verifier, twin.get()}, settings);
}

inline oracle::VerdictKind kind_of(const std::string& id, reference::Verifier& verifier) {
  return verdict_of(id, verifier).kind;
}

}  // namespace draftproof::properties
