// What tells two engines of one configuration apart: everything that may influence a later step,
// and nothing else. Metrics, transitions, gate switches, logprobs and epochs that are over are
// written and never read, and finished requests can do nothing any more, so they are left out;
// admissions count by their order. Request numbers stay: coins of requests without a seed are keyed
// by them.
#include <algorithm>
#include <bit>
#include <set>

#include "reference/decode/engine.h"
#include "reference/decode/ledger.h"
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
  hash.add(static_cast<int>(proposal.rows.size()));
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
  hash.add(hash_of(host.spec));
  hash.add(static_cast<int>(host.id));
  hash.add(static_cast<int>(host.phase));
  hash.add(host.output_tokens());
  hash.add(host.computed);
  hash.add(host.in_flight);
  hash.add(host.placeholders);
  hash.add(host.draft_count);
  hash.add(static_cast<int>(host.gate));
}

void fold(Hash& hash, const DeviceRequest& device) {
  hash.add(device.tokens);
  hash.add(device.processor);
  hash.add(device.is_grammar_on ? device.grammar_state : -7);
  fold(hash, device.waiting);
  hash.add(device.waiting_pages);
  hash.add(device.memory);
  hash.add(device.is_stopped ? 1 : 0);
}

/// What a commit will read of an entry.
void fold(Hash& hash, const Entry& entry) {
  hash.add(static_cast<int>(entry.id));
  hash.add(entry.is_prefill ? 1 : 0);
  hash.add(entry.is_judged ? 1 : 0);
  hash.add(entry.row_count);
  hash.add(static_cast<int>(entry.draft.proposal.tokens.size()));
  hash.add(entry.outcome.accepted_count);
  hash.add(static_cast<int>(entry.outcome.status));
  hash.add(static_cast<int>(entry.emitted.size()));
  for (const OutputToken& token : entry.emitted) hash.add(token.token);
}

void fold(Hash& hash, const Adjustments& asked) {
  const Penalties& penalties = asked.penalties;
  hash.add(penalties.repetition);
  hash.add(penalties.frequency);
  hash.add(penalties.presence);
  hash.add(static_cast<std::uint64_t>(penalties.last_n.value_or(-2)));
  hash.add(penalties.last_n ? 1 : 0);
  hash.add(static_cast<int>(asked.logit_bias.size()));
  for (const TokenBias& bias : asked.logit_bias) {
    hash.add(bias.token);
    hash.add(bias.bias);
  }
  hash.add(asked.allowed_ids ? 1 : 0);
  hash.add(asked.allowed_ids.value_or(std::vector<Token>{}));
  hash.add(static_cast<int>(asked.bad_words.size()));
  for (const auto& word : asked.bad_words) hash.add(word);
  hash.add(static_cast<std::uint64_t>(asked.min_tokens));
}

/// Every state that can be reached, in the order of its discovery, with what it leads to.
void fold(Hash& hash, const model::Grammar& grammar) {
  std::vector<model::Grammar::State> states = {grammar.start()};
  std::set<model::Grammar::State> known = {grammar.start()};
  for (std::size_t i = 0; i < states.size(); ++i)
    for (std::size_t token = 0; token < grammar.vocab_size(); ++token) {
      const model::Grammar::State next = grammar.next(states[i], static_cast<Token>(token));
      hash.add(next);
      if (next != model::Grammar::kRefused && known.insert(next).second) states.push_back(next);
    }
}

}  // namespace

std::uint64_t hash_of(const RequestSpec& spec) {
  Hash hash;
  hash.add(spec.prompt);
  hash.add(spec.sampling.temperature);
  hash.add(static_cast<std::uint64_t>(spec.sampling.top_k));
  hash.add(spec.sampling.top_p);
  hash.add(spec.sampling.min_p);
  fold(hash, spec.adjustments);
  hash.add(spec.seed ? 1 : 0);
  hash.add(spec.seed.value_or(0));
  hash.add(spec.max_tokens);
  hash.add(spec.eos.value_or(-1));
  hash.add(static_cast<int>(spec.stops.size()));
  for (const auto& stop : spec.stops) hash.add(stop);
  hash.add(spec.grammar ? 1 : 0);
  if (spec.grammar) fold(hash, *spec.grammar);
  hash.add(spec.grammar_behind.value_or(-1));
  hash.add(spec.adapter);
  hash.add(spec.is_speculative ? 1 : 0);
  hash.add(spec.expected_tokens ? 1 : 0);
  hash.add(spec.expected_tokens.value_or(0));
  hash.add(spec.is_in_domain ? 1 : 0);
  return hash.value();
}

std::uint64_t Engine::state_hash() const {
  Hash hash;
  hash.add(state_.target_cache->state_hash());
  if (state_.draft_cache) hash.add(state_.draft_cache->state_hash());
  // Iterations are part of coin addresses; where nobody reads them they are only counted.
  const bool reads_iterations =
      looks_ahead(config_->rule) || (config_->drafts && config_->drafts->draws());
  // The mean of counts is never below 0.
  const bool reads_acceptance = config_->gates.accepted_min > 0;
  for (const auto& [id, host] : state_.host) {
    if (host.phase == Phase::kFinished) continue;
    fold(hash, host);
    if (reads_iterations) hash.add(static_cast<int>(host.iterations));
    if (reads_acceptance) hash.add(host.accepted_counts);
    const bool is_parked = state_.parked.contains(id);
    const auto& holders = is_parked ? state_.parked : state_.device;
    const auto device = holders.find(id);
    if (device == holders.end()) continue;
    hash.add(is_parked ? 1 + static_cast<int>(device->second.parked_in) : 0);
    fold(hash, device->second);
    if (reads_iterations) hash.add(static_cast<int>(device->second.iteration));
    hash.add(state_.recurrent.committed(device->second.target));
  }
  for (const RequestId id : running_in_order()) hash.add(static_cast<int>(id));
  for (const RequestId id : state_.waiting) hash.add(static_cast<int>(id));
  for (const Frame& frame : state_.in_flight) {
    hash.add(-2);
    for (const Entry& entry : frame.entries) {
      const auto host = state_.host.find(entry.id);
      const bool is_live = host != state_.host.end() && host->second.phase != Phase::kFinished &&
                           host->second.epoch == entry.epoch;
      if (is_live) fold(hash, entry);
    }
  }
  hash.add(state_.shared_memory);
  hash.add(static_cast<int>(state_.next_request));
  // What the drafts that wait have used of the step's budget.
  hash.add(state_.use.draft_tokens);
  hash.add(state_.use.verify_rows);
  hash.add(state_.use.speculative_requests);
  hash.add(state_.use.temporary_pages);
  hash.add(static_cast<std::uint64_t>(state_.use.workspace_floats));
  hash.add(state_.use.rollback_cells);
  // Only while the drafter is still to be loaded does time count.
  hash.add(std::min(state_.steps, config_->draft_load_steps.value_or(0)));
  return hash.value();
}

}  // namespace draftproof::reference::decode
