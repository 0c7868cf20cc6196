// Judged runs: transcripts written by hand, one case in one setting, for tests of audits that read
// nothing else.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "properties/audits/audit_list.h"

namespace draftproof::properties::audits {

/// Four tokens; the law depends on the last one only: 1/2, 1/4, 1/8, 1/8, rotated by it. `penalty`
/// and other adjustments are not looked at; top_k and temperature 0 are.
class RotatedTarget final : public KnownTarget {
 public:
  int vocab_size() const override { return 4; }
  std::vector<double> next(const SamplingRequest& request,
                           std::span<const reference::Token> emitted) const override {
    static constexpr double kShares[] = {0.5, 0.25, 0.125, 0.125};
    const int last = emitted.empty() ? request.prompt.back() : emitted.back();
    const auto kept = request.sampling.temperature == 0 ? 1
                      : request.sampling.top_k > 0
                          ? std::min<int>(static_cast<int>(request.sampling.top_k), 4)
                          : 4;
    std::vector<double> law(4, 0);
    double total = 0;
    for (int place = 0; place < kept; ++place) total += kShares[place];
    for (int place = 0; place < kept; ++place)
      law[static_cast<std::size_t>((last + place) % 4)] = kShares[place] / total;
    return law;
  }
};

/// A run of one audit: build it, add completions, judge.
class JudgedRun {
 public:
  explicit JudgedRun(SamplingRequest request, Seeding seeding = Seeding::kIndependent) {
    request.prompt = {0};
    matrix_.settings = {{.id = "s", .request = request}};
    matrix_.cases = {{.id = "s/one",
                      .setting = 0,
                      .prompt_name = "one",
                      .request = std::move(request),
                      .seeding = seeding,
                      .cohort = ""}};
    settings.baseline.vocab_size = settings.speculative.vocab_size = 4;
    settings.baseline.reports_counters = settings.speculative.reports_counters = true;
    settings.replay = "draftproof replay {case}";
  }

  void add(Arm arm, Completion completion, std::uint64_t trial = 0, std::uint32_t repeat = 0) {
    Transcript transcript;
    transcript.key = {arm, matrix_.cases[0].id, trial, repeat};
    transcript.request = matrix_.cases[0].request;
    transcript.request.seed = trial;
    transcript.completion = std::move(completion);
    evidence_.add(std::move(transcript));
  }
  void add_both(const Completion& completion, std::uint64_t trial = 0) {
    add(Arm::kBaseline, completion, trial);
    add(Arm::kSpeculative, completion, trial);
  }

  oracle::Verdict judged(const std::string& audit) {
    settings.audits = {audit};
    const auto verdicts = judge(matrix_, evidence_, settings);
    EXPECT_EQ(verdicts.size(), 1u);
    return verdicts.empty() ? oracle::Verdict{} : verdicts.front();
  }

  JudgeSettings settings;

 private:
  Matrix matrix_;
  Evidence evidence_;
};

inline SamplingRequest greedy_request(int max_tokens = 4) {
  SamplingRequest request;
  request.sampling.temperature = 0;
  request.max_tokens = max_tokens;
  return request;
}

inline SamplingRequest sampled_request(int max_tokens = 4) {
  SamplingRequest request;
  request.max_tokens = max_tokens;
  return request;
}

inline Completion tokens(std::vector<reference::Token> ids,
                         CompletionEnd end = CompletionEnd::kLength) {
  Completion completion;
  completion.token_ids = std::move(ids);
  completion.end = end;
  return completion;
}

inline Completion failure(const std::string& reason) {
  Completion completion;
  completion.end = CompletionEnd::kFailed;
  completion.failure = reason;
  return completion;
}

inline Completion with_counters(Completion completion, std::int64_t drafted,
                                std::int64_t accepted) {
  completion.counters = {drafted, accepted, static_cast<std::int64_t>(completion.token_ids.size())};
  return completion;
}

}  // namespace draftproof::properties::audits
