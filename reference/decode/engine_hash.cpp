// What tells two engines apart: everything that may influence a later step, and nothing else.
// Metrics, transitions and logprobs are written and never read, so they are left out; requests are
// numbered in the order in which they came, admissions by their order.
#include <algorithm>
#include <bit>

#include "reference/decode/engine.h"
#include "reference/error.h"

namespace draftproof::reference::decode {
namespace {

class Hash {
 public:
  void add(std::uint64_t word) {
    // Two words of a token each, so that the same function serves as for cells.
    value_ = kv::history_behind(value_, static_cast<Token>(word >> 32),
                                static_cast<std::int32_t>(word & 0xffffffff));
  }
  void add(double number) { add(std::bit_cast<std::uint64_t>(number)); }
  void add(int number) { add(static_cast<std::uint64_t>(static_cast<std::int64_t>(number))); }
  template <typename Number>
  void add(const std::vector<Number>& numbers) {
    add(static_cast<std::uint64_t>(numbers.size()));
    for (const auto number : numbers) add(static_cast<std::uint64_t>(number));
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = kv::kEmptyHistory;
};

void fold(Hash& hash, const Proposal& proposal) {
  hash.add(proposal.tokens);
  hash.add(proposal.parents);
  for (const Row& row : proposal.rows)
    for (const float value : row) hash.add(static_cast<double>(value));
}

void fold(Hash& hash, const Draft& draft) {
  fold(hash, draft.proposal);
  hash.add(static_cast<int>(draft.kind));
  hash.add(draft.fed_nodes);
  hash.add(draft.context_length);
}

void fold(Hash& hash, const HostRequest& host) {
  hash.add(static_cast<int>(host.phase));
  hash.add(static_cast<int>(host.finish));
  hash.add(host.output_tokens());
  hash.add(host.emitted_max);
  hash.add(host.computed);
  hash.add(host.in_flight);
  hash.add(host.placeholders);
  hash.add(host.draft_count);
  hash.add(static_cast<int>(host.gate));
  hash.add(host.accepted_counts);
}

void fold(Hash& hash, const DeviceRequest& device) {
  hash.add(device.tokens);
  hash.add(device.processor);
  hash.add(device.is_grammar_on ? device.grammar_state : -7);
  hash.add(static_cast<int>(device.iteration));
  fold(hash, device.waiting);
  hash.add(device.waiting_pages);
  hash.add(device.memory);
  hash.add(device.is_stopped ? 1 : 0);
}

}  // namespace

std::uint64_t Engine::state_hash() const {
  Hash hash;
  hash.add(state_.target_cache->state_hash());
  if (state_.draft_cache) hash.add(state_.draft_cache->state_hash());
  for (const auto& [id, host] : state_.host) {
    hash.add(static_cast<int>(host.spec.prompt.size()));
    fold(hash, host);
    const bool is_parked = state_.parked.contains(id);
    const auto& holders = is_parked ? state_.parked : state_.device;
    const auto device = holders.find(id);
    if (device == holders.end()) continue;
    hash.add(is_parked ? 1 + static_cast<int>(device->second.parked_in) : 0);
    fold(hash, device->second);
    hash.add(state_.recurrent.committed(device->second.target));
  }
  const auto number_of = [&](RequestId id) {
    return static_cast<int>(std::distance(state_.host.begin(), state_.host.find(id)));
  };
  for (const RequestId id : running_in_order()) hash.add(number_of(id));
  for (const RequestId id : state_.waiting) hash.add(number_of(id));
  for (const Frame& frame : state_.in_flight)
    for (const Entry& entry : frame.entries) {
      const auto host = state_.host.find(entry.id);
      const bool is_live = host != state_.host.end() && host->second.epoch == entry.epoch;
      hash.add(is_live ? number_of(entry.id) : -1);
      hash.add(entry.row_count);
      for (const OutputToken& token : entry.emitted) hash.add(token.token);
    }
  hash.add(state_.shared_memory);
  // Only while the drafter is still to be loaded does time count.
  hash.add(std::min(state_.steps, config_->draft_load_steps.value_or(0)));
  return hash.value();
}

}  // namespace draftproof::reference::decode
