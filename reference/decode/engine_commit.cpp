// Commits: the host learns what a frame did.
#include <algorithm>

#include "reference/decode/engine.h"
#include "reference/error.h"

namespace draftproof::reference::decode {

bool Engine::commit() {
  if (state_.in_flight.empty()) return false;
  const Frame frame = std::move(state_.in_flight.front());
  state_.in_flight.erase(state_.in_flight.begin());
  for (std::size_t entry = 0; entry < frame.entries.size(); ++entry) commit_entry(frame, entry);
  return true;
}

void Engine::commit_entry(const Frame& frame, std::size_t number) {
  HostRequest* const host = steps_->resolve(state_, frame, number);
  if (host == nullptr) return;
  const Entry& entry = frame.entries[number];
  host->in_flight -= 1;
  host->computed = steps_->length_behind_commit(*host, entry);
  host->placeholders = steps_->placeholders_behind_commit(*host, entry);
  if (!entry.is_judged) return;

  const Cut cut = steps_->cut(*host, entry);
  steps_->count(host->metrics, entry, cut);
  host->output.insert(host->output.end(), entry.emitted.begin(),
                      entry.emitted.begin() + static_cast<std::ptrdiff_t>(cut.count));
  if (!entry.draft.proposal.tokens.empty()) {
    host->accepted_counts.push_back(entry.outcome.accepted_count);
    const std::size_t kept = config_->gates.window;
    if (host->accepted_counts.size() > kept)
      host->accepted_counts.erase(host->accepted_counts.begin());
  }
  if (cut.finish == FinishReason::kNone) return;
  steps_->leave(state_, host->id, Leave::kFinished);
  finish(*host, cut.finish);
}

}  // namespace draftproof::reference::decode
