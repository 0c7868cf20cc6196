#include "oracle/conditional.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "oracle/sequential.h"
#include "reference/error.h"

namespace draftproof::oracle {
namespace {

constexpr std::size_t kShareCount = kBetShares.size();
const char* const kOrders[] = {"place by id", "place, likeliest first",
                               "place by draft over target"};

/// Tokens in the order in which their shares are laid out.
std::vector<std::size_t> in_order(const std::vector<double>& keys) {
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    return keys[one] != keys[other] ? keys[one] > keys[other] : one < other;
  });
  return order;
}

/// Large first; a token outside the support has no width, so any key will do.
double key_of(const BetLaws& laws, std::size_t order, std::size_t token) {
  const double target = laws.target()[token];
  if (order == 1) return target;
  return target > 0 ? laws.draft()[token] / target : 0;
}

std::vector<double> keys_of(const BetLaws& laws, std::size_t order) {
  std::vector<double> keys(laws.vocab_size());
  for (std::size_t token = 0; token < keys.size(); ++token)
    keys[token] = key_of(laws, order, token);
  return keys;
}

/// Where the share of one token starts, without sorting.
double start_of(const BetLaws& laws, std::size_t order, std::size_t token) {
  double start = 0;
  const double own = order == 0 ? 0 : key_of(laws, order, token);
  for (std::size_t other = 0; other < laws.vocab_size(); ++other) {
    const double key = order == 0 ? 0 : key_of(laws, order, other);
    if (key > own || (key == own && other < token)) start += laws.target()[other];
  }
  return start;
}

}  // namespace

PreparedLaws::PreparedLaws(const PositionLaws& laws) {
  const BetLaws bets(laws);
  target_.assign(bets.target().begin(), bets.target().end());
  const std::size_t order_count = bets.has_draft() ? 3 : 2;
  for (std::size_t order = 0; order < order_count; ++order) {
    starts_[order].resize(target_.size());
    const std::vector<double> keys =
        order == 0 ? std::vector<double>(target_.size()) : keys_of(bets, order);
    double start = 0;
    for (const std::size_t token : in_order(keys)) {
      starts_[order][token] = start;
      start += target_[token];
    }
  }
  bet_count_ = bets.bet_count();
  ratios_.resize(target_.size() * bet_count_);
  for (std::size_t token = 0; token < target_.size(); ++token) {
    if (target_[token] <= 0) continue;
    for (std::size_t bet = 0; bet < bet_count_; ++bet)
      ratios_[token * bet_count_ + bet] = bets.ratio(bet, token);
  }
}

ConditionalEvidence::ConditionalEvidence(double tolerance)
    : tolerance_(tolerance), directed_(directed_bets().size() * kShareCount) {
  DRAFTPROOF_CHECK(tolerance >= 0, std::to_string(tolerance));
  // E[1 + share (r/target - 1)] <= 1 - share + share e^tolerance under any law in the slack.
  for (const double share : kBetShares)
    tolerances_.push_back(std::log1p(share * std::expm1(tolerance)));
}

void ConditionalEvidence::add_places(const std::array<double, 3>& starts, double width,
                                     bool has_draft, double coin) {
  DRAFTPROOF_CHECK(coin >= 0 && coin < 1, std::to_string(coin));
  with_draft_count_ += has_draft ? 1 : 0;
  for (std::size_t order = 0; order < (has_draft ? 3U : 2U); ++order) {
    const double place = starts[order] + coin * width;
    const auto cell = static_cast<std::size_t>(place * static_cast<double>(kPlaceCells));
    ++places_[order][std::min(cell, kPlaceCells - 1)];
  }
}

void ConditionalEvidence::add_bet(std::size_t bet, double ratio) {
  for (std::size_t share = 0; share < kShareCount; ++share) {
    directed_[bet * kShareCount + share] +=
        std::log(1 + kBetShares[share] * (ratio - 1)) - tolerances_[share];
  }
}

void ConditionalEvidence::add(const PreparedLaws& laws, reference::Token token, double coin) {
  ++token_count_;
  const auto id = static_cast<std::size_t>(token);
  if (token < 0 || id >= laws.vocab_size() || laws.target_[id] <= 0) {
    ++impossible_count_;
    return;
  }
  std::array<double, 3> starts = {laws.starts_[0][id], laws.starts_[1][id], 0};
  if (laws.has_draft()) starts[2] = laws.starts_[2][id];
  add_places(starts, laws.target_[id], laws.has_draft(), coin);
  for (std::size_t bet = 0; bet < laws.bet_count_; ++bet)
    add_bet(bet, laws.ratios_[id * laws.bet_count_ + bet]);
}

void ConditionalEvidence::add(const PositionLaws& laws, reference::Token token, double coin) {
  const auto id = static_cast<std::size_t>(token);
  if (token < 0 || id >= laws.target.size() || laws.target[id] <= 0) {
    ++token_count_;
    ++impossible_count_;
    return;
  }
  const BetLaws bets(laws);
  ++token_count_;
  std::array<double, 3> starts = {};
  for (std::size_t order = 0; order < (bets.has_draft() ? 3U : 2U); ++order)
    starts[order] = start_of(bets, order, id);
  add_places(starts, bets.target()[id], bets.has_draft(), coin);
  for (std::size_t bet = 0; bet < bets.bet_count(); ++bet) add_bet(bet, bets.ratio(bet, id));
}

void ConditionalEvidence::merge(const ConditionalEvidence& other) {
  DRAFTPROOF_CHECK(tolerance_ == other.tolerance_, "evidence for two tolerances");
  token_count_ += other.token_count_;
  impossible_count_ += other.impossible_count_;
  with_draft_count_ += other.with_draft_count_;
  for (std::size_t order = 0; order < places_.size(); ++order) {
    for (std::size_t cell = 0; cell < kPlaceCells; ++cell)
      places_[order][cell] += other.places_[order][cell];
  }
  for (std::size_t i = 0; i < directed_.size(); ++i) directed_[i] += other.directed_[i];
}

std::array<double, 3> ConditionalEvidence::log_places() const {
  static const std::vector<double> uniform(kPlaceCells, 1.0 / kPlaceCells);
  std::array<double, 3> values = {};
  for (std::size_t order = 0; order < values.size(); ++order) {
    const auto& cells = places_[order];
    const std::uint64_t count = std::accumulate(cells.begin(), cells.end(), std::uint64_t{0});
    values[order] = log_evidence({cells.begin(), cells.end()}, uniform) -
                    tolerance_ * static_cast<double>(count);
  }
  return values;
}

double ConditionalEvidence::log_e_value_of_places() const {
  if (impossible_count_ > 0) return std::numeric_limits<double>::infinity();
  const auto places = log_places();
  return log_mean({places.begin(), places.end()});
}

double ConditionalEvidence::log_e_value_of_directed() const {
  if (impossible_count_ > 0) return std::numeric_limits<double>::infinity();
  return log_mean(directed_);
}

double ConditionalEvidence::log_e_value() const {
  return log_mean({log_e_value_of_places(), log_e_value_of_directed()});
}

std::string ConditionalEvidence::strongest() const {
  if (impossible_count_ > 0) return "a token outside the support";
  const auto places = log_places();
  const auto place = std::max_element(places.begin(), places.end());
  const auto bet = std::max_element(directed_.begin(), directed_.end());
  if (*place > *bet) return kOrders[place - places.begin()];
  return directed_bets()[static_cast<std::size_t>(bet - directed_.begin()) / kShareCount];
}

}  // namespace draftproof::oracle
