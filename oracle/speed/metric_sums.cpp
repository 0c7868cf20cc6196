#include "oracle/speed/metric_sums.h"

#include <algorithm>

namespace draftproof::oracle::speed {
namespace {

/// From the first arrival to the last token; absent unless every request reports both.
std::optional<double> span(const std::vector<const Request*>& requests) {
  std::optional<double> first, last;
  for (const Request* each : requests) {
    if (!each->arrival || !each->latency) return std::nullopt;
    const double end = *each->arrival + *each->latency;
    first = std::min(first.value_or(*each->arrival), *each->arrival);
    last = std::max(last.value_or(end), end);
  }
  if (!first) return std::nullopt;
  return *last - *first;
}

}  // namespace

std::optional<double> ratio(double numerator, double denominator) {
  if (denominator == 0) return std::nullopt;
  return numerator / denominator;
}

double sum(const std::vector<const Iteration*>& arm, std::int64_t Iteration::*field) {
  double total = 0;
  for (const Iteration* each : arm) total += static_cast<double>(each->*field);
  return total;
}

std::optional<double> committed_per_call(const std::vector<const Iteration*>& arm) {
  return ratio(sum(arm, &Iteration::emitted) + sum(arm, &Iteration::cut),
               static_cast<double>(arm.size()));
}

std::optional<double> time_per_token(const std::vector<const Iteration*>& arm,
                                     Placement placement) {
  double seconds = 0;
  for (const Iteration* each : arm) {
    const auto time = time_of(*each, placement);
    if (!time) return std::nullopt;
    seconds += *time;
  }
  return ratio(seconds, sum(arm, &Iteration::emitted));
}

std::optional<double> shared_rate(const std::vector<const Iteration*>& arm,
                                  const std::function<double(const Iteration&)>& amount,
                                  std::optional<double> Iteration::*time) {
  double amounts = 0, seconds = 0;
  for (const Iteration* each : arm) {
    if (each->drafted == 0) continue;
    if (!(each->*time) || !each->batch) return std::nullopt;
    amounts += amount(*each);
    seconds += *(each->*time) / static_cast<double>(*each->batch);
  }
  return ratio(amounts, seconds);
}

std::optional<double> rho_of(const std::vector<const Iteration*>& arm) {
  double per_token = 0, verify = 0;
  for (const Iteration* each : arm) {
    if (each->drafted == 0) continue;
    if (!each->draft || !each->verify) return std::nullopt;
    per_token += *each->draft / static_cast<double>(each->drafted);
    verify += *each->verify;
  }
  return ratio(per_token, verify);
}

std::optional<double> throughput(const std::vector<const Request*>& requests) {
  const auto seconds = span(requests);
  const auto tokens = total(requests, &Request::output_tokens);
  return seconds && tokens ? ratio(*tokens, *seconds) : std::nullopt;
}

std::optional<double> goodput(const std::vector<const Request*>& requests, const Setup& setup) {
  const auto seconds = span(requests);
  if (!seconds || (!setup.slo_ttft && !setup.slo_itl)) return std::nullopt;
  double tokens = 0;
  for (const Request* each : requests) {
    const bool lacks_one = (setup.slo_ttft && !each->ttft) || (setup.slo_itl && !each->itl);
    if (lacks_one || !each->output_tokens) return std::nullopt;
    const bool is_good = (!setup.slo_ttft || *each->ttft <= *setup.slo_ttft) &&
                         (!setup.slo_itl || *each->itl <= *setup.slo_itl);
    if (is_good) tokens += static_cast<double>(*each->output_tokens);
  }
  return ratio(tokens, *seconds);
}

std::optional<double> energy_per_token(const std::vector<const Request*>& requests) {
  const auto joules = total(requests, &Request::energy);
  const auto tokens = total(requests, &Request::output_tokens);
  return joules && tokens ? ratio(*joules, *tokens) : std::nullopt;
}

}  // namespace draftproof::oracle::speed
