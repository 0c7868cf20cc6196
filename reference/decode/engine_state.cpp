// Copies of an engine's state, and words for it.
#include "reference/decode/engine_state.h"

namespace draftproof::reference::decode {
namespace {

std::unique_ptr<kv::PagedCache> copy_of(const std::unique_ptr<kv::PagedCache>& cache) {
  return cache ? cache->clone() : nullptr;
}

}  // namespace

EngineState& EngineState::operator=(const EngineState& other) {
  if (this == &other) return *this;
  target_cache = copy_of(other.target_cache);
  draft_cache = copy_of(other.draft_cache);
  recurrent = other.recurrent;
  host = other.host;
  device = other.device;
  parked = other.parked;
  waiting = other.waiting;
  in_flight = other.in_flight;
  shared_memory = other.shared_memory;
  next_request = other.next_request;
  frame_count = other.frame_count;
  admission_count = other.admission_count;
  steps = other.steps;
  use = other.use;
  use_max = other.use_max;
  return *this;
}

std::vector<Token> HostRequest::output_tokens() const {
  std::vector<Token> tokens;
  tokens.reserve(output.size());
  for (const OutputToken& emitted : output) tokens.push_back(emitted.token);
  return tokens;
}

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::kWaiting:
      return "waiting";
    case Phase::kPrefilling:
      return "prefilling";
    case Phase::kDrafting:
      return "drafting";
    case Phase::kVerifying:
      return "verifying";
    case Phase::kFallingBack:
      return "falling back";
    case Phase::kFinished:
      return "finished";
  }
  return "unknown";
}

std::string_view to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::kNone:
      return "none";
    case FinishReason::kEos:
      return "eos";
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kContext:
      return "context";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kStatus:
      return "status";
  }
  return "unknown";
}

}  // namespace draftproof::reference::decode
