// Drafting: who gets a draft, how long, and what the draft's cache is fed before.
#include <algorithm>

#include "reference/decode/engine.h"
#include "reference/decode/request_coins.h"
#include "reference/decode/request_preset.h"
#include "reference/error.h"

namespace draftproof::reference::decode {

int Engine::room_of(const HostRequest& host) const {
  return host.emitted_max - static_cast<int>(host.output.size()) - host.placeholders;
}

draft::GateReason Engine::gate_of(const HostRequest& host) const {
  draft::GateSignals signals;
  const RequestSpec& spec = host.spec;
  if (spec.expected_tokens)
    signals.expected_tokens = *spec.expected_tokens - static_cast<int>(host.output.size());
  signals.accepted_counts = host.accepted_counts;
  signals.running_count = static_cast<int>(state_.device.size());
  const kv::PageCounts pages = state_.target_cache->counts();
  signals.free_blocks = pages.free + pages.cached;
  const auto& refused = config_->adapters_without_drafts;
  signals.is_supported = std::find(refused.begin(), refused.end(), spec.adapter) == refused.end();
  // Temperatures beyond every limit are as good as the largest one.
  signals.temperature = Exact(std::min(spec.sampling.temperature, 1e9));
  signals.is_in_domain = spec.is_in_domain;
  if (config_->draft_load_steps && *config_->draft_load_steps > state_.steps) {
    signals.load_time = *config_->draft_load_steps - state_.steps;
    signals.time_left = 0;
  }
  return draft::gate(signals, config_->gates);
}

void Engine::draft() {
  admit();
  // Drafts that wait already hold their pages; they are verified once.
  state_.use = {};
  for (const auto& [id, device] : state_.device) {
    const auto waiting = static_cast<int>(device.waiting.proposal.tokens.size());
    if (waiting == 0) continue;
    BudgetUse held;
    held.speculative_requests = 1;
    held.rollback_cells = device.draft == kNoSequence ? 0 : waiting;
    held.temporary_pages = device.waiting_pages;
    state_.use = sum(state_.use, held);
  }
  // A draft that could not be verified in the same step would only be given up there.
  BudgetUse planned = state_.use;
  for (const auto& [id, device] : state_.device)
    if (state_.host.at(id).phase == Phase::kVerifying)
      planned =
          sum(planned, launch_of(id, static_cast<int>(device.waiting.proposal.tokens.size())));
  for (const RequestId id : running_in_order()) {
    HostRequest& host = state_.host.at(id);
    if (host.phase != Phase::kDrafting || room_of(host) <= 0) continue;
    if (state_.device.at(id).is_stopped) continue;
    if (!draft_for(host, planned)) {
      planned = sum(planned, launch_of(id, 0));
      DeviceRequest& device = state_.device.at(id);
      device.waiting = steps_->without_draft(state_, device);
      host.draft_count = static_cast<int>(device.waiting.proposal.tokens.size());
      enter(host, Phase::kFallingBack);
    }
  }
}

/// What the verification of so many drafted tokens will cost.
BudgetUse Engine::launch_of(RequestId id, int drafted) const {
  if (config_->budget == Budget{}) return {};
  Entry entry;
  entry.id = id;
  entry.tokens.resize(1 + static_cast<std::size_t>(drafted));
  entry.draft.proposal.tokens.resize(static_cast<std::size_t>(drafted));
  entry.row_count = 1 + drafted;
  return steps_->launch_cost(state_, entry, config_->target->vocab_size());
}

bool Engine::draft_for(HostRequest& host, BudgetUse& planned) {
  if (!config_->drafts || !host.spec.is_speculative) return false;
  const int room = steps_->draft_room(host, *config_, room_of(host));
  if (room < 1) return false;  // there is nothing left to draft, whatever a gate would say
  DeviceRequest& device = state_.device.at(host.id);
  draft::GateReason reason = gate_of(host);
  int count = reason == draft::GateReason::kNone ? room : 0;
  const auto with = [&](int drafted) {
    return sum(sum(planned, steps_->draft_cost(state_, device, drafted)),
               launch_of(host.id, drafted));
  };
  while (count > 0 && !is_within(with(count), config_->budget)) --count;
  if (reason == draft::GateReason::kNone && count < 1) reason = draft::GateReason::kSaturatedBatch;
  const BudgetUse cost = steps_->draft_cost(state_, device, count);
  const BudgetUse planned_with_draft = with(count);
  if (count > 0 && device.draft != kNoSequence &&
      !(feed_backlog(device) && state_.draft_cache->reserve(device.draft, count)))
    reason = draft::GateReason::kLittleMemory;
  // One reason a step, so that the log has a line where the reason changed and nowhere else.
  if (reason != host.gate) host.switches.push_back({host.token_count(), reason});
  host.gate = reason;
  if (reason != draft::GateReason::kNone) return false;

  device.waiting = make_draft(host, device, count);
  steps_->observe_draft(device, device.waiting);
  if (device.waiting.proposal.tokens.empty()) {
    steps_->drop_draft(state_, host.id);
    return false;
  }
  device.waiting_pages = cost.temporary_pages;
  host.draft_count = static_cast<int>(device.waiting.proposal.tokens.size());
  state_.use = sum(state_.use, cost);
  planned = planned_with_draft;
  enter(host, Phase::kVerifying);
  return true;
}

bool Engine::feed_backlog(DeviceRequest& device) {
  const std::vector<Token> backlog = steps_->backlog(state_, device);
  kv::PagedCache& cache = *state_.draft_cache;
  if (!cache.reserve(device.draft, static_cast<int>(backlog.size()))) return false;
  const int length = cache.sequence(device.draft).length;
  Sight sight = sight_of(cache, device.draft, length, config_->target->vocab_size());
  std::vector<int> kept;
  for (std::size_t i = 0; i < backlog.size(); ++i) {
    const int slot = length + static_cast<int>(i);
    const std::int32_t position = steps_->draft_position(device, slot);
    cache.write(device.draft, slot,
                {backlog[i], position, kv::history_behind(sight.history(), backlog[i], position)});
    sight.add(cache.read(device.draft, slot), slot);
    kept.push_back(static_cast<int>(i));
  }
  cache.commit(device.draft, kept);
  return true;
}

Draft Engine::make_draft(const HostRequest& host, DeviceRequest& device, int count) {
  DraftTask task;
  RequestCoins coins;
  coins.add(host.id, steps_->seed(host, *config_));
  task.coin_request = host.id;
  task.position = steps_->coin_position(device);
  task.iteration = device.iteration;
  task.tokens = device.tokens;
  task.draft_count_max = count;
  task.sampling = host.spec.sampling;
  task.preset = preset_of(*contract_, host.spec);
  task.coins = &coins;
  std::optional<Sight> sight;
  if (device.draft != kNoSequence) {
    const int length = state_.draft_cache->sequence(device.draft).length;
    sight = sight_of(*state_.draft_cache, device.draft,
                     steps_->draft_launch_length(state_, host.id), config_->target->vocab_size());
    task.cache = state_.draft_cache.get();
    task.sequence = device.draft;
    task.visible = &*sight;
    task.cell_position = steps_->draft_position(device, length);
  }
  Draft draft = config_->drafts->draft(task, device.memory, state_.shared_memory);
  DRAFTPROOF_CHECK(static_cast<int>(draft.proposal.tokens.size()) <= count,
                   std::to_string(draft.proposal.tokens.size()) + " drafted");
  draft.context_length = static_cast<int>(device.tokens.size());
  return draft;
}

}  // namespace draftproof::reference::decode
