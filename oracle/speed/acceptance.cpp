#include "oracle/speed/acceptance.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>

#include "reference/error.h"

namespace draftproof::oracle::speed {

double expected_committed(double conditional_acceptance, std::int64_t draft_length) {
  DRAFTPROOF_CHECK(conditional_acceptance >= 0 && conditional_acceptance <= 1,
                   std::to_string(conditional_acceptance));
  DRAFTPROOF_CHECK(draft_length >= 0, std::to_string(draft_length));
  const double terms = static_cast<double>(draft_length) + 1;
  if (conditional_acceptance == 1) return terms;
  if (conditional_acceptance == 0) return 1;
  // 1 - a^n loses every digit near a = 1; expm1 keeps them.
  return -std::expm1(terms * std::log(conditional_acceptance)) / (1 - conditional_acceptance);
}

template <typename Scalar>
Scalar expected_committed(const std::vector<Scalar>& conditional_acceptance) {
  Scalar sum = 1;
  Scalar survival = 1;
  for (const Scalar& rate : conditional_acceptance) {
    DRAFTPROOF_CHECK(rate >= 0 && rate <= 1);
    survival *= rate;
    sum += survival;
  }
  return sum;
}

template double expected_committed(const std::vector<double>&);
template reference::Exact expected_committed(const std::vector<reference::Exact>&);

std::vector<double> survivals(const std::vector<double>& conditional_acceptance) {
  std::vector<double> result;
  double survival = 1;
  for (const double rate : conditional_acceptance) {
    DRAFTPROOF_CHECK(rate >= 0 && rate <= 1, std::to_string(rate));
    survival *= rate;
    result.push_back(survival);
  }
  return result;
}

double draft_acceptance_of(double conditional_acceptance, std::int64_t draft_length) {
  DRAFTPROOF_CHECK(draft_length >= 1, std::to_string(draft_length));
  const double committed = expected_committed(conditional_acceptance, draft_length);
  return (committed - 1) / static_cast<double>(draft_length);
}

double conditional_acceptance_of(double draft_acceptance, std::int64_t draft_length) {
  DRAFTPROOF_CHECK(draft_acceptance >= 0 && draft_acceptance <= 1,
                   std::to_string(draft_acceptance));
  DRAFTPROOF_CHECK(draft_length >= 1, std::to_string(draft_length));
  if (draft_acceptance == 0 || draft_acceptance == 1) return draft_acceptance;
  double low = 0, high = 1;
  while (true) {
    const double middle = low + (high - low) / 2;
    if (middle == low || middle == high) return middle;
    (draft_acceptance_of(middle, draft_length) < draft_acceptance ? low : high) = middle;
  }
}

std::optional<double> PositionRate::rate() const {
  if (reached == 0) return std::nullopt;
  return static_cast<double>(accepted) / static_cast<double>(reached);
}

Interval PositionRate::interval(double miss_probability) const {
  DRAFTPROOF_CHECK(miss_probability > 0 && miss_probability < 1);
  if (reached == 0) return {0, 1};
  using Binomial = boost::math::binomial_distribution<double>;
  const auto trials = static_cast<double>(reached);
  const auto hits = static_cast<double>(accepted);
  return {accepted == 0 ? 0 : Binomial::find_lower_bound_on_p(trials, hits, miss_probability / 2),
          accepted == reached
              ? 1
              : Binomial::find_upper_bound_on_p(trials, hits, miss_probability / 2)};
}

std::vector<PositionRate> position_rates(const std::vector<VerifiedDraft>& drafts) {
  std::int64_t longest = 0;
  for (const VerifiedDraft& draft : drafts) {
    DRAFTPROOF_CHECK(draft.accepted >= 0 && draft.accepted <= draft.draft_length);
    longest = std::max(longest, draft.draft_length);
  }
  // Differences first: a draft adds one to `reached` of positions 1 .. min(length, accepted + 1)
  // and one to `accepted` of positions 1 .. accepted.
  std::vector<PositionRate> rates(static_cast<std::size_t>(longest) + 1);
  for (const VerifiedDraft& draft : drafts) {
    if (draft.draft_length == 0) continue;
    const std::int64_t reached = std::min(draft.draft_length, draft.accepted + 1);
    rates[static_cast<std::size_t>(reached - 1)].reached += 1;
    if (draft.accepted > 0) rates[static_cast<std::size_t>(draft.accepted - 1)].accepted += 1;
  }
  rates.pop_back();
  for (std::size_t i = rates.size(); i-- > 1;) {
    rates[i - 1].reached += rates[i].reached;
    rates[i - 1].accepted += rates[i].accepted;
  }
  return rates;
}

std::optional<double> draft_acceptance(const std::vector<VerifiedDraft>& drafts) {
  double accepted = 0, proposed = 0;
  for (const VerifiedDraft& draft : drafts) {
    accepted += static_cast<double>(draft.accepted);
    proposed += static_cast<double>(draft.draft_length);
  }
  if (proposed == 0) return std::nullopt;
  return accepted / proposed;
}

std::optional<double> expected_committed(const std::vector<PositionRate>& rates,
                                         std::int64_t draft_length) {
  DRAFTPROOF_CHECK(draft_length >= 0, std::to_string(draft_length));
  PositionRate all;
  for (const PositionRate& position : rates) {
    all.reached += position.reached;
    all.accepted += position.accepted;
  }
  double sum = 1, survival = 1;
  for (std::int64_t i = 0; i < draft_length && survival > 0; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool is_measured = at < rates.size() && rates[at].reached > 0;
    const auto rate = is_measured ? rates[at].rate() : all.rate();
    if (!rate) return std::nullopt;
    survival *= *rate;
    sum += survival;
  }
  return sum;
}

}  // namespace draftproof::oracle::speed
