// Metric sums: means and quotients over an arm that are absent unless everything they need was
// reported. A mean over the part that happens to report would be a number about something else.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "oracle/speed/trace.h"

namespace draftproof::oracle::speed {

/// Absent for a denominator of 0.
std::optional<double> ratio(double numerator, double denominator);

double sum(const std::vector<const Iteration*>& arm, std::int64_t Iteration::*field);

/// Mean over the iterations that drafted (all of them in an arm that never did); absent unless
/// every one reports the field.
template <typename Number>
std::optional<double> mean(const std::vector<const Iteration*>& arm,
                           std::optional<Number> Iteration::*field) {
  bool drafts = false;
  for (const Iteration* each : arm) drafts = drafts || each->drafted > 0;
  double total = 0, count = 0;
  for (const Iteration* each : arm) {
    if (drafts && each->drafted == 0) continue;
    if (!(each->*field)) return std::nullopt;
    total += static_cast<double>(*(each->*field));
    count += 1;
  }
  return ratio(total, count);
}

/// Over all requests; absent unless every one reports the field.
template <typename Number>
std::optional<double> total(const std::vector<const Request*>& requests,
                            std::optional<Number> Request::*field) {
  double sum = 0;
  for (const Request* each : requests) {
    if (!(each->*field)) return std::nullopt;
    sum += static_cast<double>(*(each->*field));
  }
  return requests.empty() ? std::nullopt : std::optional(sum);
}

template <typename Number>
std::optional<double> mean(const std::vector<const Request*>& requests,
                           std::optional<Number> Request::*field) {
  const auto sum = total(requests, field);
  return sum ? ratio(*sum, static_cast<double>(requests.size())) : std::nullopt;
}

/// (emitted + cut) / calls; absent for an empty arm.
std::optional<double> committed_per_call(const std::vector<const Iteration*>& arm);

/// Sum of step times over sum of emitted tokens.
std::optional<double> time_per_token(const std::vector<const Iteration*>& arm, Placement placement);

/// Amount over time, where a step's time is shared by the requests of its batch.
std::optional<double> shared_rate(const std::vector<const Iteration*>& arm,
                                  const std::function<double(const Iteration&)>& amount,
                                  std::optional<double> Iteration::*time);

/// Draft time per drafted token over verify time, both summed over calls with a draft.
std::optional<double> rho_of(const std::vector<const Iteration*>& arm);

/// Output tokens over the span from the first arrival to the last token.
std::optional<double> throughput(const std::vector<const Request*>& requests);

/// The same, of requests that met every stated bound, over the span of all of them; absent when no
/// bound is stated or a bounded latency is not reported.
std::optional<double> goodput(const std::vector<const Request*>& requests, const Setup& setup);

std::optional<double> energy_per_token(const std::vector<const Request*>& requests);

}  // namespace draftproof::oracle::speed
