#include "oracle/directed_bets.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/error.h"

namespace draftproof::oracle {
namespace {

enum TargetBet : std::size_t {
  kWarmer,
  kColder,
  kUniformLeak,
  kLikeliestFavoured,
  kLikeliestSlighted,
  kLeastLikelyDropped,
  kTargetBetCount
};
enum StepBet : std::size_t {
  kDraftUnverified,
  kResidualNotSubtracted,
  kRatio105,
  kRatio12,
  kRatio09,
  kColderDraftInRatio,
  kWarmerDraftInRatio,
  kAbsoluteResidual,
  kTargetAtLeastDraft,
  kTargetProbability,
  kLikeliestDraftAsSampled,
  kStepBetCount
};

constexpr double kTilts[] = {1 / 1.1, 1.1};                 // exponents of the target
constexpr double kDraftTemperatures[] = {1 / .9, 1 / 1.1};  // exponents of the draft
constexpr double kMoved = .2;                               // of a leak or of the likeliest token

double total_of(const std::vector<double>& weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

std::vector<double> divided(std::span<const double> weights) {
  std::vector<double> law(weights.begin(), weights.end());
  const double total = total_of(law);
  DRAFTPROOF_CHECK(std::fabs(total - 1) <= 1e-9, "sums to " + std::to_string(total));
  for (double& each : law) each /= total;
  return law;
}

double factor_of(std::size_t bet) {
  return bet == kRatio105 ? 1.05 : bet == kRatio12 ? 1.2 : bet == kRatio09 ? .9 : 1;
}

}  // namespace

const std::vector<std::string>& directed_bets() {
  static const std::vector<std::string> names = {
      "target at temperature 1.1",
      "target at temperature 1/1.1",
      "uniform leak",
      "likeliest token favoured",
      "likeliest token slighted",
      "least likely token dropped",
      "draft taken unverified",
      "residual not subtracted",
      "ratio times 1.05",
      "ratio times 1.2",
      "ratio times 0.9",
      "draft at temperature 0.9 in the ratio",
      "draft at temperature 1.1 in the ratio",
      "residual of the absolute difference",
      "accepted where target >= draft",
      "accepted with the target's probability",
      "likeliest draft taken for a drawn one",
  };
  return names;
}

std::size_t target_bet_count() { return kTargetBetCount; }

BetLaws::BetLaws(const PositionLaws& laws) : target_(divided(laws.target)) {
  if (!laws.draft.empty()) {
    DRAFTPROOF_CHECK(laws.draft.size() == laws.target.size());
    draft_ = divided(laws.draft);
  }
  bool has_least = false;
  for (std::size_t token = 0; token < target_.size(); ++token) {
    if (target_[token] > target_[likeliest_]) likeliest_ = token;
    if (target_[token] <= 0) continue;
    ++support_;
    if (!has_least || target_[token] < target_[least_likely_]) least_likely_ = token;
    has_least = true;
  }
  // Not one minus the likeliest, which has no digits left where that is nearly one.
  for (std::size_t token = 0; token < target_.size(); ++token)
    others_total_ += token == likeliest_ ? 0 : target_[token];
  sum_tilts();
  if (has_draft()) sum_steps();
}

std::size_t BetLaws::bet_count() const {
  const std::size_t target_bets = kTargetBetCount;
  return has_draft() ? target_bets + kStepBetCount : target_bets;
}

void BetLaws::sum_tilts() {
  for (const double each : target_) {
    if (each <= 0) continue;
    const double logarithm = std::log(each);
    for (std::size_t i = 0; i < 2; ++i) tilt_totals_[i] += std::exp(kTilts[i] * logarithm);
  }
}

void BetLaws::sum_steps() {
  likeliest_draft_ =
      static_cast<std::size_t>(std::max_element(draft_.begin(), draft_.end()) - draft_.begin());
  for (std::size_t i = 0; i < 2; ++i) {
    other_draft_[i].reserve(draft_.size());
    for (const double each : draft_)
      other_draft_[i].push_back(each > 0 ? std::pow(each, kDraftTemperatures[i]) : 0);
    const double total = total_of(other_draft_[i]);
    for (double& each : other_draft_[i]) each /= total;
  }
  sums_.resize(kStepBetCount);
  for (std::size_t bet = 0; bet < kStepBetCount; ++bet) {
    double taken = 0;
    for (std::size_t token = 0; token < target_.size(); ++token) {
      taken += kept(bet, token);
      sums_[bet].residual_total += residual(bet, token);
    }
    sums_[bet].rest = std::max(0.0, 1 - taken);
  }
}

double BetLaws::kept(std::size_t bet, std::size_t token) const {
  const double target = target_[token], draft = draft_[token];
  switch (bet) {
    case kDraftUnverified:
      return draft;
    case kColderDraftInRatio:
    case kWarmerDraftInRatio: {
      const double reported = other_draft_[bet == kColderDraftInRatio ? 0 : 1][token];
      return reported <= target ? draft : draft * target / reported;
    }
    case kTargetAtLeastDraft:
      return target >= draft ? draft : 0;
    case kTargetProbability:
      return draft * target;
    case kLikeliestDraftAsSampled:
      return token == likeliest_draft_ ? std::min(1.0, target / draft) : 0;
    default:
      return std::min(draft, factor_of(bet) * target);
  }
}

double BetLaws::residual(std::size_t bet, std::size_t token) const {
  const double target = target_[token], draft = draft_[token];
  switch (bet) {
    case kResidualNotSubtracted:
      return target;
    case kAbsoluteResidual:
      return std::fabs(target - draft);
    case kColderDraftInRatio:
    case kWarmerDraftInRatio:
      return std::max(0.0, target - other_draft_[bet == kColderDraftInRatio ? 0 : 1][token]);
    default:
      return std::max(0.0, target - draft);
  }
}

double BetLaws::ratio(std::size_t bet, std::size_t token) const {
  const double target = target_[token];
  switch (bet) {
    case kWarmer:
    case kColder:
      return std::pow(target, kTilts[bet] - 1) / tilt_totals_[bet];
    case kUniformLeak:
      return 1 - kMoved + kMoved / (static_cast<double>(support_) * target);
    case kLikeliestFavoured:
      return 1 - kMoved + (token == likeliest_ ? kMoved / target : 0);
    case kLikeliestSlighted: {
      if (token == likeliest_) return support_ > 1 ? 1 - kMoved : 1;
      return 1 + kMoved * target_[likeliest_] / others_total_;
    }
    case kLeastLikelyDropped:
      if (support_ < 2) return 1;
      return token == least_likely_ ? 0 : 1 / (1 - target_[least_likely_]);
    default:
      break;
  }
  const std::size_t step = bet - kTargetBetCount;
  const Sums& sums = sums_[step];
  // Without a residual (the laws are equal) a rejection draws from the target.
  const double rest = sums.residual_total > 0
                          ? sums.rest * residual(step, token) / sums.residual_total
                          : sums.rest * target;
  return (kept(step, token) + rest) / target;
}

}  // namespace draftproof::oracle
