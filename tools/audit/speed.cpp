#include "tools/audit/speed.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "tools/audit/busy_clock.h"
#include "tools/audit/collector.h"
#include "tools/audit/draft_divergence.h"

namespace draftproof::tools::audit {
namespace {

using properties::Arm;
using properties::Completion;
using properties::CompletionEnd;
using properties::Transcript;
using properties::audits::AuditCase;
using properties::audits::Evidence;
using properties::audits::Matrix;

/// One answer with its times.
struct Timed {
  double latency = 0;
  std::uint64_t tokens = 0;
  std::optional<double> ttft, decode;  ///< streamed; in two pieces or more
  std::uint64_t decoded = 0;           ///< tokens behind the first piece

  /// Of an answer in one piece there is nothing to wait for behind it.
  std::optional<double> itl() const {
    if (decode) return *decode / static_cast<double>(decoded);
    return ttft ? std::optional<double>(0) : std::nullopt;
  }
};

std::optional<Timed> timed(const Completion& completion) {
  if (!completion.timing || completion.end == CompletionEnd::kFailed) return std::nullopt;
  const properties::Timing& timing = *completion.timing;
  Timed result;
  result.latency = timing.ended - timing.due;
  result.tokens = completion.token_ids.size();
  if (!(result.latency > 0) || result.tokens == 0) return std::nullopt;
  if (timing.token_times.empty()) return result;
  result.ttft = timing.token_times.front() - timing.due;
  if (timing.token_times.size() < 2) return result;
  const std::uint64_t first =
      timing.token_counts.empty() ? 1 : static_cast<std::uint64_t>(timing.token_counts.front());
  if (result.tokens <= first) return result;
  result.decode = timing.token_times.back() - timing.token_times.front();
  result.decoded = result.tokens - first;
  return result;
}

/// Absent: it does not tell.
std::optional<bool> keeps(const Timed& answer, const ServiceLevel& level) {
  const auto itl = answer.itl();
  if ((level.ttft && !answer.ttft) || (level.itl && !itl)) return std::nullopt;
  return (!level.ttft || *answer.ttft <= *level.ttft) && (!level.itl || *itl <= *level.itl);
}

/// Tokens and busy time of an arm's answers.
class Rates {
 public:
  explicit Rates(const ServiceLevel& level) : level_(level) {}

  void add(const Timed& answer, const properties::Timing& timing) {
    in_flight_.emplace_back(timing.due, timing.ended);
    tokens_ += static_cast<double>(answer.tokens);
    const std::optional<bool> is_good = keeps(answer, level_);
    is_told_ = is_told_ && is_good.has_value();
    if (!is_good || !*is_good) return;
    ++good_;
    good_tokens_ += static_cast<double>(answer.tokens);
  }
  /// An answer that failed kept its requests waiting, and no level.
  void miss(const Completion& completion) {
    if (completion.end == CompletionEnd::kFailed && completion.timing)
      in_flight_.emplace_back(completion.timing->due, completion.timing->ended);
  }
  void tell(ArmSpeed& speed) const {
    const double seconds = BusyClock(in_flight_).total();
    if (!(seconds > 0)) return;
    speed.throughput = tokens_ / seconds;
    if (!level_.is_stated() || !is_told_) return;
    speed.goodput = good_tokens_ / seconds;
    speed.good_share = static_cast<double>(good_) / static_cast<double>(in_flight_.size());
  }

 private:
  const ServiceLevel& level_;
  std::vector<std::pair<double, double>> in_flight_;
  double tokens_ = 0, good_tokens_ = 0;
  std::size_t good_ = 0;
  bool is_told_ = true;
};

std::optional<double> quantile(std::vector<double> values, double share) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  return values[std::min(at, values.size() - 1)];
}

void count(const Completion& completion, ArmSpeed& arm) {
  if (!completion.counters) return;
  arm.drafted = arm.drafted.value_or(0) + completion.counters->drafted;
  arm.accepted = arm.accepted.value_or(0) + completion.counters->accepted;
  arm.emitted = arm.emitted.value_or(0) + completion.counters->emitted;
}

ArmSpeed arm_speed(const Matrix& matrix, const std::vector<const AuditCase*>& cases,
                   const Evidence& evidence, Arm arm, const ServiceLevel& level) {
  ArmSpeed speed;
  Rates rates(level);
  std::vector<double> first, latencies;
  double decode = 0, decode_latency = 0, latency = 0;
  std::uint64_t decoded = 0, tokens = 0;
  for (const AuditCase* each : cases) {
    for (const auto& [trial, transcript] : evidence.of(each->id, arm)) {
      const auto one = timed(transcript.completion);
      rates.miss(transcript.completion);
      ++speed.answers;
      speed.tokens += transcript.completion.token_ids.size();
      count(transcript.completion, speed);
      if (!one) continue;
      rates.add(*one, *transcript.completion.timing);
      latencies.push_back(one->latency);
      latency += one->latency;
      tokens += one->tokens;
      if (one->ttft) first.push_back(*one->ttft);
      if (!one->decode) continue;
      decode += *one->decode;
      decoded += one->decoded;
      decode_latency += one->latency;
    }
  }
  rates.tell(speed);
  speed.ttft = quantile(first, 0.5);
  speed.latency = quantile(latencies, 0.5);
  speed.latency_tail = quantile(latencies, 0.99);
  if (tokens > 0) speed.token_time = latency / static_cast<double>(tokens);
  if (decoded > 0) speed.itl = decode / static_cast<double>(decoded);
  if (decode_latency > 0) speed.decode_share = decode / decode_latency;
  for (const auto& setting : matrix.settings) {
    const auto& cold = evidence.of(cold_case(setting), arm);
    if (cold.empty() || speed.cold_latency) continue;
    if (const auto one = timed(cold.begin()->second.completion)) speed.cold_latency = one->latency;
  }
  return speed;
}

/// Time and tokens of a trial in both arms.
struct Pair {
  double time[2];
  std::uint64_t tokens[2];
};

std::vector<Pair> pairs_of(const std::vector<const AuditCase*>& cases, const Evidence& evidence,
                           bool is_streamed) {
  std::vector<Pair> pairs;
  for (const AuditCase* each : cases) {
    const auto& others = evidence.of(each->id, Arm::kSpeculative);
    for (const auto& [trial, transcript] : evidence.of(each->id, Arm::kBaseline)) {
      const auto other = others.find(trial);
      if (other == others.end()) continue;
      const auto left = timed(transcript.completion), right = timed(other->second.completion);
      if (!left || !right) continue;
      if (!is_streamed) {
        pairs.push_back({{left->latency, right->latency}, {left->tokens, right->tokens}});
      } else if (left->decode && right->decode) {
        pairs.push_back({{*left->decode, *right->decode}, {left->decoded, right->decoded}});
      }
    }
  }
  return pairs;
}

std::optional<oracle::speed::JackknifeInterval> ratio_of(const std::vector<Pair>& pairs,
                                                         double confidence) {
  const std::size_t groups = std::min(pairs.size(), oracle::speed::kMostGroups);
  if (groups == 0) return std::nullopt;
  // Sums of groups, so that leaving one out costs nothing.
  std::vector<Pair> sums(groups, Pair{{0, 0}, {0, 0}});
  Pair all{{0, 0}, {0, 0}};
  for (std::size_t i = 0; i < pairs.size(); ++i)
    for (Pair* sum : {&sums[i % groups], &all})
      for (const int arm : {0, 1}) {
        sum->time[arm] += pairs[i].time[arm];
        sum->tokens[arm] += pairs[i].tokens[arm];
      }
  const auto without = [&](std::size_t group) -> std::optional<double> {
    double token_time[2];
    for (const int arm : {0, 1}) {
      const double time = all.time[arm] - (group < groups ? sums[group].time[arm] : 0);
      const std::uint64_t tokens = all.tokens[arm] - (group < groups ? sums[group].tokens[arm] : 0);
      if (tokens == 0 || !(time > 0)) return std::nullopt;
      token_time[arm] = time / static_cast<double>(tokens);
    }
    return token_time[0] / token_time[1];
  };
  return oracle::speed::jackknife(without, groups, 1 - confidence);
}

CohortSpeed cohort_speed(const Matrix& matrix, const std::string& name,
                         const std::vector<const AuditCase*>& cases, const Evidence& evidence,
                         double confidence, const ServiceLevel& level) {
  CohortSpeed cohort;
  cohort.name = name;
  cohort.baseline = arm_speed(matrix, cases, evidence, Arm::kBaseline, level);
  cohort.speculative = arm_speed(matrix, cases, evidence, Arm::kSpeculative, level);
  cohort.is_streamed = cohort.baseline.itl && cohort.speculative.itl;
  cohort.ratio = ratio_of(pairs_of(cases, evidence, cohort.is_streamed), confidence);
  return cohort;
}

std::string cohort_of(const AuditCase& audit_case) {
  return audit_case.cohort.empty() ? "all" : audit_case.cohort;
}

std::map<std::pair<std::string, Arm>, BusyClock> clocks_of(const Matrix& matrix,
                                                           const Evidence& evidence) {
  std::map<std::pair<std::string, Arm>, std::vector<std::pair<double, double>>> in_flight;
  for (const AuditCase& each : matrix.cases)
    for (const Arm arm : {Arm::kBaseline, Arm::kSpeculative})
      for (const auto& [trial, transcript] : evidence.of(each.id, arm))
        if (timed(transcript.completion))
          in_flight[{cohort_of(each), arm}].emplace_back(transcript.completion.timing->due,
                                                         transcript.completion.timing->ended);
  std::map<std::pair<std::string, Arm>, BusyClock> clocks;
  for (auto& [key, requests] : in_flight) clocks.emplace(key, BusyClock(std::move(requests)));
  return clocks;
}

}  // namespace

std::optional<double> ArmSpeed::committed_per_call() const {
  if (!emitted || !accepted || *emitted <= *accepted) return std::nullopt;
  return static_cast<double>(*emitted) / static_cast<double>(*emitted - *accepted);
}

std::optional<double> ArmSpeed::draft_acceptance() const {
  if (!drafted || !accepted || *drafted <= 0) return std::nullopt;
  return static_cast<double>(*accepted) / static_cast<double>(*drafted);
}

std::vector<CohortSpeed> speeds_of(const Matrix& matrix, const Evidence& evidence,
                                   double confidence, const ServiceLevel& level) {
  std::vector<const AuditCase*> all;
  std::map<std::string, std::vector<const AuditCase*>> by_cohort;
  for (const AuditCase& each : matrix.cases) {
    all.push_back(&each);
    if (!each.cohort.empty()) by_cohort[each.cohort].push_back(&each);
  }
  std::vector<CohortSpeed> speeds = {cohort_speed(matrix, "all", all, evidence, confidence, level)};
  for (const auto& [name, cases] : by_cohort)
    speeds.push_back(cohort_speed(matrix, name, cases, evidence, confidence, level));
  return speeds;
}

oracle::speed::Trace trace_of(const Matrix& matrix, const Evidence& evidence,
                              const ServiceLevel& level) {
  oracle::speed::Trace trace;
  trace.setup.slo_ttft = level.ttft;
  trace.setup.slo_itl = level.itl;
  const auto clocks = clocks_of(matrix, evidence);
  for (const AuditCase& each : matrix.cases) {
    for (const Arm arm : {Arm::kBaseline, Arm::kSpeculative}) {
      const auto side =
          arm == Arm::kBaseline ? oracle::speed::Arm::kBaseline : oracle::speed::Arm::kSpeculative;
      for (const auto& [trial, transcript] : evidence.of(each.id, arm)) {
        const Completion& completion = transcript.completion;
        const std::string name = each.id + "#" + std::to_string(trial);
        const std::string cohort = cohort_of(each);
        if (const auto one = timed(completion)) {
          oracle::speed::Request request;
          request.request = name;
          request.arm = side;
          request.cohort = cohort;
          request.arrival = clocks.at({cohort, arm}).at(completion.timing->due);
          request.ttft = one->ttft;
          if (one->decode) request.itl = one->itl();
          request.latency = one->latency;
          request.output_tokens = static_cast<std::int64_t>(one->tokens);
          trace.requests.push_back(std::move(request));
        }
        for (std::size_t i = 0; i < completion.steps.size(); ++i) {
          const properties::VerifyStep& step = completion.steps[i];
          oracle::speed::Iteration iteration;
          iteration.request = name;
          iteration.index = static_cast<std::int64_t>(i);
          iteration.arm = side;
          iteration.cohort = cohort;
          iteration.drafted = static_cast<std::int64_t>(step.draft_ids.size());
          iteration.accepted = step.accepted;
          iteration.emitted = step.accepted + 1;
          iteration.divergence = divergence_of(step);
          trace.iterations.push_back(std::move(iteration));
        }
      }
    }
  }
  return trace;
}

}  // namespace draftproof::tools::audit
