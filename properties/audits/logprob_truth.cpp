// Logprob truth: what the speculative arm reports of a token is the logarithm of its probability,
// in the model's own law (raw) or in the one it was drawn from (processed), also where the token
// came from a draft. Some engines fill no probabilities in behind a verification and report 0.0,
// probability one, with no candidates (ggml-org/llama.cpp#27972): a finding of its own,
// because the tokens may be right all the same. Judged where the law is known; the verdict assumes
// that tokens are drawn from it, which other audits judge.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "properties/audits/findings.h"
#include "properties/audits/words.h"

namespace draftproof::properties::audits {
namespace {

using reference::Token;

/// Masses differ from exp of the logit by a relative 1.56e-7 at most (tools/docs/numerics.md), in
/// numerator and sum, and engines report fp32, of which half a step is 4.8e-7 at logprobs below 16
/// in size. More than ten times their sum; what the engine's arithmetic may do comes on top.
constexpr double kTolerance = 1e-5;
/// Below it a law in integer masses has too few bits for kTolerance: 2^-44 / exp(-16) = 5e-7.
constexpr double kLeastLogprob = -16;
/// -infinity as engines write it begins here (-9999, the lowest float32).
constexpr double kAsGoodAsNothing = -1000;

bool is_close(double reported, double due, double tolerance) {
  if (due < kLeastLogprob) return reported < kLeastLogprob + 1;
  return std::fabs(reported - due) <= tolerance;  // false for a NaN
}

struct Mistake {
  const Transcript* transcript = nullptr;
  std::string expected, observed, because;
};

struct Tally {
  std::uint64_t judged = 0, wrong = 0, unfilled = 0, missing = 0, completions = 0, failed = 0;
  std::optional<Mistake> first_wrong, first_unfilled;
};

class Judge {
 public:
  Judge(const CheckContext& context, Arm arm)
      : context_(context),
        kind_(arm == Arm::kBaseline ? context.settings.baseline.logprobs
                                    : context.settings.speculative.logprobs),
        tolerance_(kTolerance + 2 * context.settings.tolerance) {}

  Tally tally(Arm arm) {
    if (kind_ == LogprobKind::kNone || is_one_point()) return {};
    for_each_transcript(context_, arm, [&](const AuditCase&, const Transcript& transcript) {
      const bool is_reported =
          transcript.request.logprob_count >= 0 || !transcript.completion.logprobs.empty();
      if (!is_reported) return;
      if (transcript.completion.end == CompletionEnd::kFailed) {
        ++tally_.failed;
      } else {
        add(transcript);
      }
    });
    return std::move(tally_);
  }

 private:
  /// A greedy law has one token of probability 1, and what engines report of it is not told.
  bool is_one_point() const {
    return kind_ == LogprobKind::kProcessed && context_.setting.is_greedy();
  }

  void add(const Transcript& transcript) {
    const Completion& completion = transcript.completion;
    ++tally_.completions;
    const std::size_t size = std::min(completion.logprobs.size(), completion.token_ids.size());
    tally_.missing += completion.token_ids.size() - size;
    SamplingRequest reported = transcript.request;
    if (kind_ == LogprobKind::kRaw) {
      reported.sampling = {};
      reported.adjustments = {};
      reported.grammar.clear();
    }
    for (std::size_t i = 0; i < size; ++i) {
      const auto before = std::span<const Token>(completion.token_ids).first(i);
      const std::vector<double>& law = law_behind(transcript.key.case_id, reported, before);
      const auto token = static_cast<std::size_t>(completion.token_ids[i]);
      if (completion.token_ids[i] < 0 || token >= law.size()) return;  // well_formed's
      ++tally_.judged;
      judge(transcript, i, law);
    }
  }

  void judge(const Transcript& transcript, std::size_t i, const std::vector<double>& law) {
    const Completion& completion = transcript.completion;
    const Token token = completion.token_ids[i];
    const double due = std::log(law[static_cast<std::size_t>(token)]);
    const bool has_candidates =
        i < completion.top_logprobs.size() && !completion.top_logprobs[i].empty();
    if (!is_close(completion.logprobs[i], due, tolerance_)) {
      const bool is_unfilled = completion.logprobs[i] == 0 && !has_candidates;
      note(is_unfilled, transcript, i, token, due, completion.logprobs[i]);
      return;
    }
    if (!has_candidates) return;
    for (const TokenLogprob& candidate : completion.top_logprobs[i]) {
      if (candidate.token < 0 || static_cast<std::size_t>(candidate.token) >= law.size()) continue;
      const double candidate_due = std::log(law[static_cast<std::size_t>(candidate.token)]);
      const bool is_nothing =
          candidate_due < kAsGoodAsNothing && candidate.logprob < kAsGoodAsNothing;
      if (is_nothing || is_close(candidate.logprob, candidate_due, tolerance_)) continue;
      note(false, transcript, i, candidate.token, candidate_due, candidate.logprob);
      return;
    }
  }

  void note(bool is_unfilled, const Transcript& transcript, std::size_t i, Token token, double due,
            double reported) {
    ++(is_unfilled ? tally_.unfilled : tally_.wrong);
    auto& first = is_unfilled ? tally_.first_unfilled : tally_.first_wrong;
    if (first) return;
    const auto before = std::span<const Token>(transcript.completion.token_ids).first(i);
    first = {&transcript,
             "at token " + std::to_string(i + 1) + ", token " + std::to_string(token) +
                 " has logprob " + rounded(due),
             rounded(reported) + (is_unfilled ? ", probability one, without candidates" : ""),
             "the emitted tokens before it are " + words_of(before) +
                 ", and its probability behind them is known"};
  }

  const std::vector<double>& law_behind(const std::string& case_id, const SamplingRequest& request,
                                        std::span<const Token> emitted) {
    constexpr std::size_t kLawsMax = std::size_t{1} << 16;
    if (laws_.size() > kLawsMax) laws_.clear();
    auto& law = laws_[{case_id, {emitted.begin(), emitted.end()}}];
    if (law.empty()) law = context_.settings.target->next(request, emitted);
    return law;
  }

  const CheckContext& context_;
  LogprobKind kind_;
  double tolerance_;
  Tally tally_;
  std::map<std::pair<std::string, std::vector<Token>>, std::vector<double>> laws_;
};

void convict(const CheckContext& context, oracle::Verdict& verdict, const Mistake& mistake) {
  refute(context, verdict, *mistake.transcript, oracle::Label::kNone,
         {.let = "",
          .expected = mistake.expected,
          .observed = mistake.observed,
          .because = mistake.because,
          .replay = "",
          .case_json = ""});
}

std::string told(const Tally& tally, const char* arm) {
  std::string text = of_all(tally.judged - tally.wrong - tally.unfilled, tally.judged) +
                     " logprobs of the " + arm + " arm right";
  if (tally.unfilled > 0)
    text += ", " + std::to_string(tally.unfilled) + " reported as 0.0 without candidates";
  if (tally.missing > 0) text += ", " + std::to_string(tally.missing) + " not reported";
  return text;
}

void settle(const CheckContext& context, oracle::Verdict& verdict, const Tally& baseline,
            const Tally& speculative) {
  if (speculative.unfilled > 0) {
    verdict.notes.push_back(
        "unfilled logprobs: 0.0 and no candidates where a token came with a verification, as "
        "llama.cpp's server does. Take laws and candidates from the arm without drafts");
    if (speculative.wrong == 0) return convict(context, verdict, *speculative.first_unfilled);
  }
  if (speculative.wrong > 0) {
    convict(context, verdict, *speculative.first_wrong);
    if (baseline.wrong > 0)
      verdict.notes.push_back(
          "the baseline's are wrong as well, so it is not the drafts: raw and "
          "processed may be mistaken for each other (doctor tells them apart)");
    return;
  }
  if (speculative.missing > 0) {
    verdict.notes.push_back("logprobs that are left out are not false: nothing was shown of them");
    return;
  }
  verdict.kind = oracle::VerdictKind::kUpheld;
  verdict.smallest_visible_effect = "one logprob off by " +
                                    rounded(kTolerance + 2 * context.settings.tolerance) +
                                    ", or one of " + rounded(kLeastLogprob) +
                                    " and less that is told above " + rounded(kLeastLogprob + 1);
}

}  // namespace

oracle::Verdict logprob_truth(const CheckContext& context) {
  oracle::Verdict verdict = begun(context);
  if (context.settings.target == nullptr) {
    verdict.evidence = "the target's law is not known";
    return verdict;
  }
  const Tally speculative = Judge(context, Arm::kSpeculative).tally(Arm::kSpeculative);
  const Tally baseline = Judge(context, Arm::kBaseline).tally(Arm::kBaseline);
  verdict.trials = speculative.completions;
  if (speculative.judged == 0) {
    verdict.evidence =
        speculative.missing > 0
            ? "logprobs were asked for and none came: " + std::to_string(speculative.missing) +
                  " tokens without"
            : "no completion of the speculative arm was asked for logprobs that "
              "could be judged";
    return verdict;
  }
  verdict.evidence = told(speculative, "speculative");
  if (baseline.judged > 0) verdict.evidence += "; " + told(baseline, "baseline");
  verdict.assumption = "tokens are drawn from the target's law";
  settle(context, verdict, baseline, speculative);
  verdict = unless_too_many_lost(speculative.failed, speculative.completions, "requests failed",
                                 std::move(verdict));
  return unless_never_drafted(context, std::move(verdict));
}

}  // namespace draftproof::properties::audits
