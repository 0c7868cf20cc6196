// Seed repeats: the same request with the same seed, asked once more, comes out alike in the same
// arm. Drafts whose number depends on load, buffers that are not cleared and coins that are drawn
// from a shared stream show here. An engine whose baseline does not repeat either is not
// reproducible for reasons of its own, which convicts no draft.
#include <cmath>
#include <limits>
#include <utility>

#include "properties/audits/findings.h"
#include "properties/audits/words.h"

namespace draftproof::properties::audits {
namespace {

struct Repeats {
  std::uint64_t compared = 0, parted = 0, failed = 0, tokens = 0;
  const Transcript* first = nullptr;  ///< of the least that differs
  const Transcript* again = nullptr;
};

Repeats repeats_of(const CheckContext& context, Arm arm) {
  Repeats repeats;
  for_each_transcript(context, arm, [&](const AuditCase& audit_case, const Transcript& again) {
    if (again.key.repeat == 0) return;
    const auto& firsts = context.evidence.of(audit_case.id, arm);
    const auto first = firsts.find(again.key.trial);
    if (first == firsts.end()) return;
    const Completion& expected = first->second.completion;
    if (expected.end == CompletionEnd::kFailed || again.completion.end == CompletionEnd::kFailed) {
      ++repeats.failed;
      return;
    }
    ++repeats.compared;
    const auto position = first_difference(expected, again.completion);
    repeats.tokens += position ? *position + 1 : expected.token_ids.size();
    if (!position && expected.end == again.completion.end) return;
    if (repeats.parted++ == 0) {
      repeats.first = &first->second;
      repeats.again = &again;
    }
  });
  return repeats;
}

oracle::Witness witness_of(const Repeats& repeats) {
  oracle::Witness witness;
  witness.expected = words_of(repeats.first->completion.token_ids) + "   (the trial)";
  witness.observed = words_of(repeats.again->completion.token_ids) + "   (repeat " +
                     std::to_string(repeats.again->key.repeat) + ", the same request and seed)";
  const auto position = first_difference(repeats.first->completion, repeats.again->completion);
  witness.because = position ? "token " + std::to_string(*position + 1) +
                                   " is the first that differs between two runs of one request"
                             : "the tokens are the same, and what ended them is not";
  return witness;
}

/// If drafts changed nothing, runs that differ would be spread over the repeats of both arms alike:
/// that all of them fell to the speculative arm has probability (its share)^differing at most.
double log_evidence(const Repeats& baseline, const Repeats& speculative) {
  const auto mine = static_cast<double>(speculative.compared);
  const auto all = mine + static_cast<double>(baseline.compared);
  return static_cast<double>(speculative.parted) * std::log(all / mine);
}

void settle(const CheckContext& context, oracle::Verdict& verdict, const Repeats& baseline,
            const Repeats& speculative) {
  if (speculative.parted == 0) {
    verdict.kind = oracle::VerdictKind::kUpheld;
    verdict.smallest_visible_effect =
        visible_share_words(context, speculative.tokens, "all tokens that a repeat changes");
    return;
  }
  if (baseline.parted > 0) {
    verdict.notes.push_back(
        "the baseline does not repeat either: the engine is not reproducible with itself; on vLLM "
        "set VLLM_BATCH_INVARIANT=1, on llama.cpp send cache_prompt=false");
    return;
  }
  verdict.log_alarm = context.log_alarm;
  verdict.log_e_value = context.settings.promises_same_seed
                            ? std::numeric_limits<double>::infinity()
                            : log_evidence(baseline, speculative);
  if (*verdict.log_e_value >= context.log_alarm) {
    refute(context, verdict, *speculative.again, oracle::Label::kNotReproducible,
           witness_of(speculative));
    return;
  }
  verdict.notes.push_back(
      "the speculative arm does not repeat, and the repeats of the baseline are too few to say "
      "that it would: more repeats tell");
}

}  // namespace

oracle::Verdict seed_repeats(const CheckContext& context) {
  oracle::Verdict verdict = begun(context);
  const Repeats speculative = repeats_of(context, Arm::kSpeculative);
  const Repeats baseline = repeats_of(context, Arm::kBaseline);
  verdict.trials = speculative.compared;
  if (speculative.compared == 0 || speculative.tokens == 0) {
    verdict.evidence = speculative.failed > 0 ? "every repeat, or its trial, failed"
                                              : "no trial of the speculative arm was repeated";
    return verdict;
  }
  verdict.evidence = of_all(speculative.compared - speculative.parted, speculative.compared) +
                     " repeats of the speculative arm come out alike, of the baseline " +
                     of_all(baseline.compared - baseline.parted, baseline.compared);
  settle(context, verdict, baseline, speculative);
  if (baseline.parted > 0 && speculative.parted == 0)
    verdict.notes.push_back("the baseline does not repeat: " +
                            of_all(baseline.parted, baseline.compared) + " runs differ");
  verdict = unless_too_many_lost(speculative.failed, speculative.compared,
                                 "repeats, or their trials, failed", std::move(verdict));
  return unless_never_drafted(context, std::move(verdict));
}

}  // namespace draftproof::properties::audits
