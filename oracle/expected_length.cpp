// Expected length.
#include "oracle/expected_length.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <numeric>
#include <sstream>

#include "oracle/sequential.h"
#include "reference/error.h"

namespace draftproof::oracle {
namespace {

using reference::Exact;

/// Shares are powers of 2^(-1/2) down to 2^-16: the best one falls as 1 / sqrt(samples).
constexpr int kShares = 32;
/// Bisection ends at this share of the range; bounds are moved outwards by it.
constexpr double kResolution = 1e-9;

/// Logarithm of the wealth of betting that counts are above `mean`; `distance` of a count from the
/// low end of its range.
template <class Distance>
double log_wealth(const LengthCounts& counts, const Distance& distance, double mean_distance) {
  std::vector<double> logs;
  for (int j = 0; j < kShares; ++j) {
    const double share = std::exp2(-(j + 1) / 2.0);
    double sum = 0;
    for (std::size_t n = 1; n < counts.size(); ++n)
      if (counts[n] > 0)
        sum +=
            static_cast<double>(counts[n]) * std::log1p(share * (distance(n) / mean_distance - 1));
    logs.push_back(sum);
  }
  return log_mean(logs);
}

/// The largest mean distance that betting above it refutes, within `range`; 0 if none is.
template <class Distance>
double refuted_below(const LengthCounts& counts, const Distance& distance, double range,
                     double log_limit) {
  double low = 0;
  double high = range;
  // Wealth falls as the assumed mean grows.
  while (high - low > kResolution * range) {
    const double middle = (low + high) / 2;
    (log_wealth(counts, distance, middle) >= log_limit ? low : high) = middle;
  }
  return std::max(0.0, low - kResolution * range);
}

std::uint64_t total(const LengthCounts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

Verdict opened(std::string property, Claim claim, const LengthExpectation& expected) {
  DRAFTPROOF_CHECK(expected.emitted_max >= 1, std::to_string(expected.emitted_max));
  Verdict verdict;
  verdict.property = std::move(property);
  verdict.claim = claim;
  return verdict;
}

double rounded(const Exact& value) { return static_cast<double>(value); }

/// Six digits.
std::string text(double value) {
  std::ostringstream out;
  out << std::setprecision(6) << value;
  return out.str();
}
std::string text(const Exact& value) { return text(rounded(value)); }

Witness witness(const LengthExpectation& expected, std::string limit, std::string observed,
                std::string because) {
  return {"iterations of one case, rule " + expected.rule,
          std::move(limit),
          std::move(observed),
          std::move(because),
          "",
          ""};
}

void call_lossy(Verdict& verdict, const LengthExpectation& expected, const std::string& observed) {
  verdict.kind = VerdictKind::kViolated;
  verdict.notes.push_back("lossy");
  verdict.witness =
      witness(expected, "at most " + text(expected.optimum) + " tokens an iteration", observed,
              expected.optimum_name + "; more is lossy, whatever the law looks like");
}

/// Whether a subject could have been above the optimum at all; notes it if not.
bool is_exercised(Verdict& verdict, const LengthExpectation& expected) {
  if (expected.optimum < expected.emitted_max) return true;
  verdict.notes.push_back("not exercised: a lossless rule may keep every drafted token here");
  return false;
}

void call_above_its_rule(Verdict& verdict, const LengthExpectation& expected,
                         const std::string& observed) {
  verdict.kind = VerdictKind::kViolated;
  verdict.witness =
      witness(expected, text(expected.rule_length) + " tokens an iteration", observed,
              "the rule accepts more than its formula; that need not exceed what is lossless");
}

void call_below_its_rule(Verdict& verdict, bool is_lossless) {
  verdict.kind = is_lossless ? VerdictKind::kUpheld : VerdictKind::kInconclusive;
  if (is_lossless) {
    verdict.notes.push_back("lossless but inefficient");
  } else {
    verdict.notes.push_back(
        "shorter than its rule: a drafter or cache at fault, or a lossy rule; the length alone "
        "cannot tell which");
  }
}

std::string in_words(const MeanBounds& bounds) {
  return "between " + text(bounds.low) + " and " + text(bounds.high) + " tokens an iteration";
}

}  // namespace

MeanBounds mean_bounds(const LengthCounts& counts, int emitted_max, double false_alarm) {
  DRAFTPROOF_CHECK(false_alarm > 0 && false_alarm < 1, std::to_string(false_alarm));
  for (std::size_t n = 0; n < counts.size(); ++n)
    DRAFTPROOF_CHECK(counts[n] == 0 || (n >= 1 && n <= static_cast<std::size_t>(emitted_max)),
                     std::to_string(n) + " tokens in one iteration");
  const double range = emitted_max - 1;
  if (range == 0) return {1, 1};
  if (total(counts) == 0) return {1, 1 + range};
  const double log_limit = std::log(2 / false_alarm);  // half for each end
  const auto from_low = [](std::size_t n) { return static_cast<double>(n) - 1; };
  const auto from_high = [&](std::size_t n) { return emitted_max - static_cast<double>(n); };
  return {1 + refuted_below(counts, from_low, range, log_limit),
          emitted_max - refuted_below(counts, from_high, range, log_limit)};
}

Verdict emits_no_more_than_lossless(const Exact& measured, const LengthExpectation& expected) {
  Verdict verdict = opened("emits_no_more_than_lossless", Claim::kSequenceLossless, expected);
  const std::string observed =
      text(measured) + " tokens an iteration, exactly " + reference::to_string(measured);
  verdict.trials = 1;
  verdict.evidence = observed + "; the optimum is " + text(expected.optimum);
  verdict.smallest_visible_effect = "any excess over the optimum";
  verdict.assumption = "a lossy rule that is not long is not seen: this says nothing of the law";
  if (measured > expected.optimum)
    call_lossy(verdict, expected, observed);
  else if (is_exercised(verdict, expected))
    verdict.kind = VerdictKind::kUpheld;
  return verdict;
}

Verdict emits_no_more_than_lossless(const LengthCounts& counts, const LengthExpectation& expected,
                                    double false_alarm, double visible) {
  Verdict verdict = opened("emits_no_more_than_lossless", Claim::kSequenceLossless, expected);
  const MeanBounds bounds = mean_bounds(counts, expected.emitted_max, false_alarm);
  const double optimum = rounded(expected.optimum);
  verdict.trials = total(counts);
  verdict.evidence =
      in_words(bounds) + "; the optimum is " + text(optimum) + "; false alarm " + text(false_alarm);
  verdict.smallest_visible_effect =
      text(std::max(0.0, bounds.high - optimum)) + " tokens above the optimum";
  verdict.assumption =
      "the iterations are of the case that the optimum is of; a lossy rule that is not long is not "
      "seen";
  if (bounds.low > optimum)
    call_lossy(verdict, expected, in_words(bounds));
  else if (is_exercised(verdict, expected) && bounds.high <= optimum + visible)
    verdict.kind = VerdictKind::kUpheld;
  return verdict;
}

Verdict emits_as_its_rule(const Exact& measured, const LengthExpectation& expected,
                          bool is_lossless) {
  Verdict verdict = opened("emits_as_its_rule", Claim::kCoupled, expected);
  const std::string observed =
      text(measured) + " tokens an iteration, exactly " + reference::to_string(measured);
  verdict.trials = 1;
  verdict.evidence = observed + "; rule " + expected.rule + " has " + text(expected.rule_length);
  verdict.smallest_visible_effect = "any difference";
  verdict.kind = VerdictKind::kUpheld;
  if (measured > expected.rule_length)
    call_above_its_rule(verdict, expected, observed);
  else if (measured < expected.rule_length)
    call_below_its_rule(verdict, is_lossless);
  return verdict;
}

Verdict emits_as_its_rule(const LengthCounts& counts, const LengthExpectation& expected,
                          bool is_lossless, double false_alarm, double visible) {
  Verdict verdict = opened("emits_as_its_rule", Claim::kCoupled, expected);
  const MeanBounds bounds = mean_bounds(counts, expected.emitted_max, false_alarm);
  const double length = rounded(expected.rule_length);
  verdict.trials = total(counts);
  verdict.evidence = in_words(bounds) + "; rule " + expected.rule + " has " + text(length) +
                     "; false alarm " + text(false_alarm);
  verdict.smallest_visible_effect =
      text(std::max(bounds.high - length, length - bounds.low)) + " tokens either way";
  verdict.assumption = "the iterations are of the case that the formula is of";
  if (bounds.low > length)
    call_above_its_rule(verdict, expected, in_words(bounds));
  else if (bounds.high < length)
    call_below_its_rule(verdict, is_lossless);
  else if (bounds.high - bounds.low <= visible)
    verdict.kind = VerdictKind::kUpheld;
  return verdict;
}

}  // namespace draftproof::oracle
