// Lengths from the past.
#include "reference/draft/length/past_length.h"

#include <algorithm>
#include <limits>

#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

int accepted_count(const law::StepEnd& end) {
  return static_cast<int>(end.decision.accepted.size());
}

std::int64_t as_number(const auto& integer) {
  if (integer > std::numeric_limits<std::int64_t>::max())
    throw Error(ErrorKind::kInput,
                "the average of accepted lengths needs more than 63 bits; take fewer iterations");
  return static_cast<std::int64_t>(integer);
}

/// The candidate that the average asks for, from the current one.
int next_length(const AverageLengthOptions& options, int length, const Exact& average) {
  const auto& candidates = options.candidates;
  auto at = std::find(candidates.begin(), candidates.end(), length);
  if (length == 0) return at + 1 == candidates.end() ? length : *(at + 1);
  const auto start = at;
  while (at != candidates.begin()) {
    const int lower = *(at - 1);
    const Exact floor = lower == 0 ? Exact(1, 2) : Exact(lower - Exact(1, 2));
    if (average > floor + options.fall_margin) break;
    --at;
  }
  if (at == start)
    while (at + 1 != candidates.end() && average > *at - Exact(1, 2) + options.rise_margin) ++at;
  return *at;
}

}  // namespace

LengthPolicy heuristic_length(int initial) {
  DRAFTPROOF_CHECK(initial >= 1, std::to_string(initial));
  LengthPolicy policy;
  policy.initial = [initial](const Context&) { return law::Memory{initial}; };
  policy.limit = [](const law::StepBegin&, const law::Memory& own, const law::Memory&) {
    return static_cast<int>(own.at(0));
  };
  policy.verified = [](const law::StepEnd& end, law::Memory& own, law::Memory&) {
    const bool is_whole = accepted_count(end) == end.draft.size();
    own.at(0) = is_whole ? own.at(0) + 2 : std::max<std::int64_t>(1, own.at(0) - 1);
  };
  return policy;
}

LengthPolicy average_length(const AverageLengthOptions& options) {
  if (std::find(options.candidates.begin(), options.candidates.end(), options.initial) ==
      options.candidates.end())
    throw Error(ErrorKind::kInput,
                "an initial length of " + std::to_string(options.initial) + " is no candidate");
  LengthPolicy policy;
  policy.initial = [options](const Context&) {
    return law::Memory{options.initial, 0, options.initial - 1, 1};
  };
  policy.limit = [](const law::StepBegin&, const law::Memory& own, const law::Memory&) {
    return static_cast<int>(own.at(0));
  };
  policy.verified = [options](const law::StepEnd& end, law::Memory& own, law::Memory&) {
    Exact average(own.at(2), own.at(3));
    if (own.at(0) > 0)
      average = (1 - options.weight) * average + options.weight * accepted_count(end);
    const std::int64_t rounds = ++own.at(1) - options.warmup;
    if (rounds > 0 && rounds % options.interval == 0) {
      const auto before = static_cast<int>(own.at(0));
      own.at(0) = next_length(options, before, average);
      // A slot that began at 0 has no history; the first length it tries starts neutral.
      if (before == 0 && own.at(0) > 0 && average < 0) average = Exact(own.at(0) - 1);
    }
    own.at(2) = as_number(numerator(average));
    own.at(3) = as_number(denominator(average));
  };
  return policy;
}

LengthPolicy acceptance_gate(int window, const Exact& threshold) {
  DRAFTPROOF_CHECK(window >= 1, std::to_string(window));
  LengthPolicy policy;
  policy.initial = [](const Context&) { return law::Memory{0}; };
  policy.limit = [](const law::StepBegin& begin, const law::Memory& own, const law::Memory&) {
    return own.at(0) == 1 ? 0 : begin.draft_count;
  };
  policy.verified = [window, threshold](const law::StepEnd& end, law::Memory& own, law::Memory&) {
    if (own.at(0) == 1) return;
    own.push_back(accepted_count(end));
    if (static_cast<int>(own.size()) - 1 > window) own.erase(own.begin() + 1);
    if (static_cast<int>(own.size()) - 1 < window) return;
    std::int64_t sum = 0;
    for (std::size_t i = 1; i < own.size(); ++i) sum += own[i];
    if (Exact(sum, window) < threshold) own = {1};
  };
  return policy;
}

LengthPolicy scheduled_length(std::map<int, int> by_running, int running) {
  LengthPolicy policy;
  policy.limit = [by_running = std::move(by_running), running](
                     const law::StepBegin& begin, const law::Memory&, const law::Memory&) {
    const auto above = by_running.upper_bound(running);
    return above == by_running.begin() ? begin.draft_count : std::prev(above)->second;
  };
  return policy;
}

LengthPolicy shared_budget(int budget, LengthPolicy inner) {
  LengthPolicy policy = std::move(inner);
  const auto left = [budget](const law::StepBegin& begin, const law::Memory& shared) {
    return begin.request == 0 || shared.empty() ? budget : static_cast<int>(shared.front());
  };
  policy.limit = [left](const law::StepBegin& begin, const law::Memory&,
                        const law::Memory& shared) {
    return std::min(begin.draft_count, left(begin, shared));
  };
  policy.drafted = [left](const law::StepBegin& begin, const law::DraftTree& draft, law::Memory&,
                          law::Memory& shared) { shared = {left(begin, shared) - draft.size()}; };
  return policy;
}

}  // namespace draftproof::reference::draft
