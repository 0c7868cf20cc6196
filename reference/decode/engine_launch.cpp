// Launches: what the device does with a frame. All entries are fed, then judged together, then
// each keeps what was accepted; nothing here looks at what the host will learn later.
#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "reference/decode/engine.h"
#include "reference/decode/request_coins.h"
#include "reference/decode/request_preset.h"
#include "reference/error.h"

namespace draftproof::reference::decode {
namespace {

/// A request of which nothing is adjusted keeps its rows.
bool is_adjusted(const RequestSpec& spec) {
  const Adjustments& asked = spec.adjustments;
  return !is_off(asked.penalties) || !asked.logit_bias.empty() || asked.allowed_ids ||
         !asked.bad_words.empty() || asked.min_tokens > 0 || spec.grammar != nullptr;
}

/// What is judged together.
struct Judgement {
  Batch batch;
  std::vector<std::size_t> entries;  ///< of the batch's requests
};

VerificationRecord record_of(const EngineState& state, const Frame& frame, std::size_t number,
                             const Request& judged, std::ptrdiff_t start, std::uint64_t seed) {
  const Entry& entry = frame.entries[number];
  const auto rows = frame.rows.begin() + start;
  return {frame.number,
          entry.id,
          entry.epoch,
          entry.is_prefill,
          state.device.at(entry.id).tokens,
          entry.draft,
          judged,
          {rows, rows + entry.row_count},
          seed,
          entry.outcome};
}

}  // namespace

void Engine::launch(Frame& frame) {
  for (std::size_t entry = 0; entry < frame.entries.size(); ++entry) feed(frame, entry);
  const auto rows = static_cast<int>(frame.rows.size());
  frame.padded_row_count = rows;
  const auto& sizes = config_->graph_sizes;
  const auto graph = std::lower_bound(sizes.begin(), sizes.end(), rows);
  if (graph != sizes.end()) frame.padded_row_count = *graph;
  steps_->write_padding(state_, frame, frame.padded_row_count - rows);
  for (std::size_t entry = 0; entry < frame.entries.size(); ++entry) adjust(frame, entry);
  judge(frame);
  for (std::size_t entry = 0; entry < frame.entries.size(); ++entry) keep(frame, entry);
}

void Engine::feed(Frame& frame, std::size_t number) {
  const Entry& entry = frame.entries[number];
  const DeviceRequest& device = state_.device.at(entry.id);
  kv::PagedCache& cache = *state_.target_cache;
  const int vocab_size = config_->target->vocab_size();
  const int length = steps_->launch_length(state_, entry);
  const int window = cache.config().window;
  const std::vector<kv::RecurrentState> states =
      state_.recurrent.feed(device.target, entry.tokens, entry.parents);
  const std::size_t first_judged = entry.tokens.size() - static_cast<std::size_t>(entry.row_count);

  const Sight base = sight_of(cache, device.target, steps_->seen_length(entry, length), vocab_size);
  Sight sight = base;
  std::vector<int> shown;  // fed tokens that `sight` holds behind the base
  for (std::size_t fed = 0; fed < entry.tokens.size(); ++fed) {
    const std::vector<int> path = steps_->visible(entry, fed);
    const bool continues =
        path.size() == shown.size() + 1 && std::equal(shown.begin(), shown.end(), path.begin());
    const auto slot_of = [&](int other) {
      return length + steps_->slot_of(entry, static_cast<std::size_t>(other));
    };
    if (!continues) {
      sight = base;
      for (std::size_t i = 0; i + 1 < path.size(); ++i)
        sight.add(cache.read(device.target, slot_of(path[i])), length + static_cast<int>(i));
    }
    const std::int32_t position = steps_->position(entry, length, fed);
    const int slot = slot_of(static_cast<int>(fed));
    cache.write(device.target, slot,
                {entry.tokens[fed], position,
                 kv::history_behind(sight.history(), entry.tokens[fed], position)});
    sight.add(cache.read(device.target, slot), length + static_cast<int>(path.size()) - 1);
    sight.slide(window);
    shown = path;
    if (fed < first_judged) continue;
    Row row;
    const auto row_number = static_cast<int>(frame.rows.size());
    config_->target->logits({sight.tokens(), sight.first_position(), states[fed],
                             steps_->adapter_of_row(state_, frame, number, row_number)},
                            row);
    if (sight.has_poison())
      std::fill(row.begin(), row.end(), std::numeric_limits<float>::quiet_NaN());
    frame.rows.push_back(std::move(row));
  }
}

void Engine::adjust(Frame& frame, std::size_t number) {
  const Entry& entry = frame.entries[number];
  const int start = steps_->row_start(frame, number);
  for (int node = -1; node + 1 < entry.row_count; ++node) {
    const auto row = static_cast<std::size_t>(start + node + 1);
    const std::size_t owner = steps_->owner_of_row(state_, frame, number, static_cast<int>(row));
    const Entry& asked = frame.entries.at(owner);
    const HostRequest& host = state_.host.at(asked.id);
    DRAFTPROOF_CHECK(row < frame.rows.size(), "row " + std::to_string(row));
    const int gathered = steps_->gathered_row(frame, static_cast<int>(row));
    frame.adjusted.push_back(frame.rows.at(static_cast<std::size_t>(gathered)));
    if (!is_adjusted(host.spec)) continue;
    const DeviceRequest& device = state_.device.at(entry.id);
    Adjustments adjustments = host.spec.adjustments;
    if (host.spec.eos) adjustments.end_tokens = {*host.spec.eos};
    adjustments.grammar_mask = steps_->mask(host, device, entry, node);
    frame.adjusted.back() = adjusted(std::move(frame.adjusted.back()), adjustments,
                                     steps_->history(device, entry, node), contract_->adjustments);
  }
}

void Engine::judge(Frame& frame) {
  // Requests that are judged by one preset and one kind of draft go together; a request without a
  // draft fits every kind.
  std::map<std::pair<const Preset*, RowKind>, Judgement> judgements;
  RequestCoins coins;
  for (std::size_t number = 0; number < frame.entries.size(); ++number) {
    const Entry& entry = frame.entries[number];
    if (!entry.is_judged) continue;
    const DeviceRequest& device = state_.device.at(entry.id);
    const HostRequest& host = state_.host.at(entry.id);
    Request request;
    request.id = entry.id;
    request.position = steps_->coin_position(device);
    request.iteration = device.iteration;
    request.sampling = host.spec.sampling;
    request.proposal = steps_->proposal(state_, entry);
    const auto start = static_cast<std::ptrdiff_t>(steps_->row_start(frame, number));
    const auto rows = static_cast<std::ptrdiff_t>(request.proposal.tokens.size()) + 1;
    DRAFTPROOF_CHECK(start + rows <= static_cast<std::ptrdiff_t>(frame.adjusted.size()),
                     "rows of request " + std::to_string(entry.id));
    request.target_rows.assign(frame.adjusted.begin() + start,
                               frame.adjusted.begin() + start + rows);
    coins.add(entry.id, steps_->seed(host, *config_));
    const RowKind kind = entry.draft.proposal.tokens.empty() ? RowKind::kOneHot : entry.draft.kind;
    Judgement& judgement = judgements[{&preset_of(*contract_, host.spec), kind}];
    judgement.batch.requests.push_back(std::move(request));
    judgement.entries.push_back(number);
  }
  for (auto& [key, judgement] : judgements) {
    Batch& batch = judgement.batch;
    batch.vocab_size = static_cast<std::size_t>(config_->target->vocab_size());
    batch.preset = *key.first;
    batch.draft_kind = key.second;
    Outcome outcome = verifier_->verify(batch, coins, Execution{});
    for (std::size_t i = 0; i < judgement.entries.size(); ++i) {
      const std::size_t number = judgement.entries[i];
      frame.entries[number].outcome = std::move(outcome.requests[i]);
      if (observer_)
        observer_(record_of(state_, frame, number, batch.requests[i],
                            steps_->row_start(frame, number),
                            steps_->seed(state_.host.at(batch.requests[i].id), *config_)));
    }
  }
}

void Engine::keep(Frame& frame, std::size_t number) {
  Entry& entry = frame.entries[number];
  DeviceRequest& device = state_.device.at(entry.id);
  steps_->commit_target(state_, entry);
  steps_->commit_recurrent(state_, entry);
  if (!entry.is_judged) return;
  const HostRequest& host = state_.host.at(entry.id);
  std::vector<Token> emitted;
  for (std::size_t i = 0; i < entry.outcome.emitted.size(); ++i) {
    const auto row = static_cast<std::size_t>(steps_->logprob_row(frame, number, i));
    emitted.push_back(entry.outcome.emitted[i].token);
    OutputToken token = steps_->logprobs(frame.rows.at(row), frame.adjusted.at(row), emitted.back(),
                                         host.spec, preset_of(*contract_, host.spec));
    entry.emitted.push_back(steps_->reported(entry, i, std::move(token)));
  }
  steps_->commit_draft(state_, entry);
  steps_->take_emitted(host, device, entry, emitted);
  if (config_->drafts) {
    std::vector<int> nodes = entry.outcome.accepted_nodes;
    if (nodes.empty())  // a chain's
      for (int node = 0; node < entry.outcome.accepted_count; ++node) nodes.push_back(node);
    config_->drafts->commit(entry.draft, nodes, device.tokens, device.memory, state_.shared_memory);
  }
  device.iteration += 1;
  device.is_stopped = entry.outcome.status != Status::kOk;
  device.waiting = {};
  device.waiting_pages = 0;
  const std::vector<Token> published = steps_->published(state_, device, entry);
  state_.target_cache->publish_prefix(device.target, published);
  if (device.draft == kNoSequence) return;
  const int length = state_.draft_cache->sequence(device.draft).length;
  state_.draft_cache->publish_prefix(
      device.draft, std::span(device.tokens).first(static_cast<std::size_t>(length)));
}

}  // namespace draftproof::reference::decode
