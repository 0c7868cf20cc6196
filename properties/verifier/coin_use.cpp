#include "properties/verifier/coin_use.h"

#include <algorithm>
#include <optional>

#include "properties/verifier/probe_coins.h"

namespace draftproof::properties::verifier {
namespace {

using oracle::Probe;
using reference::EmittedToken;
using reference::Reason;
using reference::RequestOutcome;

constexpr std::uint64_t kSwept = 64;

/// The decision at which two outcomes part.
struct Decision {
  std::size_t position = 0;
  Reason reason = Reason::kAccepted;  ///< kAccepted: whether to accept; else which token to draw
};

bool is_well_formed(const RequestOutcome& outcome) {
  return outcome.status == reference::Status::kOk && !outcome.emitted.empty();
}

std::optional<Decision> parting(const RequestOutcome& expected, const RequestOutcome& observed) {
  if (!is_well_formed(observed)) return std::nullopt;
  const std::size_t count = std::min(expected.emitted.size(), observed.emitted.size());
  for (std::size_t i = 0; i < count; ++i) {
    const EmittedToken &due = expected.emitted[i], &seen = observed.emitted[i];
    if (due == seen) continue;
    if ((due.reason == Reason::kAccepted) != (seen.reason == Reason::kAccepted))
      return Decision{i, Reason::kAccepted};
    if (due.reason != seen.reason || due.reason == Reason::kAccepted) return std::nullopt;
    return Decision{i, due.reason};
  }
  return std::nullopt;
}

std::uint64_t& coin_of(Probe& probe, const Decision& decision) {
  if (decision.reason == Reason::kAccepted) return probe.accept_coins[decision.position];
  if (decision.reason == Reason::kBonus) return probe.bonus_coin;
  return probe.recovered_coins[decision.position];
}

/// Other coins wherever none belongs to the decision or to the acceptances before it.
void exchange_others(Probe& probe, const Decision& decision, Random& random) {
  const std::uint64_t own = coin_of(probe, decision);
  const std::size_t kept = decision.position + (decision.reason == Reason::kAccepted ? 0 : 1);
  for (std::size_t i = kept; i < probe.accept_coins.size(); ++i)
    probe.accept_coins[i] = random.bits();
  for (std::uint64_t& coin : probe.recovered_coins) coin = random.bits();
  probe.bonus_coin = random.bits();
  coin_of(probe, decision) = own;
}

/// What each probe decided, as numbers in the order that thresholds have: accepted before rejected,
/// tokens by id. -1: it did not come to the decision.
std::vector<int> decided(reference::Verifier& verifier, const TreeFixture& fixture,
                         const std::vector<Probe>& probes, const Decision& decision) {
  reference::Batch batch = fixture.batch();
  for (std::size_t i = 0; i < probes.size(); ++i) {
    batch.requests.push_back(fixture.request(probes[i].draft));
    batch.requests.back().id = static_cast<std::uint32_t>(i);
  }
  const ProbeCoins coins(probes.data(), probes.size());
  const reference::Outcome outcome = verifier.verify(batch, coins, {});
  std::vector<int> result(probes.size(), -1);
  for (std::size_t i = 0; i < std::min(probes.size(), outcome.requests.size()); ++i) {
    const std::vector<EmittedToken>& emitted = outcome.requests[i].emitted;
    if (emitted.size() <= decision.position) continue;
    const EmittedToken& seen = emitted[decision.position];
    if (decision.reason == Reason::kAccepted)
      result[i] = seen.reason == Reason::kAccepted ? 0 : 1;
    else if (seen.reason == decision.reason)
      result[i] = seen.token;
  }
  return result;
}

}  // namespace

bool decides_by_thresholds(reference::Verifier& verifier, const TreeFixture& fixture,
                           const Probe& probe, const RequestOutcome& observed) {
  const auto decision = parting(probe.expected, observed);
  if (!decision) return true;
  std::vector<Probe> sweep(kSwept + 1, probe);
  for (std::uint64_t i = 0; i <= kSwept; ++i)
    coin_of(sweep[i], *decision) = i == kSwept ? ~std::uint64_t{0} : i << 58;
  const std::vector<int> swept = decided(verifier, fixture, sweep, *decision);
  if (swept.front() < 0 || !std::is_sorted(swept.begin(), swept.end())) return false;
  Random random(1);
  for (Probe& each : sweep) exchange_others(each, *decision, random);
  return decided(verifier, fixture, sweep, *decision) == swept;
}

}  // namespace draftproof::properties::verifier
