// The engine's calls, and what requests enter and leave it with.
#include "reference/decode/engine.h"

#include <algorithm>

#include "reference/error.h"
#include "reference/verify/verifiers.h"

namespace draftproof::reference::decode {
namespace {

std::unique_ptr<kv::PagedCache> plain_cache(const kv::CacheConfig& config, bool) {
  return std::make_unique<kv::PagedCache>(config);
}

}  // namespace

Engine::Engine(EngineConfig config, EngineStepsPtr steps, CacheFactory make_cache)
    : steps_(std::move(steps)) {
  validate(config);
  DRAFTPROOF_CHECK(steps_ != nullptr);
  // Recurrent state lies in no page, so a prefix that is found would come without it.
  if (config.target->is_recurrent()) config.target_cache.keeps_prefixes = false;
  if (!make_cache) make_cache = plain_cache;
  state_.target_cache = make_cache(config.target_cache, false);
  if (config.drafts && config.drafts->model())
    state_.draft_cache = make_cache(config.draft_cache, true);
  state_.recurrent = kv::RecurrentSlots(config.recurrent_rollback);
  contract_ = std::make_shared<const Contract>(contract(config.contract));
  verifier_ = verify::make_verifier(config.rule);
  config_ = std::make_shared<const EngineConfig>(std::move(config));
}

Engine::Engine(const Engine& other)
    : config_(other.config_),
      contract_(other.contract_),
      verifier_(other.verifier_),
      steps_(other.steps_),
      state_(other.state_) {}

Engine::~Engine() = default;

RequestId Engine::submit(RequestSpec spec) {
  validate(spec, *config_);
  if (static_cast<int>(state_.waiting.size()) >= config_->queue_max)
    throw Error(ErrorKind::kInput,
                std::to_string(state_.waiting.size()) + " requests wait already; try again later",
                "queue_max");
  const RequestId id = state_.next_request++;
  HostRequest host;
  host.id = id;
  const int room = config_->context_max - static_cast<int>(spec.prompt.size());
  host.emitted_max = std::min(spec.max_tokens, room);
  host.at_emitted_max = spec.max_tokens <= room ? FinishReason::kLength : FinishReason::kContext;
  host.spec = std::move(spec);
  state_.host.emplace(id, std::move(host));
  state_.waiting.push_back(id);
  return id;
}

bool Engine::cancel(RequestId id) {
  const auto found = state_.host.find(id);
  if (found == state_.host.end() || found->second.phase == Phase::kFinished) return false;
  steps_->leave(state_, id, Leave::kCancelled);
  finish(found->second, FinishReason::kCancelled);
  return true;
}

bool Engine::preempt(RequestId id) {
  const auto found = state_.host.find(id);
  if (found == state_.host.end() || !found->second.is_running()) return false;
  HostRequest& host = found->second;
  if (config_->offloads) {
    // What is in flight for it is committed as ever: its cells are only elsewhere.
    state_.device.at(id).parked_in =
        host.phase == Phase::kPrefilling ? Phase::kPrefilling : Phase::kDrafting;
    steps_->park(state_, id);
    enter(host, Phase::kWaiting);
    state_.waiting.insert(state_.waiting.begin(), id);
    return true;
  }
  // Nothing is decided by what is thrown away, so its iterations are counted once more: with them
  // come the same coins, and a seed says the same whether it was preempted or not.
  host.iterations = state_.device.at(id).iteration;
  for (const Frame& frame : state_.in_flight)
    for (const Entry& entry : frame.entries)
      if (entry.id == id && entry.epoch == host.epoch && entry.is_judged) host.iterations -= 1;
  steps_->leave(state_, id, Leave::kPreempted);
  // What is in flight for it is dropped when it is committed; its tokens were seen by nobody.
  host.epoch += 1;
  host.in_flight = 0;
  host.placeholders = 0;
  host.computed = 0;
  enter(host, Phase::kWaiting);
  state_.waiting.insert(state_.waiting.begin(), id);
  return true;
}

void Engine::evict_prefixes() {
  state_.target_cache->evict(state_.target_cache->counts().cached);
  if (state_.draft_cache) state_.draft_cache->evict(state_.draft_cache->counts().cached);
}

bool Engine::step() {
  draft();
  const bool is_launched = verify();
  const std::size_t kept_in_flight = config_->is_asynchronous && is_launched ? 1 : 0;
  bool is_committed = false;
  while (state_.in_flight.size() > kept_in_flight) is_committed = commit() || is_committed;
  return is_launched || is_committed;
}

const HostRequest& Engine::request(RequestId id) const {
  const auto found = state_.host.find(id);
  DRAFTPROOF_CHECK(found != state_.host.end(), "request " + std::to_string(id));
  return found->second;
}

bool Engine::is_idle() const {
  return state_.waiting.empty() && state_.in_flight.empty() &&
         std::none_of(state_.host.begin(), state_.host.end(),
                      [](const auto& entry) { return entry.second.is_running(); });
}

void Engine::forget(RequestId id) {
  DRAFTPROOF_CHECK(request(id).phase == Phase::kFinished, "request " + std::to_string(id));
  state_.host.erase(id);
}

void Engine::enter(HostRequest& host, Phase phase) {
  if (host.phase == phase) return;
  host.transitions[{host.phase, phase}] += 1;
  host.phase = phase;
}

void Engine::finish(HostRequest& host, FinishReason reason) {
  std::erase(state_.waiting, host.id);
  host.finish = reason;
  host.in_flight = 0;
  host.placeholders = 0;
  enter(host, Phase::kFinished);
}

}  // namespace draftproof::reference::decode
