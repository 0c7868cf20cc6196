// Soak (soak.h). Legs are engines of different kinds, each under its own load; all random choices
// of a leg derive from its seed, so that a leg can be run again alone.
#include "properties/state/soak.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <set>

#include "reference/error.h"
#include "reference/kv/cell.h"
#include "reference/model/grammar.h"

namespace draftproof::properties::state {

namespace decode = reference::decode;
using decode::Phase;
using decode::RequestId;
using reference::Token;

namespace {

constexpr int kVocabSize = 8;
constexpr int kOrder = 6;  // tokens that a row depends on

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  int below(int count) {
    state_ = reference::kv::history_behind(state_, 1, 2);
    return static_cast<int>((state_ >> 33) % static_cast<std::uint64_t>(count));
  }
  bool is_one_in(int count) { return below(count) == 0; }

 private:
  std::uint64_t state_;
};

struct Leg {
  std::string name;
  decode::EngineConfig config;
};

decode::EngineConfig base(bool is_recurrent = false) {
  decode::EngineConfig config;
  config.target = decode::hashed_model({.vocab_size = kVocabSize,
                                        .seed = 21,
                                        .order = is_recurrent ? 1 : kOrder,
                                        .is_recurrent = is_recurrent});
  config.drafts = decode::model_source(decode::hashed_model({.vocab_size = kVocabSize,
                                                             .seed = 22,
                                                             .order = kOrder,
                                                             .shared_parts = 13,
                                                             .shared_seed = 21}));
  config.target_cache = {.page_size = 4, .page_count = 96};
  config.draft_cache = {.page_size = 8, .page_count = 48};
  config.context_max = 64;
  config.request_max = 8;
  config.chunk_tokens = 8;
  return config;
}

std::vector<Leg> legs() {
  std::vector<Leg> legs;
  legs.push_back({"chain", base()});
  legs.push_back({"asynchronous, small pool", base()});
  legs.back().config.is_asynchronous = true;
  legs.back().config.target_cache.page_count = 40;
  legs.back().config.draft_cache.page_count = 24;
  legs.push_back({"block, offloading", base()});
  legs.back().config.rule = "block";
  legs.back().config.offloads = true;
  legs.back().config.target_cache.page_count = 48;
  legs.push_back({"lookup, gates and budgets", base()});
  legs.back().config.drafts = decode::lookup_source(2);
  legs.back().config.gates.free_blocks_min = 12;
  legs.back().config.target_cache.page_count = 64;
  legs.back().config.budget.draft_tokens = 12;
  legs.back().config.budget.verify_rows = 24;
  legs.back().config.graph_sizes = {4, 8, 16, 32};
  legs.push_back({"trees, matched", base()});
  legs.back().config.rule = "match";
  legs.back().config.draft_count = 5;
  legs.back().config.drafts = decode::tree_source(legs.back().config.drafts->model(), {2, 1, 1});
  legs.push_back({"window, quantised", base()});
  legs.back().config.target_cache.window = 7;
  legs.back().config.draft_cache.window = 9;
  legs.back().config.target_cache.is_quantised = true;
  legs.push_back({"recurrent, asynchronous", base(true)});
  legs.back().config.is_asynchronous = true;
  return legs;
}

decode::RequestSpec random_request(Dice& dice) {
  decode::RequestSpec spec;
  // One of a few beginnings, so that prefixes are found, and a tail.
  const int beginning = dice.below(6);
  const int length = 4 + 4 * dice.below(3);
  for (int i = 0; i < length; ++i)
    spec.prompt.push_back(static_cast<Token>((beginning * 5 + i * i) % kVocabSize));
  for (int tail = dice.below(4); tail > 0; --tail)
    spec.prompt.push_back(static_cast<Token>(dice.below(kVocabSize)));
  spec.max_tokens = 4 + dice.below(56);
  spec.sampling.temperature =
      std::array{1.0, 0.0, 0.7, 1.3}[static_cast<std::size_t>(dice.below(4))];
  if (dice.is_one_in(4)) spec.sampling.top_k = 4;
  if (dice.is_one_in(4)) spec.sampling.top_p = 0.9;
  if (dice.is_one_in(2)) spec.seed = static_cast<std::uint64_t>(dice.below(1 << 30));
  if (dice.is_one_in(4)) spec.eos = 7;
  if (dice.is_one_in(8)) spec.stops = {{1, 2, 3}};
  if (spec.eos && dice.is_one_in(2)) spec.adjustments.min_tokens = 5;
  if (dice.is_one_in(8)) spec.adjustments.penalties.presence = 0.5;
  if (dice.is_one_in(8)) spec.logprob_count = 1;
  if (dice.is_one_in(16)) {
    const int no = reference::model::Grammar::kRefused;
    spec.grammar = std::make_shared<const reference::model::Grammar>(
        std::vector<std::vector<int>>{{1, no, 1, no, 1, no, 1, 0}, {no, 0, no, 0, no, 0, no, 1}});
  }
  return spec;
}

class Runner {
 public:
  Runner(const Leg& leg, const SoakSettings& settings, std::uint64_t seed)
      : settings_(settings),
        config_(std::make_shared<const decode::EngineConfig>(leg.config)),
        engine_(settings.make_engine ? settings.make_engine(*config_) : decode::Engine(*config_)),
        twin_(config_, settings.sample_period),
        dice_(seed) {
    found_.name = leg.name;
    found_.seed = seed;
    engine_.observe([this](const decode::VerificationRecord& record) { twin_.verified(record); });
  }

  /// Until `token_count` tokens have been emitted; then until nothing is left.
  SoakLeg run(std::int64_t token_count, double seconds_max) {
    const auto begin = std::chrono::steady_clock::now();
    const auto elapsed = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    try {
      while (found_.tokens < token_count && found_.result.is_clean()) {
        if ((found_.steps & 1023) == 0 && (is_interrupted() || elapsed() > seconds_max)) break;
        disturb();
        step();
      }
      while (found_.result.is_clean() && !engine_.is_idle()) {
        const std::uint64_t before = engine_.state_hash();
        step();
        DRAFTPROOF_CHECK(engine_.is_idle() || engine_.state_hash() != before,
                         "the engine makes no progress");
      }
      if (found_.result.is_clean()) check(true);
    } catch (const std::exception& error) {
      found_.result.exception = error.what();
    }
    found_.replayed = twin_.replayed_count();
    found_.seconds = elapsed();
    return std::move(found_);
  }

 private:
  bool is_interrupted() const { return settings_.is_interrupted && settings_.is_interrupted(); }

  /// What clients and operators do between two steps.
  void disturb() {
    while (engine_.state().waiting.size() < 3) {
      ids_.push_back(engine_.submit(random_request(dice_)));
      ++found_.requests;
    }
    const auto any = [&] { return ids_[static_cast<std::size_t>(dice_.below(size()))]; };
    if (dice_.is_one_in(24)) called(engine_.preempt(any()));
    if (dice_.is_one_in(96)) {
      const bool is_cancelled = engine_.cancel(any());
      found_.cancels += is_cancelled ? 1 : 0;
      called(is_cancelled);
    }
    if (dice_.is_one_in(128)) {
      engine_.evict_prefixes();
      ++found_.evictions;
      called(true);
    }
  }

  int size() const { return static_cast<int>(ids_.size()); }

  void step() {
    ++found_.steps;
    engine_.draft();
    called(true, Boundary::kAfterFeed);
    const bool is_launched = engine_.verify();
    count_hits(is_launched);
    called(is_launched);
    const std::size_t kept = config_->is_asynchronous && is_launched && !dice_.is_one_in(8) ? 1 : 0;
    while (engine_.state().in_flight.size() > kept) called(engine_.commit());
    fetch();
  }

  void count_hits(bool is_launched) {
    if (!is_launched) return;
    for (const decode::Entry& entry : engine_.state().in_flight.back().entries)
      if (entry.is_prefill && entry.length > 0 && !seen_.contains({entry.id, entry.epoch}))
        ++found_.hits;
    for (const decode::Entry& entry : engine_.state().in_flight.back().entries)
      if (entry.is_prefill) seen_.insert({entry.id, entry.epoch});
  }

  void called(bool is_done, Boundary boundary = Boundary::kAfterEmit) {
    if (!is_done || !found_.result.is_clean()) return;
    const bool is_whole = ++found_.checks % settings_.check_period == 0;
    check(is_whole, boundary);
  }

  void check(bool is_whole, Boundary boundary = Boundary::kAfterEmit) {
    found_.whole_checks += is_whole ? 1 : 0;
    found_.result.divergence =
        is_whole ? twin_.check(engine_, boundary) : twin_.check_light(engine_, boundary);
  }

  /// Takes the output of what has finished.
  void fetch() {
    std::erase_if(ids_, [&](RequestId id) {
      const decode::HostRequest& host = engine_.request(id);
      if (host.phase != Phase::kFinished) return false;
      const decode::Metrics& metrics = host.metrics;
      found_.tokens += static_cast<std::int64_t>(host.output.size());
      found_.verifications += metrics.verifications;
      found_.drafted += metrics.drafted;
      found_.accepted += metrics.accepted;
      found_.dropped += metrics.dropped;
      for (const auto& [step, count] : host.transitions)
        if (step.second == Phase::kWaiting) found_.preemptions += count;
      ++found_.finishes[static_cast<std::size_t>(host.finish)];
      std::erase_if(seen_, [&](const auto& prefill) { return prefill.first == id; });
      engine_.forget(id);
      return true;
    });
  }

  const SoakSettings& settings_;
  std::shared_ptr<const decode::EngineConfig> config_;
  decode::Engine engine_;
  Twin twin_;
  Dice dice_;
  SoakLeg found_;
  std::vector<RequestId> ids_;
  std::set<std::pair<RequestId, int>> seen_;  ///< prefills that have begun
};

}  // namespace

const SoakLeg* SoakReport::failed() const {
  const auto found = std::find_if(legs.begin(), legs.end(),
                                  [](const SoakLeg& leg) { return !leg.result.is_clean(); });
  return found == legs.end() ? nullptr : &*found;
}

SoakReport soak(const SoakSettings& settings) {
  SoakReport report;
  const std::vector<Leg> all = legs();
  report.is_complete = true;
  for (std::size_t i = 0; i < all.size() && report.failed() == nullptr; ++i) {
    const auto left = static_cast<std::int64_t>(all.size() - i);
    // One at least, so that no engine is left out where earlier ones emitted more than their share.
    const std::int64_t share =
        std::max<std::int64_t>((settings.token_count - report.tokens + left - 1) / left, 1);
    const std::uint64_t seed =
        reference::kv::history_behind(settings.seed, static_cast<Token>(i), 0);
    Runner runner(all[i], settings, seed);
    SoakLeg leg = runner.run(share, settings.seconds_max - report.seconds);
    report.tokens += leg.tokens;
    report.seconds += leg.seconds;
    report.is_complete = report.is_complete && leg.tokens >= share && leg.result.is_clean();
    report.legs.push_back(std::move(leg));
  }
  return report;
}

}  // namespace draftproof::properties::state
