#include "properties/audits/collect.h"

#include <algorithm>
#include <utility>

#include "oracle/family.h"
#include "properties/audits/audit_list.h"
#include "reference/error.h"

namespace draftproof::properties::audits {
namespace {

struct Due {
  TrialKey key;
  SamplingRequest request;
};

class Collector {
 public:
  Collector(Engine& engine, const Matrix& matrix, const CollectSettings& settings,
            Evidence evidence)
      : engine_(engine), matrix_(matrix), settings_(settings) {
    collected_.evidence = std::move(evidence);
  }

  Collected run() {
    DRAFTPROOF_CHECK(settings_.batch_size > 0 && settings_.shard < settings_.shard_count);
    for (std::size_t setting = 0; setting < matrix_.settings.size(); ++setting)
      if (shard_of(matrix_.settings[setting], settings_.shard_count) == settings_.shard)
        run_setting(setting);
    return std::move(collected_);
  }

 private:
  void run_setting(std::size_t setting) {
    setting_ = setting;
    cases_.clear();
    std::uint64_t trials = 0;
    for (const AuditCase& each : matrix_.cases) {
      if (each.setting != setting) continue;
      cases_.push_back(&each);
      trials = std::max(trials, each.trial_max);
    }
    if (trials == 0) return;
    const auto looks =
        oracle::looks(std::min(std::max<std::uint64_t>(matrix_.first_look, 1), trials), trials);
    for (const std::uint64_t look : looks) {
      look_ = look;
      if (!fill()) return;
      if (look == looks.back() || goes_beyond(look)) continue;
      if (is_settled(judge_setting(matrix_, collected_.evidence, settings_.judge, setting),
                     settings_.judge)) {
        collected_.settled.push_back(setting);
        return;
      }
    }
  }

  /// An earlier call found this look not settled: what it has asked for since decides nothing here,
  /// or a run that was resumed could end elsewhere than one that was not.
  bool goes_beyond(std::uint64_t look) const {
    for (const AuditCase* each : cases_)
      for (const Arm arm : {Arm::kBaseline, Arm::kSpeculative}) {
        const auto& trials = collected_.evidence.of(each->id, arm);
        if (!trials.empty() && trials.rbegin()->first >= look) return true;
      }
    return false;
  }

  /// All trials of this look, both arms in turns so that they meet the same conditions. False when
  /// it was stopped.
  bool fill() {
    std::vector<Due> due[2];
    for (const Arm arm : {Arm::kBaseline, Arm::kSpeculative})
      if (arm == Arm::kSpeculative || needs_baseline()) due[static_cast<int>(arm)] = due_of(arm);
    std::size_t done[2] = {};
    due_count_ = due[0].size() + due[1].size();
    while (done[0] < due[0].size() || done[1] < due[1].size()) {
      for (const int arm : {0, 1}) {
        const std::size_t count = std::min(settings_.batch_size, due[arm].size() - done[arm]);
        if (count == 0) continue;
        if (is_over()) return false;
        ask(static_cast<Arm>(arm), due[arm].data() + done[arm], count);
        done[arm] += count;
      }
    }
    return score();
  }

  std::vector<Due> due_of(Arm arm) const {
    std::vector<Due> due;
    // Trial by trial over all cases: what runs together is of several prompts.
    for (std::uint64_t trial = 0; trial < look_; ++trial)
      for (const AuditCase* each : cases_) {
        if (trial >= each->trial_max) continue;
        const bool is_repeated =
            each->seeding == Seeding::kShared && trial < settings_.repeat_count;
        for (std::uint32_t repeat = 0; repeat <= (is_repeated ? 1U : 0U); ++repeat) {
          const TrialKey key{arm, each->id, trial, repeat};
          if (!collected_.evidence.has(key))
            due.push_back(
                {key, request_of(matrix_, *each, arm, trial, settings_.has_narrow_seeds)});
        }
      }
    return due;
  }

  void ask(Arm arm, const Due* due, std::size_t count) {
    std::vector<SamplingRequest> requests;
    for (std::size_t i = 0; i < count; ++i) requests.push_back(due[i].request);
    std::vector<Completion> completions = engine_.generate(arm, requests);
    DRAFTPROOF_CHECK(completions.size() == count);
    std::vector<Transcript> transcripts;
    const Capabilities& capabilities =
        arm == Arm::kBaseline ? settings_.judge.baseline : settings_.judge.speculative;
    for (std::size_t i = 0; i < count; ++i) {
      const bool has_logprobs =
          !completions[i].logprobs.empty() || !completions[i].top_logprobs.empty();
      transcripts.push_back({due[i].key, std::move(requests[i]), std::move(completions[i]),
                             has_logprobs ? capabilities.logprobs : LogprobKind::kNone});
    }
    keep(std::move(transcripts));
  }

  void keep(std::vector<Transcript> transcripts) {
    if (settings_.sink) settings_.sink(transcripts);
    collected_.requests += transcripts.size();
    due_count_ -= std::min<std::uint64_t>(due_count_, transcripts.size());
    for (Transcript& each : transcripts) collected_.evidence.add(std::move(each));
    if (settings_.progress) settings_.progress({setting_, collected_.requests, due_count_, look_});
  }

  /// Scores of the answers of one server, whose law nobody knows otherwise.
  bool score() {
    if (!settings_.score || settings_.judge.has_baseline || matrix_.settings[setting_].is_greedy())
      return true;
    for (const AuditCase* each : cases_) {
      const auto answers = collected_.evidence.of(each->id, Arm::kSpeculative);
      for (const auto& [trial, answer] : answers) {
        const TrialKey key{Arm::kSpeculative, each->id, trial, kScoreRepeat};
        if (trial >= std::min(settings_.score_count, look_)) break;
        if (answer.completion.end == CompletionEnd::kFailed || collected_.evidence.has(key))
          continue;
        if (is_over()) return false;
        keep({scored(key, answer)});
      }
    }
    return true;
  }

  Transcript scored(const TrialKey& key, const Transcript& answer) const {
    Transcript transcript{key, answer.request, {}, LogprobKind::kRaw};
    Prompt& prompt = transcript.request.prompt;
    const auto& tokens = answer.completion.token_ids;
    prompt.insert(prompt.end(), tokens.begin(), tokens.end());
    transcript.request.max_tokens = 0;
    transcript.completion.top_logprobs = settings_.score(prompt);
    return transcript;
  }

  bool needs_baseline() const {
    if (!settings_.judge.has_baseline) return false;
    for (const Check& check : checks_of(matrix_, settings_.judge)) {
      const AuditInfo& info = audits()[check.audit].info;
      if (check.setting == setting_ && (info.needs_baseline || info.is_control)) return true;
    }
    return false;
  }

  bool is_over() {
    const bool is_spent = settings_.request_max > 0 && collected_.requests >= settings_.request_max;
    if (!is_spent && !(settings_.is_stopped && settings_.is_stopped())) return false;
    collected_.is_complete = false;
    return true;
  }

  Engine& engine_;
  const Matrix& matrix_;
  const CollectSettings& settings_;
  Collected collected_;
  std::size_t setting_ = 0;
  std::vector<const AuditCase*> cases_;
  std::uint64_t look_ = 0, due_count_ = 0;
};

}  // namespace

Collected collect(Engine& engine, const Matrix& matrix, const CollectSettings& settings,
                  Evidence evidence) {
  return Collector(engine, matrix, settings, std::move(evidence)).run();
}

}  // namespace draftproof::properties::audits
