// Greedy parity with its margins accounted for: at temperature 0 the speculative arm emits what the
// baseline emits, token by token, ends included. Arms that part at a tie, or by less than what the
// engine's arithmetic may do to the row there, are no fault: a verification of several drafted
// tokens sums in another order than the decoding of one (vllm-project/vllm#54506). And parity
// cannot be stricter than the engine is with itself, which its baseline's repeats show.
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "properties/audits/findings.h"
#include "properties/audits/partings.h"
#include "properties/audits/words.h"

namespace draftproof::properties::audits {
namespace {

using oracle::PartingKind;

struct Tally {
  std::uint64_t equal = 0, ties = 0, near_ties = 0, faults = 0, undecided = 0;
  std::uint64_t excused = 0;  ///< faults that the baseline's own partings are as large as
  std::uint64_t failed = 0;
  std::uint64_t tokens = 0;  ///< compared
  double near_tie_max = 0;
  std::string undecided_because;  ///< of the first
  std::optional<std::pair<PairedTrial, OutputParting>> worst;

  std::uint64_t compared() const { return equal + ties + near_ties + faults + undecided + excused; }
};

void count(Tally& tally, const PairedTrial& pair, OutputParting parted,
           const SelfControl& control) {
  switch (parted.parting.kind) {
    case PartingKind::kTie:
      ++tally.ties;
      return;
    case PartingKind::kNearTie:
      ++tally.near_ties;
      tally.near_tie_max = std::max(tally.near_tie_max, parted.parting.margin);
      return;
    case PartingKind::kUndecided:
      if (tally.undecided++ == 0) tally.undecided_because = parted.because;
      return;
    case PartingKind::kFault:
      break;
  }
  if (control.parted > 0 && parted.parting.margin <= control.margin_max) {
    ++tally.excused;
    return;
  }
  ++tally.faults;
  // Pairs come shortest prompt first; among equals the earliest position, and tokens before ends.
  const auto rank = [](const PairedTrial& trial, const OutputParting& parting) {
    return std::tuple(parting.is_of_ends, trial.baseline->request.prompt.size(),
                      parting.parting.position);
  };
  if (!tally.worst || rank(pair, parted) < rank(tally.worst->first, tally.worst->second))
    tally.worst = {pair, std::move(parted)};
}

Tally tally_of(const CheckContext& context, const SelfControl& control, const MarginBound& bound) {
  Tally tally;
  for (const PairedTrial& pair : paired_trials(context)) {
    const Completion& output = pair.speculative->completion;
    if (pair.baseline->completion.end == CompletionEnd::kFailed ||
        output.end == CompletionEnd::kFailed) {
      ++tally.failed;
      continue;
    }
    const auto parted = parting_of(context, *pair.baseline, output, bound);
    tally.tokens += parted ? parted->parting.position + 1 : output.token_ids.size();
    if (!parted) {
      ++tally.equal;
    } else {
      count(tally, pair, *parted, control);
    }
  }
  return tally;
}

std::string told(const Completion& completion) {
  return words_of(completion.token_ids) +
         (completion.end == CompletionEnd::kStop ? ", stopped" : ", ended by its length");
}

oracle::Witness witness_of(const PairedTrial& pair, const OutputParting& parted) {
  oracle::Witness witness;
  witness.expected = told(pair.baseline->completion) + "   (baseline: no drafts)";
  witness.observed = told(pair.speculative->completion) + "   (speculative)";
  witness.because = parted.is_of_ends ? parted.because
                                      : "token " + std::to_string(parted.parting.position + 1) +
                                            " is the first that differs; " + parted.because;
  return witness;
}

std::string evidence_of(const Tally& tally, const MarginBound& bound) {
  std::string text = of_all(tally.equal, tally.compared()) + " outputs equal";
  const auto add = [&](std::uint64_t number, const char* name) {
    if (number > 0) text += ", " + std::to_string(number) + " " + name;
  };
  add(tally.ties, "ties");
  add(tally.near_ties, "near ties");
  if (tally.near_ties > 0)
    text += " (apart by " + rounded(tally.near_tie_max) + " at most, the bound is " +
            rounded(bound.near) + ", " + bound.source + ")";
  add(tally.faults, "that no rounding explains");
  add(tally.excused, "apart by no more than the baseline is from itself");
  add(tally.undecided, "not decided");
  return text;
}

void note_control(oracle::Verdict& verdict, const SelfControl& control) {
  if (control.compared == 0) {
    verdict.notes.push_back("the baseline was not run against itself: repeat its trials");
  } else if (control.parted > 0) {
    verdict.notes.push_back(
        of_all(control.parted, control.compared) +
        " runs of the baseline differ from its own first run (A/A control). Parity cannot be "
        "stricter than the engine is with itself; on vLLM set VLLM_BATCH_INVARIANT=1, on llama.cpp "
        "send cache_prompt=false");
  }
}

void settle(const CheckContext& context, oracle::Verdict& verdict, const Tally& tally,
            const MarginBound& bound) {
  if (tally.worst) {
    const auto& [pair, parted] = *tally.worst;
    refute(context, verdict, *pair.speculative,
           parted.is_of_ends ? oracle::Label::kNone : oracle::Label::kLossy,
           witness_of(pair, parted));
    return;
  }
  if (tally.undecided > 0) {
    verdict.notes.push_back("not decided: " + tally.undecided_because +
                            ". Ask the baseline for raw logprobs of its candidates and repeat its "
                            "trials in other batches, or declare a bound on two logits "
                            "(near_tie_bound)");
    return;
  }
  if (tally.excused > 0) return;
  verdict.kind = oracle::VerdictKind::kUpheld;
  if (tally.ties + tally.near_ties > 0) verdict.label = oracle::Label::kNearTie;
  verdict.smallest_visible_effect = "another token, by more than " + rounded(bound.near) + ", at " +
                                    visible_share_words(context, tally.tokens, "all tokens");
}

}  // namespace

oracle::Verdict greedy_margin_parity(const CheckContext& context) {
  oracle::Verdict verdict = begun(context);
  const SelfControl control = self_control(context);
  const MarginBound bound = margin_bound(context, control);
  const Tally tally = tally_of(context, control, bound);
  verdict.trials = tally.compared();
  if (tally.compared() == 0 || tally.tokens == 0) {
    verdict.evidence = tally.failed > 0 ? "every pair of completions has one that failed"
                                        : "no trial was answered by both arms";
    return verdict;
  }
  verdict.evidence = evidence_of(tally, bound);
  verdict.cells = {{"equal", tally.equal},
                   {"tie", tally.ties},
                   {"near tie", tally.near_ties},
                   {"fault", tally.faults},
                   {"as the baseline with itself", tally.excused},
                   {"not decided", tally.undecided}};
  settle(context, verdict, tally, bound);
  note_control(verdict, control);
  verdict = unless_too_many_lost(tally.failed, tally.compared(), "pairs have a request that failed",
                                 std::move(verdict));
  return unless_never_drafted(context, std::move(verdict));
}

}  // namespace draftproof::properties::audits
