#include "tools/audit/collector.h"

#include <algorithm>
#include <limits>

#include "reference/error.h"
#include "tools/engines/client.h"

namespace draftproof::tools::audit {
namespace {

using properties::Arm;
using properties::Completion;
using properties::CompletionEnd;
using properties::SamplingRequest;
using properties::Transcript;
using properties::TrialKey;
using properties::audits::AuditCase;
using properties::audits::Evidence;
using properties::audits::Matrix;

/// What is lost at most when the process is killed: the answers of one call.
constexpr std::size_t kRequestsTogether = 64;
/// So many failures one behind the other, and nothing else, are no weather.
constexpr std::size_t kFailuresMax = 32;
constexpr double kSecondsBetweenQuestions = 5;
/// Seeds below 2^31 are taken by every engine.
constexpr bool kNarrowSeeds = true;

/// So many likeliest candidates every engine gives of a position of the prompt.
constexpr int kUsualCandidates = 20;

/// Candidates of each position that rescoring needs of this request; 0: it cannot be rescored.
int candidates_for(const SamplingRequest& request, int vocab_size) {
  if (!request.grammar.empty() || !request.adapter.empty()) return 0;
  const reference::Sampling& sampling = request.sampling;
  if (request.adjustments != reference::Adjustments{}) return vocab_size;
  if (sampling.temperature == 0) return 2;
  if (sampling.top_k > 0 && (vocab_size == 0 || sampling.top_k < vocab_size))
    return static_cast<int>(sampling.top_k) + 1;
  // Without filters all others are one cell.
  const bool is_open = sampling.temperature == 1 && sampling.top_p >= 1 && sampling.min_p <= 0;
  if (!is_open) return vocab_size;
  return vocab_size == 0 ? kUsualCandidates : std::min(vocab_size, kUsualCandidates);
}

/// Thrown through the loops: the run is over.
struct Ended {
  CollectEnd end;
  std::string reason;
};
/// Thrown through a setting's loops: it cannot be asked.
struct Refused {
  std::string reason;
};

class Collection {
 public:
  Collection(const CollectPlan& plan, const CollectHooks& hooks, Evidence& evidence)
      : plan_(plan), hooks_(hooks), evidence_(evidence), begun_at_(hooks.now()) {
    for (const std::size_t setting : plan.settings) {
      State state{.setting = setting};
      for (const AuditCase& each : plan.matrix.cases) {
        if (each.setting != setting) continue;
        state.cases.push_back(&each);
        state.trial_max = std::max(state.trial_max, each.trial_max);
      }
      if (!state.cases.empty()) states_.push_back(std::move(state));
    }
  }

  CollectResult run() {
    CollectResult result;
    try {
      if (!states_.empty()) warm_up();
      while (State* state = next()) visit(*state, result);
      ask_what_changed(true);
    } catch (const Ended& ended) {
      result.end = ended.end;
      result.reason = ended.reason;
      see_whether_another_answers(result);
    }
    result.requests = requests_;
    return result;
  }

 private:
  struct State {
    std::size_t setting = 0;
    std::vector<const AuditCase*> cases = {};
    std::uint64_t trial_max = 0;
    unsigned round = 0;
    double growth = 0;  ///< of evidence: the share of an alarm that a trial brought
    bool is_done = false;
    std::size_t failures[2] = {0, 0};  ///< one behind the other, of an arm
    bool has_answered[2] = {false, false};
  };

  bool has_baseline() const { return plan_.judge.has_baseline; }
  std::vector<Arm> arms() const {
    if (!has_baseline()) return {Arm::kSpeculative};
    return {Arm::kBaseline, Arm::kSpeculative};
  }

  /// First looks first, then where evidence grows, then the least round.
  State* next() {
    State* best = nullptr;
    const auto rank = [](const State& state) {
      return std::make_tuple(state.round != 0, -state.growth, state.round);
    };
    for (State& state : states_)
      if (!state.is_done && (best == nullptr || rank(state) < rank(*best))) best = &state;
    return best;
  }

  std::uint64_t trials_of(unsigned round, const State& state) const {
    const std::uint64_t first = std::max<std::uint64_t>(plan_.matrix.first_look, 1);
    if (round >= 40) return state.trial_max;
    return std::min(first << round, state.trial_max);
  }

  bool has_trial_beyond(const State& state, std::uint64_t trials) const {
    return std::any_of(state.cases.begin(), state.cases.end(), [&](const AuditCase* each) {
      const auto all = arms();
      return std::any_of(all.begin(), all.end(), [&](Arm arm) {
        const auto& there = evidence_.of(each->id, arm);
        return !there.empty() && there.rbegin()->first >= trials;
      });
    });
  }

  void visit(State& state, CollectResult& result) {
    const std::uint64_t trials = trials_of(state.round++, state);
    if (has_trial_beyond(state, trials)) return;
    try {
      fill(state, trials);
    } catch (const Refused& refused) {
      result.refused.emplace_back(state.setting, refused.reason);
      state.is_done = true;
      return;
    }
    ask_what_changed(false);
    const auto verdicts =
        properties::audits::judge_setting(plan_.matrix, evidence_, plan_.judge, state.setting);
    state.growth = growth_of(verdicts, trials);
    state.is_done =
        trials >= state.trial_max || properties::audits::is_settled(verdicts, plan_.judge);
    if (!plan_.stops_at_violation) return;
    for (const oracle::Verdict& verdict : verdicts)
      if (verdict.kind == oracle::VerdictKind::kViolated)
        throw Ended{CollectEnd::kViolation, "stopped at the first violation: " + verdict.property +
                                                " in " + verdict.setting};
  }

  static double growth_of(const std::vector<oracle::Verdict>& verdicts, std::uint64_t trials) {
    double growth = 0;
    for (const oracle::Verdict& verdict : verdicts) {
      if (!verdict.log_e_value || !verdict.log_alarm || *verdict.log_alarm <= 0) continue;
      // Who has alarmed needs no more.
      if (*verdict.log_e_value >= *verdict.log_alarm) continue;
      growth = std::max(growth, *verdict.log_e_value / *verdict.log_alarm /
                                    static_cast<double>(std::max<std::uint64_t>(trials, 1)));
    }
    return growth;
  }

  /// What is missing below `trials`: the same requests in the same order in both arms.
  void fill(State& state, std::uint64_t trials) {
    struct Asked {
      const AuditCase* of;
      std::uint64_t trial;
      std::uint32_t repeat;
    };
    std::vector<Asked> together;
    const auto flush = [&] {
      for (const Arm arm : arms()) {
        std::vector<TrialKey> keys;
        std::vector<SamplingRequest> requests;
        for (const Asked& each : together) {
          TrialKey key{arm, each.of->id, each.trial, each.repeat};
          if (evidence_.has(key)) continue;
          keys.push_back(std::move(key));
          requests.push_back(request_of(plan_.matrix, *each.of, arm, each.trial, kNarrowSeeds));
        }
        if (!keys.empty()) ask(state, arm, keys, requests);
      }
      if (hooks_.score)
        for (const Asked& each : together)
          if (each.repeat == 0 && is_scored(*each.of, each.trial)) score(*each.of, each.trial);
      together.clear();
    };
    for (std::uint64_t trial = 0; trial < trials; ++trial) {
      for (const AuditCase* each : state.cases) {
        if (trial >= each->trial_max) continue;
        const std::uint32_t repeats = trial < plan_.repeated_trials ? 1 : 0;
        for (std::uint32_t repeat = 0; repeat <= repeats; ++repeat)
          if (is_missing({*each, trial, repeat})) together.push_back({each, trial, repeat});
        if (together.size() >= kRequestsTogether) flush();
      }
    }
    flush();
  }

  struct Place {
    const AuditCase& of;
    std::uint64_t trial;
    std::uint32_t repeat;
  };
  bool is_missing(const Place& place) const {
    const auto all = arms();
    if (std::any_of(all.begin(), all.end(), [&](Arm arm) {
          return !evidence_.has({arm, place.of.id, place.trial, place.repeat});
        }))
      return true;
    return hooks_.score && place.repeat == 0 && is_scored(place.of, place.trial) &&
           !evidence_.has({Arm::kSpeculative, place.of.id, place.trial, properties::kScoreRepeat});
  }

  void ask(State& state, Arm arm, const std::vector<TrialKey>& keys,
           const std::vector<SamplingRequest>& requests) {
    look_at_limits(requests.size());
    const auto completions = answers(arm, requests, state.setting);
    std::vector<Transcript> transcripts;
    const auto index = static_cast<std::size_t>(arm);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const bool has_failed = completions[i].end == CompletionEnd::kFailed;
      state.failures[index] = has_failed ? state.failures[index] + 1 : 0;
      state.has_answered[index] = state.has_answered[index] || !has_failed;
      transcripts.push_back({keys[i], requests[i], completions[i], kind_of(arm, completions[i])});
    }
    keep(std::move(transcripts));
    std::uint64_t done = 0;
    for (const AuditCase* each : state.cases) done += evidence_.of(each->id, arm).size();
    std::uint64_t of = 0;
    for (const AuditCase* each : state.cases) of += each->trial_max;
    hooks_.progress(state.setting, done, of);
    if (state.failures[index] >= kFailuresMax && !state.has_answered[index])
      throw Refused{"the " + to_string(arm) + " arm failed " +
                    std::to_string(state.failures[index]) +
                    " requests one behind the other: " + completions.back().failure};
  }

  properties::LogprobKind kind_of(Arm arm, const Completion& completion) const {
    if (completion.logprobs.empty() && completion.top_logprobs.empty())
      return properties::LogprobKind::kNone;
    return (arm == Arm::kBaseline ? plan_.judge.baseline : plan_.judge.speculative).logprobs;
  }

  std::vector<Completion> answers(Arm arm, const std::vector<SamplingRequest>& requests,
                                  std::size_t setting) {
    try {
      requests_ += requests.size();
      auto completions = hooks_.ask(arm, requests, plan_.matrix.settings[setting].concurrency);
      DRAFTPROOF_CHECK(completions.size() == requests.size(),
                       std::to_string(completions.size()) + " answers to " +
                           std::to_string(requests.size()) + " requests");
      return completions;
    } catch (const engines::AnotherEngine& another) {
      throw Ended{CollectEnd::kArmChanged, "the " + to_string(arm) + " arm: " + another.what()};
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInput)
        throw Refused{"the " + to_string(arm) + " arm cannot be asked: " + error.what()};
      throw Ended{CollectEnd::kArmLost, "the " + to_string(arm) + " arm is lost: " + error.what()};
    }
  }

  bool is_scored(const AuditCase& of, std::uint64_t trial) const {
    return trial < plan_.scored_trials &&
           candidates_for(of.request, plan_.judge.speculative.vocab_size) > 0;
  }

  /// The trial's prompt and output, read once more.
  void score(const AuditCase& of, std::uint64_t trial) {
    const TrialKey key{Arm::kSpeculative, of.id, trial, properties::kScoreRepeat};
    const auto& answers = evidence_.of(of.id, Arm::kSpeculative);
    const auto answer = answers.find(trial);
    if (evidence_.has(key) || answer == answers.end()) return;
    const Transcript& emitted = answer->second;
    if (emitted.completion.end == CompletionEnd::kFailed || emitted.completion.token_ids.empty())
      return;
    look_at_limits(1);
    Transcript scored;
    scored.key = key;
    scored.request = emitted.request;
    scored.request.max_tokens = 0;
    scored.logprob_kind = properties::LogprobKind::kRaw;
    scored.completion.end = CompletionEnd::kLength;
    auto& prompt = scored.request.prompt;
    prompt.insert(prompt.end(), emitted.completion.token_ids.begin(),
                  emitted.completion.token_ids.end());
    const int candidates = candidates_for(of.request, plan_.judge.speculative.vocab_size);
    scored.request.logprob_count = candidates;
    try {
      ++requests_;
      scored.completion.top_logprobs = hooks_.score(prompt, candidates);
    } catch (const engines::AnotherEngine& another) {
      throw Ended{CollectEnd::kArmChanged,
                  std::string("whoever reads the answers: ") + another.what()};
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInput)
        throw Refused{std::string("answers cannot be scored: ") + error.what()};
      throw Ended{CollectEnd::kArmLost, std::string("the arm is lost: ") + error.what()};
    }
    if (scored.completion.top_logprobs.empty())
      throw Refused{"the engine gives no logprobs of prompts, which rescoring needs"};
    keep({std::move(scored)});
  }

  void keep(std::vector<Transcript> transcripts) {
    hooks_.keep(transcripts);
    for (Transcript& each : transcripts) evidence_.add(std::move(each));
  }

  void look_at_limits(std::size_t more) const {
    if (hooks_.is_interrupted()) throw Ended{CollectEnd::kInterrupted, "interrupted"};
    if (plan_.time_limit_s && hooks_.now() - begun_at_ >= *plan_.time_limit_s)
      throw Ended{CollectEnd::kTimeLimit, "the time limit was reached"};
    if (plan_.request_max && requests_ + more > *plan_.request_max)
      throw Ended{CollectEnd::kRequestLimit, "the limit of requests was reached"};
  }

  /// Whatever cut the run: what came last may be another engine's.
  void see_whether_another_answers(CollectResult& result) const {
    if (result.end == CollectEnd::kInterrupted || result.end == CollectEnd::kArmChanged) return;
    const auto change = hooks_.what_changed();
    if (!change || !change->is_another) return;
    result.end = CollectEnd::kArmChanged;
    result.reason = change->what;
  }

  void ask_what_changed(bool at_once) {
    if (!at_once && hooks_.now() - asked_at_ < kSecondsBetweenQuestions) return;
    asked_at_ = hooks_.now();
    if (const auto change = hooks_.what_changed())
      throw Ended{change->is_another ? CollectEnd::kArmChanged : CollectEnd::kArmLost,
                  change->what};
  }

  /// The first answer of each arm is kept as a cold one; the others are thrown away.
  void warm_up() {
    const AuditCase& first = *states_.front().cases.front();
    const std::string cold = cold_case(plan_.matrix.settings[first.setting]);
    for (const Arm arm : arms()) {
      const double begin = hooks_.now();
      std::uint64_t trial = evidence_.of(cold, arm).size();
      bool is_first = true;
      do {
        look_at_limits(1);
        const SamplingRequest request =
            request_of(plan_.matrix, first, arm, first.trial_max + trial, kNarrowSeeds);
        try {
          const auto completions = answers(arm, {request}, first.setting);
          if (is_first)
            keep({{{arm, cold, trial, 0},
                   request,
                   completions.front(),
                   kind_of(arm, completions.front())}});
        } catch (const Refused&) {
          return;  // It will be said of its setting.
        }
        is_first = false;
        ++trial;
      } while (hooks_.now() - begin < plan_.warm_up_s);
    }
  }

  const CollectPlan& plan_;
  const CollectHooks& hooks_;
  Evidence& evidence_;
  std::vector<State> states_;
  std::uint64_t requests_ = 0;
  double begun_at_ = 0;
  double asked_at_ = 0;
};

}  // namespace

std::string cold_case(const properties::audits::Setting& setting) { return "cold:" + setting.id; }

bool is_cold_case(const std::string& case_id) { return case_id.starts_with("cold:"); }

CollectResult collect(const CollectPlan& plan, const CollectHooks& hooks, Evidence& evidence) {
  return Collection(plan, hooks, evidence).run();
}

std::vector<std::size_t> settings_of_shard(const Matrix& matrix, std::size_t index,
                                           std::size_t count) {
  DRAFTPROOF_CHECK(index < count, "shard " + std::to_string(index));
  std::vector<std::size_t> settings;
  for (std::size_t i = 0; i < matrix.settings.size(); ++i)
    if (properties::audits::shard_of(matrix.settings[i], count) == index) settings.push_back(i);
  return settings;
}

}  // namespace draftproof::tools::audit
