// The hand-overs of a right engine: rows, feeding, judging, and the host's side.
#include "reference/decode/engine_steps.h"

#include <algorithm>
#include <cmath>

#include "reference/error.h"

namespace draftproof::reference::decode {
namespace {

bool ends_with(const std::vector<Token>& tokens, const std::vector<Token>& end) {
  return tokens.size() >= end.size() &&
         std::equal(end.begin(), end.end(), tokens.end() - static_cast<std::ptrdiff_t>(end.size()));
}

double log_of_sum_of_exp(const Row& row, double max) {
  double sum = 0;
  for (const float logit : row) sum += std::exp(static_cast<double>(logit) - max);
  return max + std::log(sum);
}

/// The nodes from the first down to `node`, itself included.
std::vector<int> path_of(const Proposal& proposal, int node) {
  std::vector<int> path;
  for (; node >= 0; node = proposal.parents.empty()
                               ? node - 1
                               : proposal.parents[static_cast<std::size_t>(node)])
    path.push_back(node);
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<Token> tokens_to(const Proposal& proposal, int node) {
  std::vector<Token> tokens;
  for (const int step : path_of(proposal, node))
    tokens.push_back(proposal.tokens[static_cast<std::size_t>(step)]);
  return tokens;
}

}  // namespace

int EngineSteps::row_start(const Frame& frame, std::size_t entry) const {
  int start = 0;
  for (std::size_t before = 0; before < entry; ++before) start += frame.entries[before].row_count;
  return start;
}

std::size_t EngineSteps::owner_of_row(const EngineState&, const Frame&, std::size_t entry,
                                      int) const {
  return entry;
}

int EngineSteps::gathered_row(const Frame&, int row) const { return row; }

int EngineSteps::adapter_of_row(const EngineState& state, const Frame& frame, std::size_t entry,
                                int) const {
  return state.host.at(frame.entries[entry].id).spec.adapter;
}

int EngineSteps::logprob_row(const Frame& frame, std::size_t entry, std::size_t emitted) const {
  const Entry& of = frame.entries[entry];
  const int start = row_start(frame, entry);
  if (emitted == 0) return start;
  const std::vector<int>& nodes = of.outcome.accepted_nodes;
  // The row behind the accepted token before it; of a chain, token by token.
  const int node = nodes.empty() ? static_cast<int>(emitted) - 1 : nodes[emitted - 1];
  return start + node + 1;
}

OutputToken EngineSteps::logprobs(const Row& raw, const Row& adjusted, Token token,
                                  const RequestSpec& spec, const Preset& preset) const {
  OutputToken out;
  out.token = token;
  if (spec.logprob_count < 0) return out;
  const double total = log_of_sum_of_exp(raw, *std::max_element(raw.begin(), raw.end()));
  const auto logprob_of = [&](std::size_t id) { return static_cast<double>(raw[id]) - total; };
  out.raw_logprob = logprob_of(static_cast<std::size_t>(token));
  const MassRow law = shape(adjusted, spec.sampling, preset);
  if (law.status == Status::kOk)
    out.processed_logprob =
        std::log(static_cast<double>(law.mass[static_cast<std::size_t>(token)])) -
        std::log(static_cast<double>(law.total));
  std::vector<Token> ids(raw.size());
  for (std::size_t id = 0; id < ids.size(); ++id) ids[id] = static_cast<Token>(id);
  std::stable_sort(ids.begin(), ids.end(), [&](Token a, Token b) {
    return raw[static_cast<std::size_t>(a)] > raw[static_cast<std::size_t>(b)];
  });
  ids.resize(std::min(ids.size(), static_cast<std::size_t>(spec.logprob_count)));
  for (const Token id : ids) out.top.push_back({id, logprob_of(static_cast<std::size_t>(id))});
  return out;
}

OutputToken EngineSteps::reported(const Entry&, std::size_t, OutputToken token) const {
  return token;
}

int EngineSteps::launch_length(const EngineState& state, const Entry& entry) const {
  return state.target_cache->sequence(state.device.at(entry.id).target).length;
}

int EngineSteps::seen_length(const Entry&, int length) const { return length; }

int EngineSteps::position(const Entry& entry, int length, std::size_t fed) const {
  int depth = 0;
  for (int at = entry.parents[fed]; at >= 0; at = entry.parents[static_cast<std::size_t>(at)])
    ++depth;
  return length + depth;
}

std::vector<int> EngineSteps::visible(const Entry& entry, std::size_t fed) const {
  std::vector<int> path;
  for (int at = static_cast<int>(fed); at >= 0; at = entry.parents[static_cast<std::size_t>(at)])
    path.push_back(at);
  std::reverse(path.begin(), path.end());
  return path;
}

int EngineSteps::slot_of(const Entry&, std::size_t fed) const { return static_cast<int>(fed); }

void EngineSteps::write_padding(EngineState&, const Frame&, int) const {}

std::vector<Token> EngineSteps::chunk(const DeviceRequest& device, int begin, int room) const {
  const auto first = device.tokens.begin() + begin;
  const auto left = static_cast<int>(device.tokens.end() - first);
  return {first, first + std::min(room, left)};
}

Proposal EngineSteps::proposal(const EngineState&, const Entry& entry) const {
  return entry.draft.proposal;
}

History EngineSteps::history(const DeviceRequest& device, const Entry& entry, int node) const {
  return {{device.tokens.begin(), device.tokens.begin() + device.prompt_count},
          device.processor,
          tokens_to(entry.draft.proposal, node)};
}

std::optional<std::vector<bool>> EngineSteps::mask(const HostRequest& host,
                                                   const DeviceRequest& device, const Entry& entry,
                                                   int node) const {
  if (!host.spec.grammar) return std::nullopt;
  const std::vector<Token> tokens = tokens_to(entry.draft.proposal, node);
  auto first = tokens.begin();
  if (!device.is_grammar_on) {
    first = std::find(first, tokens.end(), host.spec.grammar_behind);
    if (first == tokens.end()) return std::nullopt;
    ++first;
  }
  // Behind a refused token nothing is ever reached, and everything is allowed.
  if (device.grammar_state == model::Grammar::kRefused) return std::nullopt;
  const auto state =
      host.spec.grammar->behind(device.grammar_state, std::span(first, tokens.end()));
  if (!state) return std::nullopt;
  return host.spec.grammar->allowed(*state);
}

std::uint32_t EngineSteps::coin_position(const DeviceRequest& device) const {
  return static_cast<std::uint32_t>(device.tokens.size());
}

std::uint64_t EngineSteps::seed(const HostRequest& host, const EngineConfig& config) const {
  if (host.spec.seed) return *host.spec.seed;
  return kv::history_behind(config.seed, static_cast<Token>(host.id), 0);
}

HostRequest* EngineSteps::resolve(EngineState& state, const Frame& frame, std::size_t entry) const {
  const Entry& of = frame.entries[entry];
  const auto found = state.host.find(of.id);
  if (found == state.host.end()) return nullptr;
  HostRequest& host = found->second;
  const bool is_there = host.is_running() || state.parked.contains(host.id);
  return host.epoch == of.epoch && is_there ? &host : nullptr;
}

int EngineSteps::length_behind_commit(const HostRequest& host, const Entry& entry) const {
  const auto nodes = static_cast<int>(entry.draft.proposal.tokens.size());
  return host.computed - (nodes - entry.outcome.accepted_count);
}

int EngineSteps::placeholders_behind_commit(const HostRequest& host, const Entry& entry) const {
  return host.placeholders - entry.row_count;
}

Cut EngineSteps::cut(const HostRequest& host, const Entry& entry) const {
  const RequestSpec& spec = host.spec;
  std::vector<Token> tokens = host.output_tokens();
  for (std::size_t i = 0; i < entry.emitted.size(); ++i) {
    const Token token = entry.emitted[i].token;
    tokens.push_back(token);
    if (spec.eos && token == *spec.eos) return {i + 1, FinishReason::kEos};
    for (const auto& stop : spec.stops)
      if (ends_with(tokens, stop)) return {i + 1, FinishReason::kStop};
    if (static_cast<int>(tokens.size()) >= host.emitted_max) return {i + 1, host.at_emitted_max};
  }
  return {entry.emitted.size(),
          entry.outcome.status == Status::kOk ? FinishReason::kNone : FinishReason::kStatus};
}

void EngineSteps::count(Metrics& metrics, const Entry& entry, const Cut& cut) const {
  if (!entry.is_judged) return;
  const auto accepted = static_cast<std::size_t>(entry.outcome.accepted_count);
  const std::size_t kept = std::min(accepted, cut.count);
  metrics.verifications += 1;
  metrics.drafted += static_cast<std::int64_t>(entry.draft.proposal.tokens.size());
  metrics.accepted += static_cast<std::int64_t>(kept);
  metrics.emitted += static_cast<std::int64_t>(cut.count);
  metrics.cut += static_cast<std::int64_t>(entry.emitted.size() - cut.count);
  metrics.cut_accepted += static_cast<std::int64_t>(accepted - kept);
  metrics.stopped += entry.outcome.status == Status::kOk ? 0 : 1;
  if (metrics.accepted_histogram.size() <= accepted)
    metrics.accepted_histogram.resize(accepted + 1);
  metrics.accepted_histogram[accepted] += 1;
}

int EngineSteps::draft_room(const HostRequest&, const EngineConfig& config, int room) const {
  // The last token of a request needs no draft: it is emitted anyway.
  return std::clamp(room - 1, 0, config.draft_count);
}

EngineStepsPtr right_steps() { return std::make_shared<const EngineSteps>(); }

}  // namespace draftproof::reference::decode
