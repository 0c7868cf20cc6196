// The hand-overs of a right engine: what is kept, given back, and found again.
#include <algorithm>

#include "reference/decode/engine_steps.h"
#include "reference/error.h"

namespace draftproof::reference::decode {

std::vector<int> EngineSteps::kept(const Entry& entry) const {
  std::vector<int> offsets = {0};  // the pending token's
  const std::vector<int>& nodes = entry.outcome.accepted_nodes;
  for (int i = 0; i < entry.outcome.accepted_count; ++i)
    offsets.push_back(1 + (nodes.empty() ? i : nodes[static_cast<std::size_t>(i)]));
  return offsets;
}

void EngineSteps::commit_target(EngineState& state, const Entry& entry) const {
  std::vector<int> offsets;
  if (entry.is_prefill) {
    for (std::size_t i = 0; i < entry.tokens.size(); ++i) offsets.push_back(static_cast<int>(i));
  } else {
    offsets = kept(entry);
  }
  state.target_cache->commit(state.device.at(entry.id).target, offsets);
}

void EngineSteps::commit_recurrent(EngineState& state, const Entry& entry) const {
  std::vector<int> rows;
  if (entry.is_prefill) {
    for (std::size_t i = 0; i < entry.tokens.size(); ++i) rows.push_back(static_cast<int>(i));
  } else {
    rows = kept(entry);
  }
  state.recurrent.keep(state.device.at(entry.id).target, rows);
}

void EngineSteps::commit_draft(EngineState& state, const Entry& entry) const {
  const DeviceRequest& device = state.device.at(entry.id);
  if (device.draft == kNoSequence) return;
  const kv::Sequence& sequence = state.draft_cache->sequence(device.draft);
  if (sequence.reserved == 0) return;
  std::vector<int> offsets;
  const std::vector<int>& nodes = entry.outcome.accepted_nodes;
  for (int i = 0; i < entry.outcome.accepted_count; ++i) {
    const int node = nodes.empty() ? i : nodes[static_cast<std::size_t>(i)];
    const auto& fed = entry.draft.fed_nodes;
    const auto found = std::find(fed.begin(), fed.end(), node);
    if (found == fed.end()) break;  // it was drafted and never fed: it stays in the backlog
    offsets.push_back(static_cast<int>(found - fed.begin()));
  }
  state.draft_cache->commit(device.draft, offsets);
}

std::vector<Token> EngineSteps::backlog(const EngineState& state,
                                        const DeviceRequest& device) const {
  const int length = state.draft_cache->sequence(device.draft).length;
  return {device.tokens.begin() + length, device.tokens.end()};
}

int EngineSteps::draft_position(const DeviceRequest&, int length) const { return length; }

int EngineSteps::draft_launch_length(const EngineState& state, RequestId id) const {
  return state.draft_cache->sequence(state.device.at(id).draft).length;
}

void EngineSteps::take_emitted(const HostRequest& host, DeviceRequest& device, const Entry&,
                               std::span<const Token> emitted) const {
  for (const Token token : emitted) {
    device.tokens.push_back(token);
    device.processor.push_back(token);
    if (!host.spec.grammar) continue;
    if (!device.is_grammar_on) {
      device.is_grammar_on = token == host.spec.grammar_behind;
    } else if (device.grammar_state != model::Grammar::kRefused) {
      device.grammar_state = host.spec.grammar->next(device.grammar_state, token);
    }
  }
}

void EngineSteps::observe_draft(DeviceRequest&, const Draft&) const {}

BudgetUse EngineSteps::draft_cost(const EngineState& state, const DeviceRequest& device,
                                  int count) const {
  BudgetUse use;
  use.draft_tokens = count;
  use.speculative_requests = count > 0 ? 1 : 0;
  if (device.draft == kNoSequence || count == 0) return use;
  const int backlog =
      static_cast<int>(device.tokens.size()) - state.draft_cache->sequence(device.draft).length;
  use.temporary_pages = state.draft_cache->pages_to_reserve(device.draft, backlog + count) -
                        state.draft_cache->pages_to_reserve(device.draft, backlog);
  use.rollback_cells = count;
  return use;
}

BudgetUse EngineSteps::launch_cost(const EngineState& state, const Entry& entry,
                                   int vocab_size) const {
  BudgetUse use;
  const auto fed = static_cast<int>(entry.tokens.size());
  const auto nodes = static_cast<int>(entry.draft.proposal.tokens.size());
  use.verify_rows = fed;
  use.workspace_floats = static_cast<std::int64_t>(entry.row_count) * vocab_size;
  const kv::SequenceId target = state.device.at(entry.id).target;
  use.temporary_pages = state.target_cache->pages_to_reserve(target, fed) -
                        state.target_cache->pages_to_reserve(target, fed - nodes);
  use.rollback_cells = nodes;
  return use;
}

bool EngineSteps::is_stale(const DeviceRequest& device, const Draft& draft) const {
  return draft.context_length != static_cast<int>(device.tokens.size());
}

Draft EngineSteps::without_draft(const EngineState&, const DeviceRequest& device) const {
  Draft none;
  none.context_length = static_cast<int>(device.tokens.size());
  return none;
}

Draft EngineSteps::first_draft(const EngineState&, const DeviceRequest& device) const {
  Draft none;
  none.context_length = static_cast<int>(device.tokens.size());
  return none;
}

std::vector<Token> EngineSteps::published(const EngineState& state, const DeviceRequest& device,
                                          const Entry&) const {
  const int length = state.target_cache->sequence(device.target).length;
  return {device.tokens.begin(), device.tokens.begin() + length};
}

void EngineSteps::attach(EngineState& state, DeviceRequest& device) const {
  state.target_cache->attach_prefix(device.target, device.tokens);
  if (device.draft != kNoSequence) state.draft_cache->attach_prefix(device.draft, device.tokens);
}

void EngineSteps::drop_draft(EngineState& state, RequestId id) const {
  DeviceRequest& device = state.device.at(id);
  if (device.draft != kNoSequence && state.draft_cache->sequence(device.draft).reserved > 0)
    state.draft_cache->roll_back(device.draft);
  HostRequest& host = state.host.at(id);
  host.metrics.dropped += static_cast<std::int64_t>(device.waiting.proposal.tokens.size());
  host.draft_count = 0;
  device.waiting = {};
}

void EngineSteps::park(EngineState& state, RequestId id) const {
  drop_draft(state, id);
  const auto node = state.device.extract(id);
  const DeviceRequest& device = node.mapped();
  state.target_cache->offload(device.target);
  if (device.draft != kNoSequence) state.draft_cache->offload(device.draft);
  state.parked.emplace(id, device);
}

bool EngineSteps::unpark(EngineState& state, RequestId id) const {
  const auto found = state.parked.find(id);
  const DeviceRequest& device = found->second;
  if (!state.target_cache->restore(device.target)) return false;
  if (device.draft != kNoSequence && !state.draft_cache->restore(device.draft)) {
    state.target_cache->offload(device.target);
    return false;
  }
  state.device.emplace(id, device);
  state.parked.erase(found);
  return true;
}

void EngineSteps::leave(EngineState& state, RequestId id, Leave) const {
  if (state.device.contains(id)) drop_draft(state, id);
  auto& holders = state.device.contains(id) ? state.device : state.parked;
  const auto found = holders.find(id);
  if (found == holders.end()) return;
  const DeviceRequest& device = found->second;
  if (device.draft != kNoSequence) state.draft_cache->release(device.draft);
  state.recurrent.release(device.target);
  state.target_cache->release(device.target);
  holders.erase(found);
}

}  // namespace draftproof::reference::decode
