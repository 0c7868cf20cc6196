// The engine core under the checks that a seed is a promise: alone and in company, preempted at
// every step, with and without drafts, stopped inside a draft and continued, started anew with
// other entropy. Sibling: the same engine with its coins keyed by the number of the step.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "properties/state/replay_of_seed.h"
#include "reference/decode/engine.h"

namespace draftproof::properties {
namespace {

namespace decode = reference::decode;
using reference::Token;

constexpr int kVocabSize = 8;

/// Weights of 3, 4 or 5 by a hash of everything seen: no token is likelier than 5/26.
class FlatModel final : public decode::LanguageModel {
 public:
  explicit FlatModel(std::uint64_t seed) : seed_(seed) {}
  int vocab_size() const override { return kVocabSize; }
  void logits(const decode::Seen& seen, reference::Row& row) const override {
    std::uint64_t hash = seed_;
    for (const Token token : seen.tokens) hash = reference::kv::history_behind(hash, token, 0);
    row.clear();
    for (Token token = 0; token < kVocabSize; ++token)
      row.push_back(
          std::log(static_cast<float>(3 + reference::kv::history_behind(hash, token, 1) % 3)));
  }

 private:
  std::uint64_t seed_;
};

/// Drafts as many tokens as each request of the run asks for at its length.
class LengthsByRequest final : public decode::DraftSource {
 public:
  std::map<decode::RequestId, const decode::ReplayRequest*> requests;

  std::string name() const override { return "lengths by request"; }
  decode::LanguageModelPtr model() const override { return inner_->model(); }
  decode::Draft draft(const decode::DraftTask& task, reference::law::Memory& own,
                      reference::law::Memory& shared) const override {
    const auto& lengths = requests.at(task.coin_request)->draft_lengths;
    if (lengths.empty()) return {};
    decode::DraftTask asked = task;
    asked.draft_count_max =
        std::min(task.draft_count_max, lengths[task.tokens.size() % lengths.size()]);
    return asked.draft_count_max > 0 ? inner_->draft(asked, own, shared) : decode::Draft{};
  }

 private:
  decode::DraftSourcePtr inner_ = decode::model_source(std::make_shared<FlatModel>(2));
};

/// Serves a run, step by step, as the world of every request asks.
class Server {
 public:
  Server(const decode::ReplayRun& run, const std::string& rule, decode::EngineStepsPtr steps)
      : run_(run), lengths_(std::make_shared<LengthsByRequest>()), streams_(run.requests.size()) {
    decode::EngineConfig config;
    config.target = std::make_shared<FlatModel>(1);
    config.drafts = lengths_;
    config.rule = rule;
    config.draft_count = 8;
    config.seed = run.entropy;
    engine_ = std::make_unique<decode::Engine>(config, std::move(steps));
  }

  std::vector<decode::Stream> serve() {
    for (std::size_t place = 0; place < run_.requests.size(); ++place) {
      start(place);
      if (run_.serial) finish();
    }
    finish();
    return streams_;
  }

 private:
  struct Running {
    std::size_t place = 0;
    int steps = 0;
    std::size_t stop = 0;  ///< number of the stop that comes next
  };

  const decode::ReplayRequest& asked(std::size_t place) const { return run_.requests[place]; }

  void start(std::size_t place, int steps = 0, std::size_t stop = 0) {
    const decode::ReplayRequest& request = asked(place);
    decode::RequestSpec spec;
    spec.prompt = request.prompt;
    if (spec.prompt.empty()) spec.prompt = {0};
    spec.prompt.insert(spec.prompt.end(), streams_[place].begin(), streams_[place].end());
    spec.sampling = request.sampling;
    spec.seed = request.seed;
    const bool is_cut = stop < request.stops.size() && !request.drafts_past_stops;
    spec.max_tokens = (is_cut ? request.stops[stop] : request.token_count) -
                      static_cast<int>(streams_[place].size());
    if (spec.max_tokens <= 0) return;
    const decode::RequestId id = engine_->submit(spec);
    lengths_->requests[id] = &request;
    running_[id] = {place, steps, stop};
  }

  void finish() {
    while (!running_.empty()) {
      engine_->draft();
      engine_->verify();
      std::vector<decode::RequestId> judged;
      for (const auto& frame : engine_->state().in_flight)
        for (const auto& entry : frame.entries)
          if (entry.is_judged) judged.push_back(entry.id);
      for (const decode::RequestId id : judged) {
        Running& of = running_.at(id);
        const auto& preempted = asked(of.place).preempted_steps;
        if (std::find(preempted.begin(), preempted.end(), of.steps++) != preempted.end())
          engine_->preempt(id);
      }
      engine_->commit();
      for (const decode::RequestId id : judged) settle(id);
    }
  }

  /// Ends a request that has finished or has come to its stop, and goes on behind a stop.
  void settle(decode::RequestId id) {
    const Running of = running_.at(id);
    const decode::ReplayRequest& request = asked(of.place);
    std::vector<Token> tokens = engine_->request(id).output_tokens();
    const bool has_stop = of.stop < request.stops.size();
    const auto before = streams_[of.place].size();
    const bool is_stopped =
        has_stop && before + tokens.size() >= static_cast<std::size_t>(request.stops[of.stop]);
    if (!is_stopped && engine_->request(id).phase != decode::Phase::kFinished) return;
    if (is_stopped) tokens.resize(static_cast<std::size_t>(request.stops[of.stop]) - before);
    engine_->cancel(id);
    streams_[of.place].insert(streams_[of.place].end(), tokens.begin(), tokens.end());
    running_.erase(id);
    if (is_stopped) start(of.place, of.steps, of.stop + 1);
  }

  const decode::ReplayRun& run_;
  std::shared_ptr<LengthsByRequest> lengths_;
  std::unique_ptr<decode::Engine> engine_;
  std::map<decode::RequestId, Running> running_;
  std::vector<decode::Stream> streams_;
};

ReplaySubject engine_of(const std::string& rule,
                        decode::EngineStepsPtr steps = decode::right_steps()) {
  ReplaySubject subject;
  subject.name = "engine, rule " + rule;
  subject.decode = [rule, steps](const decode::ReplayRun& run) {
    return Server(run, rule, steps).serve();
  };
  subject.vocab_size = kVocabSize;
  subject.token_bits = std::log2(26.0 / 5.0);  // FlatModel
  subject.ignores_drafts = rule == "match";
  // Draft noise is keyed by the iteration too, which starts anew behind a stop.
  subject.continues_by_text = rule == "match";
  return subject;
}

class EngineReplay : public testing::TestWithParam<std::string> {};

TEST_P(EngineReplay, ASeedIsAPromise) {
  const ReplaySubject subject = engine_of(GetParam());
  for (const ReplayCheck& check : replay_checks()) {
    const ReplayFinding finding = check.check(subject);
    EXPECT_NE(finding.answer, ReplayAnswer::kViolated) << check.id << "\n" << finding.history;
    EXPECT_LE(finding.false_alarm_log2, -40) << check.id;
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, EngineReplay, testing::Values("match", "chain", "block"));

TEST(EngineReplay, CoinsKeyedByTheNumberOfTheStepBreakIt) {
  class KeyedByStep final : public decode::EngineSteps {
    std::uint32_t coin_position(const decode::DeviceRequest& device) const override {
      return device.iteration;
    }
  };
  const ReplaySubject subject = engine_of("match", std::make_shared<const KeyedByStep>());
  int violated = 0;
  for (const ReplayCheck& check : replay_checks())
    violated += check.check(subject).answer == ReplayAnswer::kViolated ? 1 : 0;
  EXPECT_GE(violated, 2);
}

}  // namespace
}  // namespace draftproof::properties
