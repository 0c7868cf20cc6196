// How a reduction asks: the requests as a matrix of one setting, with coins of their own at every
// try, judged by the one audit that convicted.
#include <algorithm>

#include "properties/audits/audit_list.h"
#include "properties/audits/matrix.h"
#include "reference/error.h"
#include "tools/audit/reduce.h"

namespace draftproof::tools::audit {
namespace {

using properties::Arm;
using properties::Completion;
using properties::SamplingRequest;
using properties::Transcript;
using properties::audits::AuditCase;
using properties::audits::AuditInfo;
using properties::audits::Evidence;
using properties::audits::JudgeSettings;
using properties::audits::Matrix;
using properties::audits::Seeding;

const AuditInfo& info_of(const std::string& property) {
  for (const AuditInfo& info : properties::audits::audit_infos())
    if (info.id == property) return info;
  throw Error(ErrorKind::kInput, "there is no audit '" + property + "'", "audits");
}

/// Whether trials are counted: one of them shows nothing.
bool is_counted(const AuditInfo& info) {
  return info.can_be_false && (info.claim == oracle::Claim::kMarginalLossless ||
                               info.claim == oracle::Claim::kSequenceLossless);
}

Matrix matrix_of(const std::vector<SamplingRequest>& requests, const AuditInfo& info,
                 std::uint64_t seed) {
  Matrix matrix;
  matrix.seed = seed;
  SamplingRequest setting = requests.front();
  setting.prompt.clear();
  setting.prompt_text.clear();
  setting.seed.reset();
  matrix.settings = {{"reduced", setting, static_cast<int>(requests.size())}};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string name = std::to_string(i + 1);
    AuditCase each;
    each.id = "reduced/" + name;
    each.prompt_name = name;
    each.request = requests[i];
    each.request.seed.reset();
    each.seeding = info.needs_shared_seed ? Seeding::kShared : Seeding::kIndependent;
    matrix.cases.push_back(std::move(each));
  }
  return matrix;
}

/// One try.
class Probe {
 public:
  Probe(const AskTogether& ask, const ProbeSettings& settings,
        const std::vector<SamplingRequest>& requests, std::uint64_t number)
      : ask_(ask),
        settings_(settings),
        info_(info_of(settings.property)),
        requests_(requests),
        matrix_(matrix_of(requests, info_, settings.seed * 1000003 + number)) {
    judge_ = settings.judge;
    judge_.audits = {settings.property};
    judge_.false_alarms /= static_cast<double>(std::max<std::uint64_t>(settings.tries_max, 1));
  }

  bool shows() {
    const bool counts = is_counted(info_);
    const std::uint64_t last = counts ? settings_.trials_max : settings_.plain_trials;
    std::uint64_t done = 0;
    for (std::uint64_t look = counts ? std::min(matrix_.first_look, last) : last; done < last;
         look = std::min(2 * look, last)) {
      ask_trials(done, look);
      done = look;
      const auto verdicts = properties::audits::judge(matrix_, evidence_, judge_);
      if (oracle::merged(verdicts) == oracle::VerdictKind::kViolated) return true;
    }
    return false;
  }

  std::vector<Transcript> transcripts() && { return std::move(transcripts_); }

 private:
  /// The seed that was handed in is that of the trial that broke; counts draw their own.
  SamplingRequest request(std::size_t index, Arm arm, std::uint64_t trial) const {
    SamplingRequest made = properties::audits::request_of(matrix_, matrix_.cases[index], arm, trial,
                                                          /*is_narrow=*/true);
    if (requests_[index].seed && !is_counted(info_)) made.seed = *requests_[index].seed + trial;
    return made;
  }

  void ask_arm(Arm arm, std::uint64_t begin, std::uint64_t end, std::uint32_t repeat) {
    std::vector<SamplingRequest> list;
    std::vector<properties::TrialKey> keys;
    for (std::uint64_t trial = begin; trial < end; ++trial) {
      for (std::size_t i = 0; i < requests_.size(); ++i) {
        list.push_back(request(i, arm, trial));
        keys.push_back({arm, matrix_.cases[i].id, trial, repeat});
      }
    }
    std::vector<Completion> completions = ask_(arm, list, static_cast<int>(requests_.size()));
    DRAFTPROOF_CHECK(completions.size() == list.size(), "completions are missing");
    for (std::size_t i = 0; i < list.size(); ++i) {
      Transcript transcript{keys[i], std::move(list[i]), std::move(completions[i])};
      transcripts_.push_back(transcript);
      evidence_.add(std::move(transcript));
    }
  }

  void ask_trials(std::uint64_t begin, std::uint64_t end) {
    ask_arm(Arm::kSpeculative, begin, end, 0);
    if (info_.id == "seed_repeats") ask_arm(Arm::kSpeculative, begin, end, 1);
    if (!judge_.has_baseline) return;
    ask_arm(Arm::kBaseline, begin, end, 0);
    // The engine's own noise, which convicts no draft.
    if (info_.id == "seed_repeats" || info_.id == "same_seed_identity" ||
        info_.id == "greedy_margin_parity")
      ask_arm(Arm::kBaseline, begin, end, 1);
  }

  const AskTogether& ask_;
  const ProbeSettings& settings_;
  const AuditInfo& info_;
  const std::vector<SamplingRequest>& requests_;
  Matrix matrix_;
  JudgeSettings judge_;
  Evidence evidence_;
  std::vector<Transcript> transcripts_;
};

}  // namespace

StillShows shows_by_judging(AskTogether ask, ProbeSettings settings,
                            std::shared_ptr<std::vector<Transcript>> shown) {
  info_of(settings.property);  // throws now rather than at the first try
  auto number = std::make_shared<std::uint64_t>(0);
  return [ask = std::move(ask), settings = std::move(settings), shown = std::move(shown),
          number](const std::vector<SamplingRequest>& requests) {
    Probe probe(ask, settings, requests, (*number)++);
    if (!probe.shows()) return false;
    if (shown != nullptr) *shown = std::move(probe).transcripts();
    return true;
  };
}

}  // namespace draftproof::tools::audit
