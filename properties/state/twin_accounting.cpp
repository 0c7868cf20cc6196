// The twin's accounts: counters, the host's mirrors of lengths, what steps cost, phases.
#include <algorithm>
#include <map>
#include <tuple>

#include "properties/state/twin.h"
#include "properties/state/words.h"

namespace draftproof::properties::state {

namespace decode = reference::decode;
using decode::BudgetUse;
using decode::Phase;

namespace {

/// A count by the engine, the same recounted, and what it may be.
struct Cost {
  std::string name;
  std::int64_t used = 0, recounted = 0, limit = 0;
};

std::vector<Cost> costs_of(const BudgetUse& used, const BudgetUse& recounted,
                           const decode::Budget& limit) {
  return {
      {"draft tokens", used.draft_tokens, recounted.draft_tokens, limit.draft_tokens},
      {"verify rows", used.verify_rows, recounted.verify_rows, limit.verify_rows},
      {"speculative requests", used.speculative_requests, recounted.speculative_requests,
       limit.speculative_requests},
      {"temporary pages", used.temporary_pages, recounted.temporary_pages, limit.temporary_pages},
      {"workspace floats", used.workspace_floats, recounted.workspace_floats,
       limit.workspace_floats},
      {"rollback cells", used.rollback_cells, recounted.rollback_cells, limit.rollback_cells}};
}

int pages_of(int slots, int page_size) { return (slots + page_size - 1) / page_size; }

bool is_allowed(Phase from, Phase to) {
  if (from == Phase::kFinished) return false;
  if (to == Phase::kFinished) return true;
  if (to == Phase::kWaiting) return from != Phase::kWaiting;
  switch (from) {
    case Phase::kWaiting:
      // What comes back with its cells, or finds all of them, has nothing to prefill.
      return to == Phase::kPrefilling || to == Phase::kDrafting;
    case Phase::kPrefilling:
    case Phase::kFallingBack:
      return to == Phase::kDrafting;
    case Phase::kDrafting:
      return to == Phase::kVerifying || to == Phase::kFallingBack;
    case Phase::kVerifying:
      return to == Phase::kDrafting || to == Phase::kFallingBack;
    case Phase::kFinished:
      break;
  }
  return false;
}

}  // namespace

void Twin::recount(const decode::VerificationRecord& record, const Track& track) {
  if (record.frame != cost_frame_) cost_ = {};
  cost_frame_ = record.frame;
  const auto nodes = static_cast<int>(record.draft.proposal.tokens.size());
  const auto count = static_cast<int>(track.tokens.size());
  const decode::EngineConfig& config = serial_.config();
  cost_.verify_rows += 1 + nodes;
  cost_.workspace_floats += std::int64_t{1 + nodes} * config.target->vocab_size();
  if (nodes > 0) {
    // A draft that nobody saw waiting was made in this very step.
    if (track.waiting.proposal.tokens.empty()) cost_.draft_tokens += nodes;
    ++cost_.speculative_requests;
    cost_.rollback_cells += nodes;
    const auto temporary = [&](int page_size) {
      return pages_of(count + nodes, page_size) - pages_of(count, page_size);
    };
    cost_.temporary_pages += temporary(config.target_cache.page_size);
    if (config.drafts && config.drafts->model())
      cost_.temporary_pages += temporary(config.draft_cache.page_size);
  }
  cost_max_ = {std::max(cost_max_.draft_tokens, cost_.draft_tokens),
               std::max(cost_max_.verify_rows, cost_.verify_rows),
               std::max(cost_max_.speculative_requests, cost_.speculative_requests),
               std::max(cost_max_.temporary_pages, cost_.temporary_pages),
               std::max(cost_max_.workspace_floats, cost_.workspace_floats),
               std::max(cost_max_.rollback_cells, cost_.rollback_cells)};
}

Twin::Finding Twin::budgets(const EngineState& state) const {
  const decode::Budget& limit = serial_.config().budget;
  const auto judged = [&](const BudgetUse& used, const BudgetUse& recounted,
                          const std::string& where) -> Finding {
    for (const Cost& cost : costs_of(used, recounted, limit)) {
      if (cost.used < cost.recounted)
        return differs(StateCheck::kBudget, 0,
                       std::to_string(cost.recounted) + " " + cost.name + where + " or more",
                       std::to_string(cost.used) + " by the engine's count");
      if (cost.used > cost.limit)
        return differs(StateCheck::kBudget, 0,
                       "at most " + std::to_string(cost.limit) + " " + cost.name + where,
                       std::to_string(cost.used));
    }
    return std::nullopt;
  };
  if (Finding finding = judged(state.use_max, cost_max_, " in a step")) return finding;
  // Frames in flight show the chunks of prompts too, of which no row is judged.
  for (const decode::Frame& frame : state.in_flight) {
    BudgetUse fed;
    for (const decode::Entry& entry : frame.entries) {
      fed.verify_rows += static_cast<int>(entry.tokens.size());
      fed.workspace_floats += std::int64_t{entry.row_count} * serial_.config().target->vocab_size();
    }
    if (Finding finding = judged(frame.use, fed, " in a frame")) return finding;
    if (Finding finding = judged(state.use_max, fed, " in a step")) return finding;
  }
  if (boundary_ != Boundary::kAfterFeed) return std::nullopt;
  BudgetUse held;
  for (const auto& [id, device] : state.device) {
    const auto nodes = static_cast<int>(device.waiting.proposal.tokens.size());
    if (nodes == 0) continue;
    ++held.speculative_requests;
    if (device.waiting != track_of(id).waiting) held.draft_tokens += nodes;
    if (!state.draft_cache || device.draft == decode::kNoSequence) continue;
    const reference::kv::Sequence& sequence = state.draft_cache->sequence(device.draft);
    const int page_size = state.draft_cache->config().page_size;
    held.rollback_cells += nodes;
    held.temporary_pages +=
        static_cast<int>(sequence.pages.size()) - pages_of(sequence.length, page_size);
  }
  return judged(state.use, held, " of drafts that wait");
}

Twin::Finding Twin::metrics(const EngineState& state) const {
  for (const auto& [id, host] : state.host) {
    const decode::Metrics& due = track_of(id).metrics;
    const decode::Metrics& held = host.metrics;
    const auto wrong = [&](const std::string& what, std::int64_t expected,
                           std::int64_t observed) -> Finding {
      if (expected == observed) return std::nullopt;
      return differs(StateCheck::kMetrics, id, what + " " + std::to_string(expected),
                     std::to_string(observed));
    };
    std::int64_t sum = 0, weighted = 0;
    for (std::size_t i = 0; i < held.accepted_histogram.size(); ++i) {
      sum += held.accepted_histogram[i];
      weighted += static_cast<std::int64_t>(i) * held.accepted_histogram[i];
    }
    const std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> accounts = {
        {"verifications", due.verifications, held.verifications},
        {"drafted", due.drafted, held.drafted},
        {"accepted", due.accepted, held.accepted},
        {"emitted", due.emitted, held.emitted},
        {"cut", due.cut, held.cut},
        {"accepted and cut", due.cut_accepted, held.cut_accepted},
        {"stopped", due.stopped, held.stopped},
        {"emitted + cut = accepted + cut accepted + verifications - stopped =",
         held.accepted + held.cut_accepted + held.verifications - held.stopped,
         held.emitted + held.cut},
        {"emitted = tokens of the output =", static_cast<std::int64_t>(host.output.size()),
         held.emitted},
        {"sum of the histogram = verifications =", held.verifications, sum},
        {"sum of i * histogram[i] = accepted + cut accepted =", held.accepted + held.cut_accepted,
         weighted}};
    for (const auto& [what, expected, observed] : accounts)
      if (Finding finding = wrong(what, expected, observed)) return finding;
    if (due.accepted_histogram != held.accepted_histogram)
      return differs(StateCheck::kMetrics, id, "histogram " + words(due.accepted_histogram),
                     words(held.accepted_histogram));
    if (held.dropped < due.dropped)
      return differs(StateCheck::kMetrics, id,
                     std::to_string(due.dropped) + " dropped tokens or more",
                     std::to_string(held.dropped));
  }
  return std::nullopt;
}

Twin::Finding Twin::lengths(const EngineState& state) const {
  std::map<RequestId, int> frames;
  for (const decode::Frame& frame : state.in_flight)
    for (const decode::Entry& entry : frame.entries) {
      const auto host = state.host.find(entry.id);
      if (host != state.host.end() && held_by(state, entry.id) != nullptr &&
          host->second.epoch == entry.epoch)
        ++frames[entry.id];
    }
  for (const auto& [id, host] : state.host) {
    const Track& track = track_of(id);
    const auto wrong = [&](const std::string& what, int expected, int observed) -> Finding {
      if (expected == observed) return std::nullopt;
      return differs(StateCheck::kLengths, id, what + " " + std::to_string(expected),
                     std::to_string(observed));
    };
    const DeviceRequest* const held = held_by(state, id);
    int may_emit = 0, may_reject = 0;
    if (held != nullptr)
      for (const Judged& judged : track.in_flight)
        if (judged.epoch == track.epoch) {
          may_emit += 1 + judged.drafted_count;
          may_reject += judged.drafted_count - judged.accepted_count;
        }
    if (Finding finding = wrong("frames in flight", frames[id], host.in_flight)) return finding;
    if (Finding finding = wrong("placeholders", may_emit, host.placeholders)) return finding;
    if (host.phase == Phase::kFinished) continue;
    const int length = held == nullptr ? 0 : state.target_cache->sequence(held->target).length;
    if (Finding finding = wrong("KV length on the host", length + may_reject, host.computed))
      return finding;
    if (held != nullptr && track.was_judged)
      if (Finding finding =
              wrong("KV length of " + std::to_string(track.tokens.size()) + " tokens",
                    static_cast<int>(track.tokens.size()) - track.pending_count, length))
        return finding;
  }
  return std::nullopt;
}

Twin::Finding Twin::phases(const EngineState& state) const {
  std::vector<RequestId> queue = state.waiting;
  std::sort(queue.begin(), queue.end());
  std::vector<RequestId> due;
  for (const auto& [id, host] : state.host) {
    if (host.phase == Phase::kWaiting) due.push_back(id);
    if (Finding finding = phase_of(id, host, state)) return finding;
  }
  if (queue != due)
    return differs(StateCheck::kPhases, 0, std::to_string(due.size()) + " requests in the queue",
                   std::to_string(queue.size()) + ", or others");
  for (const auto& [id, held] : held_by(state))
    if (!state.host.contains(id))
      return differs(StateCheck::kPhases, id, "nothing on the device",
                     "a request unknown to hosts");
  return std::nullopt;
}

Twin::Finding Twin::phase_of(RequestId id, const HostRequest& host,
                             const EngineState& state) const {
  const Track& track = track_of(id);
  const auto wrong = [&](std::string expected, std::string observed) {
    return differs(StateCheck::kPhases, id, std::move(expected), std::move(observed));
  };
  const std::string name(decode::to_string(host.phase));
  if (state.device.contains(id) != host.is_running())
    return wrong(host.is_running() ? "a running request on the device" : "nothing on the device",
                 "a request that is " + name);
  if ((host.phase == Phase::kFinished) != (host.finish != decode::FinishReason::kNone))
    return wrong("a reason exactly where a request has finished",
                 name + ", reason " + std::string(decode::to_string(host.finish)));
  if (state.parked.contains(id) && (host.phase != Phase::kWaiting || !serial_.config().offloads))
    return wrong("cells offloaded for waiting requests, by an engine that offloads", name);
  const DeviceRequest* const held = held_by(state, id);
  // A request that resumes decodes as soon as all but its pending token has been fed.
  const bool is_decoding =
      track.was_judged || (host.is_running() && !track.output.empty() &&
                           state.target_cache->sequence(held->target).length + 1 ==
                               static_cast<int>(track.tokens.size()));
  if (host.is_running() && (host.phase == Phase::kPrefilling) == is_decoding)
    return wrong(is_decoding ? "decoding" : "prefilling", name);
  const auto waiting = held == nullptr ? 0 : static_cast<int>(held->waiting.proposal.tokens.size());
  if (host.draft_count != waiting)
    return wrong("a draft of " + std::to_string(waiting) + " that waits",
                 std::to_string(host.draft_count) + " on the host");

  std::map<Phase, std::int64_t> balance;
  std::int64_t drafts = 0, preemptions = 0;
  for (const auto& [step, count] : host.transitions) {
    const auto& [from, to] = step;
    if (!is_allowed(from, to) || count < 0)
      return wrong("no step from " + std::string(decode::to_string(from)) + " to " +
                       std::string(decode::to_string(to)),
                   std::to_string(count));
    balance[from] -= count;
    balance[to] += count;
    if (to == Phase::kVerifying) drafts += count;
    if (to == Phase::kWaiting) preemptions += count;
  }
  balance[Phase::kWaiting] += 1;
  balance[host.phase] -= 1;
  for (const auto& [phase, surplus] : balance)
    if (surplus != 0)
      return wrong("as many steps into " + std::string(decode::to_string(phase)) + " as out of it",
                   std::to_string(surplus) + " more in, being " + name);
  // Preemption by offload leaves an epoch as it is: nothing of it is stale.
  if (!serial_.config().offloads && preemptions != host.epoch)
    return wrong(std::to_string(preemptions) + " preemptions", std::to_string(host.epoch));
  if (track.drafted_verifications > drafts)
    return wrong(std::to_string(track.drafted_verifications) + " drafts or more",
                 std::to_string(drafts));
  return std::nullopt;
}

}  // namespace draftproof::properties::state
