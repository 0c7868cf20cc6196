// Gates.
#include "reference/draft/length/gates.h"

#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

/// A gated drafter's memory, taken apart: recent counts, log, inner memory, each behind its size.
struct GateState {
  std::vector<int> accepted_counts;
  std::vector<GateSwitch> switches;
  bool is_drafting = false;
  law::Memory inner;
};

law::Memory memory_of(const GateState& state) {
  law::Memory memory = {state.is_drafting ? 1 : 0};
  memory.push_back(static_cast<std::int64_t>(state.accepted_counts.size()));
  memory.insert(memory.end(), state.accepted_counts.begin(), state.accepted_counts.end());
  memory.push_back(static_cast<std::int64_t>(state.switches.size()));
  for (const GateSwitch& entry : state.switches) {
    memory.push_back(entry.length);
    memory.push_back(static_cast<std::int64_t>(entry.reason));
  }
  memory.insert(memory.end(), state.inner.begin(), state.inner.end());
  return memory;
}

GateState state_of(const law::Memory& memory) {
  GateState state;
  std::size_t at = 0;
  state.is_drafting = memory.at(at++) == 1;
  for (std::int64_t count = memory.at(at++); count > 0; --count)
    state.accepted_counts.push_back(static_cast<int>(memory.at(at++)));
  for (std::int64_t count = memory.at(at++); count > 0; --count, at += 2)
    state.switches.push_back({memory.at(at), static_cast<GateReason>(memory.at(at + 1))});
  state.inner.assign(memory.begin() + static_cast<std::ptrdiff_t>(at), memory.end());
  return state;
}

class GatedDrafter final : public Drafter {
 public:
  GatedDrafter(std::shared_ptr<const Drafter> inner, SignalsOf signals, const GateLimits& limits)
      : inner_(std::move(inner)), signals_(std::move(signals)), limits_(limits) {}

  law::Memory initial(const Context& prompt) const override {
    GateState state;
    state.inner = inner_->initial(prompt);
    return memory_of(state);
  }

  law::DraftTree draft(const law::StepBegin& begin, law::Memory& own, law::Memory& shared,
                       law::Chooser& chooser) const override {
    GateState state = state_of(own);
    GateSignals signals = signals_(begin);
    signals.accepted_counts = state.accepted_counts;
    const GateReason reason = gate(signals, limits_);
    const GateReason before =
        state.switches.empty() ? GateReason::kNone : state.switches.back().reason;
    if (reason != before)
      state.switches.push_back({static_cast<std::int64_t>(begin.context.size()), reason});
    state.is_drafting = reason == GateReason::kNone;
    law::DraftTree tree;
    if (state.is_drafting) tree = inner_->draft(begin, state.inner, shared, chooser);
    own = memory_of(state);
    return tree;
  }

  void commit(const law::StepEnd& end, law::Memory& own, law::Memory& shared) const override {
    GateState state = state_of(own);
    inner_->commit(end, state.inner, shared);
    if (state.is_drafting && limits_.window > 0) {
      state.accepted_counts.push_back(static_cast<int>(end.decision.accepted.size()));
      if (state.accepted_counts.size() > limits_.window)
        state.accepted_counts.erase(state.accepted_counts.begin());
    }
    own = memory_of(state);
  }

 private:
  std::shared_ptr<const Drafter> inner_;
  SignalsOf signals_;
  GateLimits limits_;
};

bool is_poor(const std::vector<int>& accepted_counts, const GateLimits& limits) {
  if (limits.window == 0 || accepted_counts.size() < limits.window) return false;
  int sum = 0;
  for (std::size_t i = accepted_counts.size() - limits.window; i < accepted_counts.size(); ++i)
    sum += accepted_counts[i];
  return Exact(sum, limits.window) < limits.accepted_min;
}

}  // namespace

std::string name_of(GateReason reason) {
  switch (reason) {
    case GateReason::kNone:
      return "none";
    case GateReason::kShortOutput:
      return "short output";
    case GateReason::kPoorAcceptance:
      return "poor acceptance";
    case GateReason::kSaturatedBatch:
      return "saturated batch";
    case GateReason::kLittleMemory:
      return "little memory";
    case GateReason::kUnsupported:
      return "unsupported";
    case GateReason::kOutOfDomain:
      return "out of domain";
    case GateReason::kColdDraft:
      return "cold draft";
  }
  DRAFTPROOF_CHECK(false, "no such reason");
}

GateReason gate(const GateSignals& signals, const GateLimits& limits) {
  if (signals.expected_tokens && *signals.expected_tokens < limits.expected_tokens_min)
    return GateReason::kShortOutput;
  if (is_poor(signals.accepted_counts, limits)) return GateReason::kPoorAcceptance;
  if (signals.running_count > limits.running_max) return GateReason::kSaturatedBatch;
  if (signals.free_blocks && *signals.free_blocks < limits.free_blocks_min)
    return GateReason::kLittleMemory;
  if (!signals.is_supported) return GateReason::kUnsupported;
  if (signals.temperature > limits.temperature_max || !signals.is_in_domain)
    return GateReason::kOutOfDomain;
  if (signals.load_time && signals.time_left && *signals.load_time > *signals.time_left)
    return GateReason::kColdDraft;
  return GateReason::kNone;
}

std::shared_ptr<const Drafter> gated_drafter(std::shared_ptr<const Drafter> inner,
                                             SignalsOf signals, const GateLimits& limits) {
  return std::make_shared<GatedDrafter>(std::move(inner), std::move(signals), limits);
}

std::vector<GateSwitch> switches_of(const law::Memory& memory) { return state_of(memory).switches; }

}  // namespace draftproof::reference::draft
