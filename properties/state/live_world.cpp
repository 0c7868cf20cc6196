// Live worlds (live_world.h).
#include "properties/state/live_world.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::properties::state {

namespace decode = reference::decode;
using decode::Phase;

namespace {

/// Committed cells of a request, as its host knows them.
int committed_of(const decode::HostRequest& host) {
  return std::max(0, host.token_count() - (host.output.empty() ? 0 : 1));
}

/// What coverage wants to know of an engine before an action.
struct Before {
  struct Of {
    bool is_running = false, is_drafting = false;
    int epoch = 0, committed = 0, waiting = 0;
    std::int64_t dropped = 0;
  };
  std::map<decode::RequestId, Of> requests;
  std::optional<decode::Frame> front;  ///< the frame that a commit will take
};

Before before(const decode::EngineState& state, ActionKind kind) {
  Before before;
  for (const auto& [id, host] : state.host) {
    Before::Of& of = before.requests[id];
    of.is_running = host.is_running();
    of.is_drafting = host.phase == Phase::kDrafting;
    of.epoch = host.epoch;
    of.committed = committed_of(host);
    of.dropped = host.metrics.dropped;
    if (const auto device = state.device.find(id); device != state.device.end())
      of.waiting = static_cast<int>(device->second.waiting.proposal.tokens.size());
  }
  if (kind == ActionKind::kCommit && !state.in_flight.empty()) {
    before.front.emplace();
    before.front->entries = state.in_flight.front().entries;
  }
  return before;
}

class Counter {
 public:
  Counter(Coverage& coverage, const decode::Engine& engine, const Before& before)
      : coverage_(coverage), engine_(engine), before_(before) {}

  /// What happened to every request, whoever did it.
  void count_requests(ActionKind kind, const std::map<decode::RequestId, int>& last_lengths) {
    const decode::EngineState& state = engine_.state();
    for (const auto& [id, host] : state.host) {
      const auto found = before_.requests.find(id);
      if (found == before_.requests.end()) continue;
      const Before::Of& of = found->second;
      const auto device = state.device.find(id);
      const bool is_preempted = of.is_running && (host.epoch != of.epoch || !host.is_running());
      if (host.finish == decode::FinishReason::kCancelled && kind == ActionKind::kCancel) {
        if (of.is_running) add(Operation::kCancel, of.committed, 0, of.waiting);
      } else if (is_preempted && host.phase != Phase::kFinished) {
        add(Operation::kPreempt, of.committed, 0, of.waiting);
      } else if (host.metrics.dropped > of.dropped && host.phase != Phase::kFinished) {
        add(Operation::kDrop, of.committed, 0, of.waiting);
      }
      if (!of.is_running && device != state.device.end() && !host.output.empty())
        add(Operation::kResume, of.committed, 0, 0);
      if (kind == ActionKind::kDraft && of.is_drafting && host.phase != Phase::kDrafting) {
        const auto last = last_lengths.find(id);
        add(Operation::kDraft, of.committed, last == last_lengths.end() ? 0 : last->second,
            static_cast<int>(device->second.waiting.proposal.tokens.size()));
      }
    }
  }

  void count_hits() {
    for (const decode::Entry& entry : engine_.state().in_flight.back().entries) {
      const auto found = before_.requests.find(entry.id);
      const bool is_first = found != before_.requests.end() && !found->second.is_running;
      if (is_first && entry.is_prefill && entry.length > 0)
        add(Operation::kHit, engine_.request(entry.id).token_count(), 0, 0);
    }
  }

  void count_commits() {
    for (const decode::Entry& entry : before_.front->entries) {
      const auto found = engine_.state().host.find(entry.id);
      if (found == engine_.state().host.end() || entry.is_prefill) continue;
      const Before::Of& of = before_.requests.at(entry.id);
      if (!of.is_running || of.epoch != entry.epoch) continue;
      const auto length = static_cast<int>(entry.draft.proposal.tokens.size());
      add(Operation::kCommit, of.committed, 0, length, entry.outcome.accepted_count);
      if (found->second.phase == Phase::kFinished)
        add(Operation::kFinish, of.committed, 0, length, entry.outcome.accepted_count);
    }
  }

 private:
  void add(Operation operation, int committed, int length_before, int length, int accepted = 0) {
    coverage_.add({operation, committed, engine_.config().target_cache.page_size, length_before,
                   length, accepted});
  }

  Coverage& coverage_;
  const decode::Engine& engine_;
  const Before& before_;
};

}  // namespace

std::shared_ptr<const LiveWorld::Setting> LiveWorld::setting_of(const World& world) {
  auto setting = std::make_shared<Setting>();
  setting->world = world;
  if (world.is_scripted) {
    setting->script = std::make_shared<ScriptedDrafts>(world);
    setting->world.config.drafts = setting->script;
  }
  setting->config = std::make_shared<const decode::EngineConfig>(setting->world.config);
  return setting;
}

decode::Engine LiveWorld::engine_of(const Setting& setting) {
  if (setting.world.make_engine) return setting.world.make_engine(*setting.config);
  return decode::Engine(*setting.config);
}

LiveWorld::LiveWorld(const World& world, Coverage* coverage)
    : setting_(setting_of(world)),
      engine_(engine_of(*setting_)),
      twin_(setting_->config),
      coverage_(coverage) {
  observe();
}

LiveWorld::LiveWorld(const LiveWorld& other)
    : setting_(other.setting_),
      engine_(other.engine_),
      twin_(other.twin_),
      coverage_(other.coverage_),
      numbers_(other.numbers_),
      last_lengths_(other.last_lengths_),
      boundary_(other.boundary_) {
  observe();
}

void LiveWorld::observe() {
  engine_.observe([this](const decode::VerificationRecord& record) {
    twin_.verified(record);
    if (record.is_prefill) return;
    const auto length = static_cast<int>(record.draft.proposal.tokens.size());
    int& last = last_lengths_[record.id];
    if (coverage_ != nullptr)
      coverage_->add({Operation::kVerify, static_cast<int>(record.context.size()) - 1,
                      engine_.config().target_cache.page_size, last, length,
                      record.outcome.accepted_count});
    last = length;
  });
}

std::optional<decode::RequestId> LiveWorld::id_of(int number) const {
  for (const auto& [id, of] : numbers_)
    if (of == number) return id;
  return std::nullopt;
}

bool LiveWorld::act(const Action& action) {
  if (coverage_ == nullptr) return apply(action);
  const Before known = before(engine_.state(), action.kind);
  if (!apply(action)) return false;
  Counter counter(*coverage_, engine_, known);
  counter.count_requests(action.kind, last_lengths_);
  if (action.kind == ActionKind::kVerify) counter.count_hits();
  if (action.kind == ActionKind::kCommit) counter.count_commits();
  return true;
}

bool LiveWorld::apply(const Action& action) {
  boundary_ = action.kind == ActionKind::kDraft ? Boundary::kAfterFeed : Boundary::kAfterEmit;
  const std::optional<RequestId> id = id_of(action.request);
  switch (action.kind) {
    case ActionKind::kSubmit: {
      const auto number = static_cast<std::size_t>(action.request);
      if (id || number >= setting_->world.requests.size()) return false;
      numbers_.emplace(engine_.submit(setting_->world.requests[number]), action.request);
      return true;
    }
    case ActionKind::kDraft: {
      const auto& host = engine_.state().host;
      const bool is_possible = std::any_of(host.begin(), host.end(), [](const auto& entry) {
        return entry.second.phase == Phase::kDrafting || entry.second.phase == Phase::kWaiting;
      });
      if (!is_possible) return false;
      if (setting_->script) setting_->script->expect(action.plans, numbers_);
      engine_.draft();
      return true;
    }
    case ActionKind::kVerify:
      return engine_.verify();
    case ActionKind::kCommit:
      return engine_.commit();
    case ActionKind::kPreempt:
      return id && engine_.preempt(*id);
    case ActionKind::kCancel:
      return id && engine_.cancel(*id);
    case ActionKind::kEvict: {
      const decode::EngineState& state = engine_.state();
      const int cached = state.target_cache->counts().cached +
                         (state.draft_cache ? state.draft_cache->counts().cached : 0);
      engine_.evict_prefixes();
      return cached > 0;
    }
  }
  return false;
}

std::optional<Divergence> LiveWorld::check() { return twin_.check(engine_, boundary_); }

std::vector<Action> LiveWorld::actions() const {
  std::vector<Action> actions;
  const World& world = setting_->world;
  const decode::EngineState& state = engine_.state();
  for (int number = 0; number < static_cast<int>(world.requests.size()); ++number)
    if (!id_of(number)) actions.push_back({ActionKind::kSubmit, number});
  for (Action& action : drafts_of_all()) actions.push_back(std::move(action));
  actions.push_back({ActionKind::kVerify});
  if (!state.in_flight.empty()) actions.push_back({ActionKind::kCommit});
  for (const auto& [id, number] : numbers_) {
    const decode::HostRequest& host = engine_.request(id);
    if (world.has_preemptions && host.is_running())
      actions.push_back({ActionKind::kPreempt, number});
    if (world.has_cancels && host.phase != Phase::kFinished)
      actions.push_back({ActionKind::kCancel, number});
  }
  if (world.has_evictions) actions.push_back({ActionKind::kEvict});
  return actions;
}

std::vector<Action> LiveWorld::drafts_of_all() const {
  const World& world = setting_->world;
  const int places =
      world.parents.empty() ? world.config.draft_count : static_cast<int>(world.parents.size());
  std::vector<Action> actions = {{ActionKind::kDraft}};
  const decode::EngineState& state = engine_.state();
  bool is_any = !state.waiting.empty();
  for (int number = 0; number < static_cast<int>(world.requests.size()); ++number) {
    const std::optional<RequestId> id = id_of(number);
    const auto parked = id ? state.parked.find(*id) : state.parked.end();
    const bool is_drafting =
        id && (engine_.request(*id).phase == Phase::kDrafting ||
               (parked != state.parked.end() && parked->second.parked_in == Phase::kDrafting));
    is_any = is_any || is_drafting;
    if (!setting_->script) continue;
    const decode::HostRequest* host = is_drafting ? &engine_.request(*id) : nullptr;
    // What the engine will ask for at most; more would be the same again.
    const int room = host == nullptr ? 0
                                     : host->emitted_max - static_cast<int>(host->output.size()) -
                                           host->placeholders - 1;
    const int longest = std::clamp(room, 0, std::min(places, world.config.draft_count));
    std::vector<Action> longer;
    for (const Action& action : actions)
      for (int count = 0; count <= longest; ++count)
        for (int right = 0; right <= count; ++right) {
          longer.push_back(action);
          longer.back().plans.push_back({count, right});
        }
    actions = std::move(longer);
  }
  return is_any ? actions : std::vector<Action>{};
}

std::uint64_t LiveWorld::key() const {
  std::uint64_t key = engine_.state_hash();
  for (const auto& [id, number] : numbers_) {
    const auto last = last_lengths_.find(id);
    key = reference::kv::history_behind(key, static_cast<std::int32_t>(id * 64) + number,
                                        last == last_lengths_.end() ? -1 : last->second);
  }
  return key;
}

}  // namespace draftproof::properties::state
