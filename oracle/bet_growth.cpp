#include "oracle/bet_growth.h"

#include <algorithm>
#include <cmath>

#include "oracle/power.h"
#include "oracle/sequential.h"
#include "reference/error.h"

namespace draftproof::oracle {
namespace {

constexpr std::size_t kStakeCount = kBetShares.size();

/// Lays `mass` evenly over [start, start + width) of the unit interval's cells.
void spread(std::array<double, kPlaceCells>& cells, double start, double width, double mass) {
  const auto count = static_cast<double>(kPlaceCells);
  for (std::size_t cell = 0; cell < kPlaceCells; ++cell) {
    const double low = std::max(start, static_cast<double>(cell) / count);
    const double high = std::min(start + width, static_cast<double>(cell + 1) / count);
    if (high > low) cells[cell] += mass * (high - low) / width;
  }
}

}  // namespace

BetGrowth::BetGrowth() : directed_(directed_bets().size() * kStakeCount) {}

void BetGrowth::add(const PreparedLaws& laws, std::span<const double> actual, double weight) {
  DRAFTPROOF_CHECK(actual.size() == laws.vocab_size());
  DRAFTPROOF_CHECK(weight >= 0);
  weight_ += weight;
  for (std::size_t token = 0; token < actual.size(); ++token) {
    const double mass = weight * actual[token];
    if (mass <= 0) continue;
    if (laws.target_[token] <= 0) {
      impossible_ += mass;
      continue;
    }
    for (std::size_t order = 0; order < (laws.has_draft() ? 3U : 2U); ++order)
      spread(cells_[order], laws.starts_[order][token], laws.target_[token], mass);
    for (std::size_t bet = 0; bet < laws.bet_count_; ++bet) {
      const double ratio = laws.ratios_[token * laws.bet_count_ + bet];
      for (std::size_t stake = 0; stake < kStakeCount; ++stake) {
        directed_[bet * kStakeCount + stake] +=
            mass * std::log(1 + kBetShares[stake] * (ratio - 1));
      }
    }
  }
}

std::array<double, 3> BetGrowth::place_divergences() const {
  std::array<double, 3> divergences = {};
  for (std::size_t order = 0; order < divergences.size(); ++order) {
    double total = 0, sum = 0;
    for (const double cell : cells_[order]) total += cell;
    if (total == 0) continue;
    for (const double cell : cells_[order]) {
      const double share = cell / total;
      if (share > 0) sum += share * std::log(share * static_cast<double>(kPlaceCells));
    }
    divergences[order] = std::max(0.0, sum) * total / weight_;
  }
  return divergences;
}

double BetGrowth::expected_log(BetKind kind, double tokens) const {
  DRAFTPROOF_CHECK(weight_ > 0);
  std::vector<double> directed, places;
  for (const double each : directed_) directed.push_back(tokens * each / weight_);
  for (const double each : place_divergences())
    places.push_back(expected_log_evidence(tokens, each, kPlaceCells));
  if (kind == BetKind::kDirected) return log_mean(directed);
  if (kind == BetKind::kPlaces) return log_mean(places);
  return log_mean({log_mean(places), log_mean(directed)});
}

std::uint64_t BetGrowth::tokens_to_alarm(BetKind kind, double log_alarm) const {
  const double by_support = impossible_ > 0 ? weight_ / impossible_ : kNever;
  const double by_bets =
      tokens_to_reach(log_alarm, [&](double tokens) { return expected_log(kind, tokens); });
  const double needed = std::ceil(std::min(by_support, by_bets));
  return needed >= kNever ? std::numeric_limits<std::uint64_t>::max()
                          : static_cast<std::uint64_t>(needed);
}

double BetGrowth::strongest_growth() const {
  return *std::max_element(directed_.begin(), directed_.end()) / weight_;
}

std::string BetGrowth::strongest() const {
  const auto most = std::max_element(directed_.begin(), directed_.end());
  return directed_bets()[static_cast<std::size_t>(most - directed_.begin()) / kStakeCount];
}

}  // namespace draftproof::oracle
