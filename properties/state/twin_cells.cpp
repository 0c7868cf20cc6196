// The twin's caches: pages, cells, recurrent state, and what can be found by its contents.
#include <algorithm>
#include <set>

#include "properties/state/twin.h"
#include "properties/state/words.h"

namespace draftproof::properties::state {

namespace decode = reference::decode;
namespace kv = reference::kv;
using reference::Token;

Twin::Finding Twin::pages(const EngineState& state, bool is_light) const {
  const auto of = [&](const kv::PagedCache* cache, const std::string& name) -> Finding {
    if (cache == nullptr) return std::nullopt;
    const kv::PageCounts counts = cache->counts();
    if (counts.free + counts.live + counts.cached != counts.total)
      return differs(StateCheck::kPages, 0,
                     name + " free + live + cached = " + std::to_string(counts.total),
                     std::to_string(counts.free) + " + " + std::to_string(counts.live) + " + " +
                         std::to_string(counts.cached));
    if (is_light) return std::nullopt;
    const std::optional<std::string> fault = cache->first_fault();
    if (!fault) return std::nullopt;
    return differs(StateCheck::kPages, 0, "a sound " + name + " cache", *fault);
  };
  if (Finding finding = of(state.target_cache.get(), "target")) return finding;
  return of(state.draft_cache.get(), "draft");
}

Twin::Finding Twin::leaks(const EngineState& state) const {
  // Sequences are held by requests on the device or offloaded, one each, and by nobody else.
  std::vector<kv::SequenceId> target, draft;
  for (const auto& [id, held] : held_by(state)) {
    target.push_back(held->target);
    if (held->draft != decode::kNoSequence) draft.push_back(held->draft);
  }
  const auto of = [&](const kv::PagedCache* cache, std::vector<kv::SequenceId> held,
                      const std::string& name) -> Finding {
    if (cache == nullptr) return std::nullopt;
    std::sort(held.begin(), held.end());
    const std::vector<kv::SequenceId> open = cache->open_sequences();
    if (open != held)
      return differs(StateCheck::kLeak, 0, name + " sequences " + words(held), words(open));
    if (state.device.empty() && cache->counts().live != 0)
      return differs(StateCheck::kLeak, 0, "no live " + name + " page without a request",
                     std::to_string(cache->counts().live));
    return std::nullopt;
  };
  if (Finding finding = of(state.target_cache.get(), target, "target")) return finding;
  if (Finding finding = of(state.draft_cache.get(), draft, "draft")) return finding;
  if (state.recurrent.temporary_count() != 0)
    return differs(StateCheck::kLeak, 0, "no temporary recurrent state between calls",
                   std::to_string(state.recurrent.temporary_count()));
  if (target.empty() && state.recurrent != kv::RecurrentSlots(serial_.config().recurrent_rollback))
    return differs(StateCheck::kLeak, 0, "no recurrent slot without a request", "some");
  return std::nullopt;
}

Twin::Finding Twin::cells_of(StateCheck check, RequestId id, const kv::PagedCache& cache,
                             kv::SequenceId sequence, std::span<const Token> tokens) const {
  const int window = cache.config().window;
  const auto length = static_cast<int>(tokens.size());
  const std::vector<kv::Cell> due = serial_cells(cache, tokens);
  for (int slot = window > 0 ? std::max(0, length - window) : 0; slot < length; ++slot) {
    const kv::Cell cell = cache.read(sequence, slot);
    if (cell == due[static_cast<std::size_t>(slot)]) continue;
    return differs(
        check, id,
        "slot " + std::to_string(slot) + ": " + words(due[static_cast<std::size_t>(slot)]),
        words(cell));
  }
  return std::nullopt;
}

Twin::Finding Twin::target_cells(const EngineState& state) const {
  for (const auto& [id, held] : held_by(state)) {
    const Track& track = track_of(id);
    const kv::Sequence& sequence = state.target_cache->sequence(held->target);
    const auto wrong = [&](std::string expected, std::string observed) {
      return differs(StateCheck::kTargetCells, id, std::move(expected), std::move(observed));
    };
    if (sequence.reserved != 0)
      return wrong("nothing reserved between calls", std::to_string(sequence.reserved) + " slots");
    const int due = target_length_due(track);
    if (track.was_judged && sequence.length != due)
      return wrong("KV length " + std::to_string(due) + " of " +
                       std::to_string(track.tokens.size()) + " tokens",
                   std::to_string(sequence.length));
    // A prompt's last token is never found in a cache: its row has to be computed.
    if (!track.was_judged && sequence.length >= static_cast<int>(track.tokens.size()))
      return wrong("less than " + std::to_string(track.tokens.size()) + " tokens fed",
                   std::to_string(sequence.length));
    if (sequence.is_offloaded) continue;  // its cells are seen when they come back
    if (Finding finding =
            cells_of(StateCheck::kTargetCells, id, *state.target_cache, held->target,
                     std::span(track.tokens).first(static_cast<std::size_t>(sequence.length))))
      return finding;
  }
  return std::nullopt;
}

Twin::Finding Twin::draft_cells(const EngineState& state) const {
  if (!state.draft_cache) return std::nullopt;
  for (const auto& [id, held] : held_by(state)) {
    const DeviceRequest& device = *held;
    const Track& track = track_of(id);
    const kv::Sequence& sequence = state.draft_cache->sequence(device.draft);
    if (Finding finding = draft_length(id, track, device, sequence.length)) return finding;
    const auto fed = static_cast<int>(device.waiting.fed_nodes.size());
    const bool is_waiting = !device.waiting.proposal.tokens.empty();
    if (is_waiting ? sequence.reserved < fed : sequence.reserved != 0)
      return differs(StateCheck::kDraftCells, id,
                     is_waiting ? std::to_string(fed) + " slots for a waiting draft"
                                : std::string("nothing reserved without a draft"),
                     std::to_string(sequence.reserved));
    if (sequence.is_offloaded) continue;
    if (Finding finding =
            cells_of(StateCheck::kDraftCells, id, *state.draft_cache, device.draft,
                     std::span(track.tokens).first(static_cast<std::size_t>(sequence.length))))
      return finding;
    if (!is_waiting) continue;
    if (Finding finding = waiting_cells(id, track, device, *state.draft_cache)) return finding;
  }
  return std::nullopt;
}

Twin::Finding Twin::draft_length(RequestId id, const Track& track, const DeviceRequest& device,
                                 int length) const {
  const auto count = static_cast<int>(track.tokens.size());
  const auto due = [&](int expected, const std::string& why) -> Finding {
    if (length == expected) return std::nullopt;
    return differs(StateCheck::kDraftCells, id,
                   "draft KV length " + std::to_string(expected) + ", " + why,
                   std::to_string(length) + " of " + std::to_string(count) + " tokens");
  };
  if (!device.waiting.proposal.tokens.empty())
    return due(count, "everything fed before a draft is made");
  if (track.draft_length_due >= 0)
    return due(track.draft_length_due, "what a verification kept of its draft");
  if (length > count) return due(count, "no more than there are tokens");
  if (track.draft_length < 0 || length == track.draft_length) return std::nullopt;
  // Fed, and then nothing was drafted.
  if (length == count || length == track.judged_length) return std::nullopt;
  return due(track.draft_length, "as before");
}

Twin::Finding Twin::waiting_cells(RequestId id, const Track& track, const DeviceRequest& device,
                                  const kv::PagedCache& cache) const {
  const reference::Proposal& proposal = device.waiting.proposal;
  const auto length = static_cast<int>(track.tokens.size());
  for (std::size_t i = 0; i < device.waiting.fed_nodes.size(); ++i) {
    std::vector<Token> path;
    for (int node = device.waiting.fed_nodes[i]; node >= 0;
         node = proposal.parents.empty() ? node - 1
                                         : proposal.parents[static_cast<std::size_t>(node)])
      path.insert(path.begin(), proposal.tokens[static_cast<std::size_t>(node)]);
    std::vector<Token> tokens = track.tokens;
    tokens.insert(tokens.end(), path.begin(), path.end());
    const kv::Cell due = serial_cells(cache, tokens).back();
    const kv::Cell cell = cache.read(device.draft, length + static_cast<int>(i));
    if (cell == due) continue;
    return differs(StateCheck::kDraftCells, id,
                   "temporary slot " + std::to_string(i) + ": " + words(due), words(cell));
  }
  return std::nullopt;
}

Twin::Finding Twin::recurrent(const EngineState& state) const {
  for (const auto& [id, held] : held_by(state)) {
    const Track& track = track_of(id);
    const int length = state.target_cache->sequence(held->target).length;
    const kv::RecurrentState due =
        kv::state_of(std::span(track.tokens).first(static_cast<std::size_t>(length)));
    // A model without recurrence takes prefixes from pages, and its state means nothing.
    if (!serial_.config().target->is_recurrent()) return std::nullopt;
    const kv::RecurrentState kept = state.recurrent.committed(held->target);
    if (kept != due)
      return differs(
          StateCheck::kRecurrent, id,
          "the state behind " + std::to_string(length) + " tokens, " + std::to_string(due),
          std::to_string(kept));
  }
  return std::nullopt;
}

Twin::Finding Twin::prefixes(const EngineState& state) const {
  if (sample_period_ != 1) return std::nullopt;
  const auto of = [&](const kv::PagedCache* cache, const std::string& name) -> Finding {
    if (cache == nullptr || !cache->config().keeps_prefixes) return std::nullopt;
    for (const auto& [id, tokens] : probes_)
      if (Finding finding = prefix_in(*cache, name, id, tokens)) return finding;
    for (const auto& [id, track] : tracks_) {
      if (track.judged_length < 0) continue;
      if (Finding finding = prefix_in(*cache, name, id, track.tokens)) return finding;
    }
    return std::nullopt;
  };
  if (Finding finding = of(state.target_cache.get(), "target")) return finding;
  return of(state.draft_cache.get(), "draft");
}

Twin::Finding Twin::prefix_in(const kv::PagedCache& cache, const std::string& name,
                              RequestId request, std::vector<Token> tokens) const {
  // A request of these tokens and one more, on a copy.
  const std::unique_ptr<kv::PagedCache> copy = cache.clone();
  const kv::SequenceId sequence = copy->open();
  tokens.push_back(0);
  const auto length = static_cast<std::size_t>(copy->attach_prefix(sequence, tokens));
  const std::span<const Token> found = std::span(tokens).first(length);
  if (length > 0 && !committed_.contains(kv::history_of(found)))
    return differs(StateCheck::kPrefix, request,
                   "no " + name + " page of tokens that nobody has committed",
                   std::to_string(length) + " tokens found of " + words(tokens));
  return cells_of(StateCheck::kPrefix, request, *copy, sequence, found);
}

}  // namespace draftproof::properties::state
