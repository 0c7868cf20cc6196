// Scheduling: who takes part in a frame, with which pages, and within which budget. Requests that
// came first go first; where pages do not suffice a draft is given up before a request, and the
// request that came last before others.
#include <algorithm>

#include "reference/decode/engine.h"
#include "reference/error.h"

namespace draftproof::reference::decode {
namespace {

/// What a prefill feeds: a prompt, whose last row is judged; of a request that resumes all but its
/// pending token, which is fed with a draft as it would have been.
int prefill_length(const HostRequest& host) {
  return host.token_count() - (host.output.empty() ? 0 : 1);
}

std::vector<int> chain_parents(std::size_t count) {
  std::vector<int> parents(count);
  for (std::size_t i = 0; i < count; ++i) parents[i] = static_cast<int>(i) - 1;
  return parents;
}

}  // namespace

std::vector<RequestId> Engine::running_in_order() const {
  std::vector<RequestId> ids;
  for (const auto& [id, device] : state_.device) ids.push_back(id);
  std::sort(ids.begin(), ids.end(), [&](RequestId a, RequestId b) {
    return state_.host.at(a).admission < state_.host.at(b).admission;
  });
  return ids;
}

void Engine::admit() {
  while (!state_.waiting.empty() && static_cast<int>(state_.device.size()) < config_->request_max) {
    HostRequest& host = state_.host.at(state_.waiting.front());
    if (state_.parked.contains(host.id)) {
      if (!steps_->unpark(state_, host.id)) return;
      enter(host, state_.device.at(host.id).parked_in);
    } else {
      const kv::PageCounts pages = state_.target_cache->counts();
      const int size = config_->target_cache.page_size;
      const int first = std::min(host.token_count(), config_->chunk_tokens);
      if (!state_.device.empty() && pages.free + pages.cached < (first + size - 1) / size) return;
      open_on_device(host);
    }
    state_.waiting.erase(state_.waiting.begin());
    host.admission = state_.admission_count++;
  }
}

void Engine::open_on_device(HostRequest& host) {
  DeviceRequest device;
  device.target = state_.target_cache->open();
  state_.recurrent.open(device.target);
  if (state_.draft_cache) device.draft = state_.draft_cache->open();
  device.prompt_count = static_cast<int>(host.spec.prompt.size());
  device.tokens = host.spec.prompt;
  device.iteration = host.iterations;
  if (config_->drafts) device.memory = config_->drafts->initial_memory();
  if (host.spec.grammar) {
    device.is_grammar_on = !host.spec.grammar_behind;
    device.grammar_state = host.spec.grammar->start();
  }
  // What it has emitted before a preemption comes back as if it were emitted once more.
  const std::vector<Token> emitted = host.output_tokens();
  steps_->take_emitted(host, device, Entry{}, emitted);
  steps_->attach(state_, device);
  host.computed = state_.target_cache->sequence(device.target).length;
  state_.device.emplace(host.id, std::move(device));
  enter(host, host.computed < prefill_length(host) ? Phase::kPrefilling : Phase::kDrafting);
}

bool Engine::make_room(RequestId id, int slots) {
  while (!state_.target_cache->reserve(state_.device.at(id).target, slots)) {
    const RequestId last = running_in_order().back();
    // Whether pages suffice may hang on what a frame in flight has decided, and nothing may be
    // thrown away because of its tokens: it is committed first.
    if (state_.host.at(last).in_flight > 0 && !config_->offloads) return false;
    preempt(last);
    if (last == id) return false;
  }
  return true;
}

std::optional<Entry> Engine::prefill_of(HostRequest& host, Frame& frame) {
  const DeviceRequest& device = state_.device.at(host.id);
  const int room =
      std::min({config_->chunk_tokens, config_->budget.verify_rows - frame.use.verify_rows,
                prefill_length(host) - host.computed});
  if (room <= 0) return std::nullopt;
  Entry entry;
  entry.is_prefill = true;
  entry.length = host.computed;
  entry.tokens = steps_->chunk(device, host.computed, room);
  const auto fed = static_cast<int>(entry.tokens.size());
  entry.is_judged = host.output.empty() && host.computed + fed == prefill_length(host);
  if (entry.is_judged) entry.draft = steps_->first_draft(state_, device);
  for (const Token token : entry.draft.proposal.tokens) entry.tokens.push_back(token);
  entry.row_count = entry.is_judged ? 1 + static_cast<int>(entry.draft.proposal.tokens.size()) : 0;
  entry.parents = chain_parents(entry.tokens.size());
  return entry;
}

std::optional<Entry> Engine::decode_of(HostRequest& host, Frame& frame) {
  DeviceRequest& device = state_.device.at(host.id);
  if (host.phase == Phase::kVerifying && steps_->is_stale(device, device.waiting)) {
    steps_->drop_draft(state_, host.id);
    device.waiting = steps_->without_draft(state_, device);
  }
  const auto built = [&] {
    Entry entry;
    entry.length = host.computed;
    entry.draft = device.waiting;
    entry.tokens = {device.tokens.back()};
    entry.parents = {-1};
    const Proposal& proposal = entry.draft.proposal;
    for (std::size_t node = 0; node < proposal.tokens.size(); ++node) {
      entry.tokens.push_back(proposal.tokens[node]);
      entry.parents.push_back(
          1 + (proposal.parents.empty() ? static_cast<int>(node) - 1 : proposal.parents[node]));
    }
    entry.row_count = static_cast<int>(entry.tokens.size());
    entry.id = host.id;
    return entry;
  };
  Entry entry = built();
  const int vocab_size = config_->target->vocab_size();
  const auto fits = [&] {
    const BudgetUse cost = steps_->launch_cost(state_, entry, vocab_size);
    if (!is_within(sum(frame.use, cost), config_->budget)) return false;
    const kv::PageCounts pages = state_.target_cache->counts();
    const auto fed = static_cast<int>(entry.tokens.size());
    return state_.target_cache->pages_to_reserve(device.target, fed) <= pages.free + pages.cached;
  };
  if (!entry.draft.proposal.tokens.empty() && !fits()) {
    // Neither budget nor pages for the draft: it is given up, the request goes on without.
    steps_->drop_draft(state_, host.id);
    device.waiting = steps_->without_draft(state_, device);
    enter(host, Phase::kFallingBack);
    entry = built();
  }
  return entry;
}

std::optional<Entry> Engine::entry_of(HostRequest& host, Frame& frame) {
  if (host.in_flight > 0 && !config_->is_asynchronous) return std::nullopt;
  if (state_.device.at(host.id).is_stopped) return std::nullopt;
  if (host.phase == Phase::kPrefilling) return prefill_of(host, frame);
  if (host.phase != Phase::kVerifying && host.phase != Phase::kFallingBack) return std::nullopt;
  return decode_of(host, frame);
}

bool Engine::verify() {
  const std::size_t in_flight_max = config_->is_asynchronous ? 2 : 1;
  if (state_.in_flight.size() >= in_flight_max) return false;
  admit();
  Frame frame;
  frame.number = state_.frame_count;
  frame.use = state_.use;
  for (const RequestId id : running_in_order()) {
    HostRequest& host = state_.host.at(id);
    if (!host.is_running()) continue;  // preempted for one before it
    std::optional<Entry> entry = entry_of(host, frame);
    if (!entry) continue;
    entry->id = id;
    entry->epoch = host.epoch;
    const BudgetUse cost = steps_->launch_cost(state_, *entry, config_->target->vocab_size());
    if (!is_within(sum(frame.use, cost), config_->budget)) continue;
    if (!make_room(id, static_cast<int>(entry->tokens.size()))) continue;
    frame.use = sum(frame.use, cost);
    add(frame, std::move(*entry));
  }
  if (frame.entries.empty()) return false;
  state_.frame_count += 1;
  state_.steps += 1;
  state_.use = frame.use;
  state_.use_max = largest(state_.use_max, frame.use);
  launch(frame);
  state_.in_flight.push_back(std::move(frame));
  state_.use = {};
  return true;
}

void Engine::add(Frame& frame, Entry entry) {
  HostRequest& host = state_.host.at(entry.id);
  host.in_flight += 1;
  host.computed += static_cast<int>(entry.tokens.size());
  host.placeholders += entry.row_count;
  host.draft_count = 0;
  if (entry.is_judged || host.computed == prefill_length(host)) enter(host, Phase::kDrafting);
  frame.entries.push_back(std::move(entry));
}

}  // namespace draftproof::reference::decode
