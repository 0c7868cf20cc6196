// The twin: following an engine's requests, and asking the checks in their order (twin.h).
#include "properties/state/twin.h"

#include <algorithm>
#include <array>

#include "reference/error.h"
#include "reference/verify/verifiers.h"

namespace draftproof::properties::state {

namespace decode = reference::decode;
using reference::Token;

std::string_view to_string(StateCheck check) {
  static constexpr std::array<std::string_view, kStateCheckCount> kNames = {
      "pages",   "leak",    "target cells", "draft cells", "recurrent state",
      "prefix",  "rows",    "proposal",     "decision",    "coins",
      "output",  "finish",  "processor",    "grammar",     "logprobs",
      "metrics", "lengths", "budget",       "phases"};
  return kNames[static_cast<std::size_t>(check)];
}

std::string to_string(const Divergence& divergence) {
  std::string text(to_string(divergence.check));
  if (divergence.request != 0) text += " of request " + std::to_string(divergence.request);
  text += divergence.boundary == Boundary::kAfterEmit ? " after emit" : " after feed";
  return text + ": expected " + divergence.expected + ", observed " + divergence.observed;
}

Twin::Twin(std::shared_ptr<const decode::EngineConfig> config, int sample_period)
    : serial_(config),
      verifier_(reference::verify::make_verifier(config->rule)),
      sample_period_(sample_period) {
  DRAFTPROOF_CHECK(sample_period >= 1);
}

Divergence Twin::differs(StateCheck check, RequestId request, std::string expected,
                         std::string observed) const {
  return {check, boundary_, request, std::move(expected), std::move(observed)};
}

void Twin::verified(const decode::VerificationRecord& record) {
  if (record.id % static_cast<RequestId>(sample_period_) == 0) {
    handed_.push_back({record, true});
    return;
  }
  Handed handed;
  handed.is_whole = false;
  handed.record.frame = record.frame;
  handed.record.id = record.id;
  handed.record.epoch = record.epoch;
  handed.record.is_prefill = record.is_prefill;
  handed.record.judged.position = static_cast<std::uint32_t>(record.context.size());
  handed.record.draft.proposal.tokens = record.draft.proposal.tokens;
  handed.record.draft.fed_nodes = record.draft.fed_nodes;
  handed.record.outcome = record.outcome;
  handed_.push_back(std::move(handed));
}

std::optional<Divergence> Twin::check(const decode::Engine& engine, Boundary boundary) {
  boundary_ = boundary;
  for (auto& [id, track] : tracks_) track.compared = 0;
  if (!found_) follow(engine.state());
  if (!found_) found_ = first_of(engine.state(), false);
  if (!found_) remember(engine.state());
  return found_;
}

std::optional<Divergence> Twin::check_light(const decode::Engine& engine, Boundary boundary) {
  if (found_) return found_;
  boundary_ = Boundary::kAfterEmit;  // what waiting drafts cost needs the drafts of the last check
  follow(engine.state());
  if (!found_) found_ = first_of(engine.state(), true);
  if (found_)
    found_->boundary = boundary;
  else
    for (auto& [id, track] : tracks_) {
      track.compared = track.output.size();
      track.draft_length_due = -1;
      track.waiting = {};
    }
  probes_.clear();
  return found_;
}

Twin::Finding Twin::first_of(const EngineState& state, bool is_light) {
  if (Finding finding = pages(state, is_light)) return finding;
  if (Finding finding = leaks(state)) return finding;
  using Check = Finding (Twin::*)(const EngineState&) const;
  static constexpr std::array<Check, 5> kOfTheDevice = {
      &Twin::target_cells, &Twin::draft_cells, &Twin::recurrent, &Twin::prefixes, &Twin::proposals};
  static constexpr std::array<Check, 2> kOfTheOutput = {&Twin::outputs, &Twin::finishes};
  static constexpr std::array<Check, 2> kOfProcessors = {&Twin::processors, &Twin::grammars};
  static constexpr std::array<Check, 5> kOfTheHost = {
      &Twin::logprobs, &Twin::metrics, &Twin::lengths, &Twin::budgets, &Twin::phases};
  const auto ask = [&](const auto& checks) -> Finding {
    for (const Check check : checks)
      if (Finding finding = (this->*check)(state)) return finding;
    return std::nullopt;
  };
  if (!is_light)
    if (Finding finding = ask(kOfTheDevice)) return finding;
  if (Finding finding = ask(kOfTheOutput)) return finding;
  if (!is_light)
    if (Finding finding = ask(kOfProcessors)) return finding;
  return ask(kOfTheHost);
}

void Twin::follow(const EngineState& state) {
  adopt(state);
  for (auto& [id, track] : tracks_) track.judged_length = -1;
  for (const Handed& handed : handed_)
    if (!found_) judge(handed);
  handed_.clear();
  // A call of the engine that does both preempts first, and commits then.
  for (const auto& [id, host] : state.host)
    if (host.epoch != tracks_.at(id).epoch) begin_epoch(tracks_.at(id), host.epoch);
  settle_commits(state);
  for (const auto& [id, host] : state.host) {
    Track& track = tracks_.at(id);
    if (host.finish == decode::FinishReason::kCancelled &&
        track.finish == decode::FinishReason::kNone)
      track.finish = decode::FinishReason::kCancelled;
  }
}

void Twin::adopt(const EngineState& state) {
  for (auto at = tracks_.begin(); at != tracks_.end();) {
    const bool is_gone = !state.host.contains(at->first);
    if (is_gone) ledger_.end_request(at->first);
    at = is_gone ? tracks_.erase(at) : std::next(at);
  }
  for (const auto& [id, host] : state.host) {
    const auto [at, is_added] = tracks_.try_emplace(id);
    if (!is_added) continue;
    Track& track = at->second;
    track.spec = host.spec;
    track.is_sampled = id % static_cast<RequestId>(sample_period_) == 0;
    begin_epoch(track, 0);
  }
}

void Twin::begin_epoch(Track& track, int epoch) {
  track.epoch = epoch;
  // What was in flight is thrown away whatever it decided, so its coins and its iteration are free.
  for (const Judged& judged : track.in_flight) {
    ledger_.settle(static_cast<std::uint64_t>(judged.frame), judged.request,
                   decode::Fate::kDiscardedBlindly);
    track.iterations.erase(judged.iteration);
  }
  track.in_flight.clear();
  track.tokens.clear();
  track.history = reference::kv::kEmptyHistory;
  track.pending_count = 0;
  track.was_judged = false;
  track.draft_length = track.draft_length_due = track.judged_length = -1;
  track.metrics.dropped += static_cast<std::int64_t>(track.waiting.proposal.tokens.size());
  track.waiting = {};
  std::vector<decode::OutputToken> prompt;
  for (const Token token : track.spec.prompt) prompt.push_back({token});
  take(track, prompt);
  take(track, track.output);
}

void Twin::take(Track& track, const std::vector<decode::OutputToken>& emitted) {
  for (const decode::OutputToken& out : emitted) {
    const auto position = static_cast<std::int32_t>(track.tokens.size());
    track.tokens.push_back(out.token);
    track.history = reference::kv::history_behind(track.history, out.token, position);
    if (sample_period_ == 1) committed_.insert(track.history);
  }
}

void Twin::settle_commits(const EngineState& state) {
  const auto is_in_flight = [&](std::int64_t number) {
    return std::any_of(state.in_flight.begin(), state.in_flight.end(),
                       [&](const decode::Frame& frame) { return frame.number == number; });
  };
  for (auto& [id, track] : tracks_) {
    std::size_t done = 0;
    while (done < track.in_flight.size() && !is_in_flight(track.in_flight[done].frame))
      commit(id, track, track.in_flight[done++]);
    track.in_flight.erase(track.in_flight.begin(),
                          track.in_flight.begin() + static_cast<std::ptrdiff_t>(done));
  }
}

void Twin::commit(RequestId id, Track& track, const Judged& judged) {
  const auto step = static_cast<std::uint64_t>(judged.frame);
  if (track.finish != decode::FinishReason::kNone) {
    ledger_.settle(step, id, decode::Fate::kDiscardedBlindly);
    return;
  }
  std::vector<Token> tokens;
  for (const decode::OutputToken& out : track.output) tokens.push_back(out.token);
  for (const decode::OutputToken& out : judged.emitted) tokens.push_back(out.token);
  const SerialDecoder::Ending ending = serial_.ending(track.spec, tokens);
  const std::size_t kept = ending.count - track.output.size();
  const auto accepted = static_cast<std::size_t>(judged.accepted_count);
  track.output.insert(track.output.end(), judged.emitted.begin(),
                      judged.emitted.begin() + static_cast<std::ptrdiff_t>(kept));
  track.finish = ending.finish;
  if (judged.has_status && ending.finish == decode::FinishReason::kNone)
    track.finish = decode::FinishReason::kStatus;
  if (judged.drafted_count > 0) track.accepted_counts.push_back(judged.accepted_count);

  decode::Metrics& metrics = track.metrics;
  ++metrics.verifications;
  metrics.drafted += judged.drafted_count;
  metrics.emitted += static_cast<std::int64_t>(kept);
  metrics.accepted += static_cast<std::int64_t>(std::min(kept, accepted));
  metrics.cut += static_cast<std::int64_t>(judged.emitted.size() - kept);
  metrics.cut_accepted += static_cast<std::int64_t>(accepted - std::min(kept, accepted));
  metrics.stopped += judged.has_status ? 1 : 0;
  if (metrics.accepted_histogram.size() <= accepted)
    metrics.accepted_histogram.resize(accepted + 1);
  ++metrics.accepted_histogram[accepted];

  ledger_.settle(step, id, decode::Fate::kKept,
                 decode::influence_end(serial_.config().rule, judged.position, kept));
}

void Twin::remember(const EngineState& state) {
  probes_.clear();
  for (auto& [id, track] : tracks_) {
    const DeviceRequest* const held = held_by(state, id);
    track.draft_length_due = -1;
    if (held == nullptr) {
      track.draft_length = -1;
      track.waiting = {};
      continue;
    }
    track.waiting = held->waiting;
    if (held->draft != decode::kNoSequence && state.draft_cache)
      track.draft_length = state.draft_cache->sequence(held->draft).length;
  }
}

std::vector<std::pair<Twin::RequestId, const Twin::DeviceRequest*>> Twin::held_by(
    const EngineState& state) {
  std::vector<std::pair<RequestId, const DeviceRequest*>> held;
  for (const auto& [id, device] : state.device) held.emplace_back(id, &device);
  for (const auto& [id, device] : state.parked) held.emplace_back(id, &device);
  return held;
}

const Twin::DeviceRequest* Twin::held_by(const EngineState& state, RequestId id) {
  if (const auto found = state.device.find(id); found != state.device.end()) return &found->second;
  const auto found = state.parked.find(id);
  return found == state.parked.end() ? nullptr : &found->second;
}

int Twin::target_length_due(const Track& track) const {
  return static_cast<int>(track.tokens.size()) - track.pending_count;
}

int NaiveTwin::target_length_due(const Track& track) const {
  return static_cast<int>(track.tokens.size());
}

}  // namespace draftproof::properties::state
