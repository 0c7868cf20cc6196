// Toy speculator: an engine in process whose laws are small tables, so that thousands of audits
// take seconds. Drafts are sampled, the ratio rule accepts (Leviathan 2023), and each fault is one
// line of it. Transcripts come by the matrix's own seeds, so that runs are the same every time.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "properties/audits/evidence.h"
#include "properties/audits/judge.h"
#include "properties/audits/known_target.h"
#include "properties/random.h"

namespace draftproof::properties::audits {

/// One row a last token, from a seed; `near` draws part of each row from another seed's.
class TableLaw final : public KnownTarget {
 public:
  explicit TableLaw(int vocab_size, std::uint64_t seed, const TableLaw* near = nullptr,
                    double share = 0) {
    Random random(seed);
    for (int last = 0; last < vocab_size; ++last) {
      std::vector<double> row;
      double total = 0;
      for (int token = 0; token < vocab_size; ++token)
        total += row.emplace_back(0.05 + random.unit() * random.unit());
      for (int token = 0; token < vocab_size; ++token) {
        const auto at = static_cast<std::size_t>(token);
        row[at] = row[at] / total * (1 - share) +
                  (near == nullptr ? 0 : share * near->rows_[static_cast<std::size_t>(last)][at]);
      }
      rows_.push_back(std::move(row));
    }
  }

  int vocab_size() const override { return static_cast<int>(rows_.size()); }
  int memory(const SamplingRequest&) const override { return 1; }
  std::vector<double> next(const SamplingRequest& request,
                           std::span<const reference::Token> emitted) const override {
    const auto last = emitted.empty() ? request.prompt.back() : emitted.back();
    std::vector<double> law = rows_[static_cast<std::size_t>(last)];
    if (request.sampling.top_k > 0) {
      std::vector<double> sorted = law;
      std::sort(sorted.rbegin(), sorted.rend());
      const auto kept =
          std::min<std::size_t>(static_cast<std::size_t>(request.sampling.top_k), sorted.size());
      double total = 0;
      for (double& each : law) total += each = each >= sorted[kept - 1] ? each : 0;
      for (double& each : law) each /= total;
    }
    return law;
  }

 private:
  std::vector<std::vector<double>> rows_;
};

enum class Fault {
  kNone,
  kAcceptsAll,          ///< every draft is kept
  kRecoversFromTarget,  ///< behind a rejection the target's own law in place of the residual
  kReadsStaleRows,      ///< rejected drafts stay in the history that rows are read behind
  kForgetsDrafts,       ///< drafts what its draft gives least, and the rule is told so: only slower
  kNeverDrafts,
  kEmitsOutside,  ///< once in 64 tokens one that the filter dropped
};

struct Speculator {
  const TableLaw& target;
  const TableLaw& draft;
  Fault fault = Fault::kNone;
  std::size_t draft_count = 3;

  static reference::Token drawn(const std::vector<double>& law, Random& random) {
    double point = random.unit();
    for (std::size_t token = 0; token + 1 < law.size(); ++token) {
      if (point < law[token]) return static_cast<reference::Token>(token);
      point -= law[token];
    }
    for (std::size_t token = law.size(); token-- > 0;)
      if (law[token] > 0) return static_cast<reference::Token>(token);
    return 0;
  }

  Completion answer(const SamplingRequest& request, Arm arm) const {
    Random random(derived_seed(request.seed.value_or(0), "engine"));
    Completion completion;
    std::vector<reference::Token>& emitted = completion.token_ids;
    DraftCounters counters;
    emitted.push_back(drawn(target.next(request, {}), random));
    const auto asked = static_cast<std::size_t>(request.max_tokens);
    while (emitted.size() < asked) {
      if (arm == Arm::kBaseline || fault == Fault::kNeverDrafts) {
        emitted.push_back(drawn(target.next(request, emitted), random));
      } else {
        completion.steps.push_back(verified(request, emitted, random));
        counters.drafted += static_cast<std::int64_t>(completion.steps.back().draft_ids.size());
        counters.accepted += completion.steps.back().accepted;
      }
    }
    emitted.resize(asked);
    counters.emitted = static_cast<std::int64_t>(emitted.size());
    completion.counters = counters;
    return completion;
  }

 private:
  VerifyStep verified(const SamplingRequest& request, std::vector<reference::Token>& emitted,
                      Random& random) const {
    VerifyStep step;
    const std::size_t room = static_cast<std::size_t>(request.max_tokens) - emitted.size() - 1;
    for (std::size_t slot = 0; slot < std::min(draft_count, room); ++slot) {
      std::vector<double> target_law = target.next(request, emitted);
      std::vector<double> draft_law = draft.next(request, emitted);
      if (fault == Fault::kForgetsDrafts) {
        const auto least = outside(draft_law);
        draft_law.assign(draft_law.size(), 0);
        draft_law[static_cast<std::size_t>(least)] = 1;
      }
      const reference::Token token = drawn(draft_law, random);
      const auto at = static_cast<std::size_t>(token);
      step.draft_ids.push_back(token);
      if (fault == Fault::kAcceptsAll || random.unit() * draft_law[at] < target_law[at]) {
        emitted.push_back(token);
        ++step.accepted;
        continue;
      }
      if (fault != Fault::kRecoversFromTarget) residual(target_law, draft_law);
      emitted.push_back(drawn(target_law, random));
      return step;
    }
    std::vector<reference::Token> seen = emitted;
    if (fault == Fault::kReadsStaleRows && seen.size() > 1) seen.pop_back();
    emitted.push_back(fault == Fault::kEmitsOutside && random.once_in(16)
                          ? outside(target.next(request, seen))
                          : drawn(target.next(request, seen), random));
    return step;
  }

  static reference::Token outside(const std::vector<double>& law) {
    return static_cast<reference::Token>(std::min_element(law.begin(), law.end()) - law.begin());
  }

  static void residual(std::vector<double>& target_law, const std::vector<double>& draft_law) {
    double total = 0;
    for (std::size_t token = 0; token < target_law.size(); ++token)
      total += target_law[token] = std::max(0.0, target_law[token] - draft_law[token]);
    for (double& each : target_law) each /= total;
  }
};

/// Two prompts in one sampled setting, drafts near the target.
struct ToyAudit {
  explicit ToyAudit(Fault fault = Fault::kNone, std::uint64_t seed = 1, int max_tokens = 5,
                    std::int64_t top_k = 0)
      : target(8, 3), draft(8, 4, &target, 0.4), engine{target, draft, fault} {
    matrix.seed = seed;
    matrix.first_look = 32;
    SamplingRequest request;
    request.max_tokens = max_tokens;
    request.sampling.top_k = top_k;
    matrix.settings = {{.id = "t1", .request = request}};
    for (const reference::Token last : {2, 5}) {
      request.prompt = {1, last};
      matrix.cases.push_back({.id = "t1/" + std::to_string(last),
                              .prompt_name = std::to_string(last),
                              .request = request,
                              .cohort = ""});
    }
    settings.target = &target;
    settings.draft = &draft;
    for (Capabilities* arm : {&settings.baseline, &settings.speculative}) {
      arm->name = "toy speculator";
      arm->vocab_size = 8;
      arm->draft_count = 3;
      arm->reports_counters = true;
    }
    settings.replay = "replay {case}";
  }
  ToyAudit(const ToyAudit&) = delete;

  Transcript transcript(const AuditCase& audit_case, Arm arm, std::uint64_t trial) const {
    Transcript made;
    made.key = {arm, audit_case.id, trial, 0};
    made.request = request_of(matrix, audit_case, arm, trial, false);
    made.completion = engine.answer(made.request, arm);
    return made;
  }

  void run(std::uint64_t trials) {
    for (const AuditCase& each : matrix.cases)
      for (const Arm arm : {Arm::kBaseline, Arm::kSpeculative})
        for (std::uint64_t trial = 0; trial < trials; ++trial)
          evidence.add(transcript(each, arm, trial));
  }

  std::vector<oracle::Verdict> verdicts() const { return judge(matrix, evidence, settings); }
  oracle::Verdict verdict(const std::string& audit) {
    settings.audits = {audit};
    const auto list = verdicts();
    settings.audits.clear();
    return list.at(0);
  }

  TableLaw target, draft;
  Speculator engine;
  Matrix matrix;
  Evidence evidence;
  JudgeSettings settings;
};

}  // namespace draftproof::properties::audits
