// Same-seed identity: where each position's token is drawn from the target with a coin of that
// position alone, and drafts decide only how many positions one step goes (sample and match), both
// arms emit the same tokens for the same seed. One trial that differs refutes the promise, so that
// this sees what no count of tokens can. Rejection sampling spends its coins otherwise and promises
// nothing of the kind: there a difference is no fault.
//
// What rounding may do: a token changes when its coin lies between the two cumulative sums that two
// roundings of one row have there. Laws within a factor exp(slack) have sums within expm1(slack) of
// each other, so that two such arms differ at a share of 2 expm1(slack) of the positions at most.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "oracle/family.h"
#include "properties/audits/findings.h"
#include "properties/audits/words.h"

namespace draftproof::properties::audits {
namespace {

struct Identity {
  std::uint64_t pairs = 0, identical = 0, failed = 0;
  std::uint64_t tokens = 0;  ///< compared, the first that differs taken in
  const PairedTrial* least = nullptr;
  std::size_t least_position = 0;
};

Identity identity_of(const std::vector<PairedTrial>& pairs) {
  Identity identity;
  for (const PairedTrial& pair : pairs) {
    const Completion& baseline = pair.baseline->completion;
    const Completion& speculative = pair.speculative->completion;
    if (baseline.end == CompletionEnd::kFailed || speculative.end == CompletionEnd::kFailed) {
      ++identity.failed;
      continue;
    }
    ++identity.pairs;
    const auto position = first_difference(baseline, speculative);
    identity.tokens += position ? *position + 1 : baseline.token_ids.size();
    if (!position && baseline.end == speculative.end) {
      ++identity.identical;
      continue;
    }
    const std::size_t parted = position.value_or(baseline.token_ids.size());
    if (identity.least == nullptr ||
        std::pair(pair.baseline->request.prompt.size(), parted) <
            std::pair(identity.least->baseline->request.prompt.size(), identity.least_position)) {
      identity.least = &pair;
      identity.least_position = parted;
    }
  }
  return identity;
}

/// How many runs of the baseline, seed included, did not come out alike.
std::pair<std::uint64_t, std::uint64_t> baseline_repeats(const CheckContext& context) {
  std::uint64_t compared = 0, parted = 0;
  for_each_transcript(context, Arm::kBaseline,
                      [&](const AuditCase& audit_case, const Transcript& t) {
                        if (audit_case.seeding != Seeding::kShared || t.key.repeat == 0) return;
                        const auto& firsts = context.evidence.of(audit_case.id, Arm::kBaseline);
                        const auto first = firsts.find(t.key.trial);
                        if (first == firsts.end() || t.completion.end == CompletionEnd::kFailed ||
                            first->second.completion.end == CompletionEnd::kFailed)
                          return;
                        ++compared;
                        if (first_difference(first->second.completion, t.completion)) ++parted;
                      });
  return {compared, parted};
}

/// Natural logarithm of a bound on the probability that at least `part` of `all` positions differ
/// where each does with probability `share` at most (Chernoff).
double log_tail(double part, double all, double share) {
  const double seen = part / all;
  if (part == 0 || seen <= share) return 0;
  if (share <= 0) return -std::numeric_limits<double>::infinity();
  const double rest = seen < 1 ? (1 - seen) * std::log((1 - seen) / (1 - share)) : 0;
  return -all * (seen * std::log(seen / share) + rest);
}

oracle::Witness witness_of(const PairedTrial& pair, std::size_t position) {
  const auto told = [](const Completion& completion) {
    return words_of(completion.token_ids) +
           (completion.end == CompletionEnd::kStop ? ", stopped" : ", ended by its length");
  };
  oracle::Witness witness;
  witness.expected = told(pair.baseline->completion) + "   (baseline, the same seed)";
  witness.observed = told(pair.speculative->completion) + "   (speculative)";
  witness.because =
      position < std::max(pair.baseline->completion.token_ids.size(),
                          pair.speculative->completion.token_ids.size())
          ? "token " + std::to_string(position + 1) +
                " is the first that differs, and the engine promises one output a seed, with "
                "drafts and without"
          : "the tokens are the same, and what ended them is not";
  return witness;
}

/// One output whatever the seed: identity then says no more than parity at temperature 0.
bool has_variety(const std::vector<PairedTrial>& pairs) {
  std::map<const AuditCase*, std::set<std::vector<reference::Token>>> outputs;
  for (const PairedTrial& pair : pairs) {
    auto& seen = outputs[pair.audit_case];
    seen.insert(pair.baseline->completion.token_ids);
    if (seen.size() > 1) return true;
  }
  return false;
}

void settle(const CheckContext& context, oracle::Verdict& verdict, const Identity& identity) {
  if (identity.least == nullptr) {
    verdict.kind = oracle::VerdictKind::kUpheld;
    verdict.smallest_visible_effect =
        visible_share_words(context, identity.tokens, "all tokens changed by drafts");
    return;
  }
  const std::uint64_t parted = identity.pairs - identity.identical;
  if (!context.settings.promises_same_seed) {
    verdict.label = oracle::Label::kNotExercised;
    verdict.evidence += "; the same was not promised";
    verdict.notes.push_back(
        "no promise is broken: arms that spend their coins otherwise differ, and laws judge them. "
        "Where a seed is to give the same tokens with drafts and without, say so "
        "(promises_same_seed)");
    return;
  }
  const auto [repeats, changed] = baseline_repeats(context);
  if (changed > 0) {
    verdict.notes.push_back(
        of_all(changed, repeats) +
        " runs of the baseline with its own seed come out otherwise (A/A control): identity cannot "
        "be stricter than the engine is with itself; on vLLM set VLLM_BATCH_INVARIANT=1, on "
        "llama.cpp send cache_prompt=false");
    return;
  }
  const double share = std::min(1.0, 2 * std::expm1(context.settings.tolerance));
  const double tail = log_tail(static_cast<double>(parted), static_cast<double>(identity.tokens),
                               context.settings.tolerance > 0 ? share : 0);
  // A tail holds at one look; all of them share it.
  const std::size_t look = look_sizes(context, Arm::kSpeculative).size() - 1;
  verdict.log_e_value = -tail + std::log(oracle::share_of_look(.5, look) / .5);
  verdict.log_alarm = context.log_alarm;
  if (*verdict.log_e_value < context.log_alarm) {
    verdict.label = oracle::Label::kNearTie;
    verdict.notes.push_back("rounding within the declared slack may change a share of " +
                            rounded(share) + " of the tokens: these do not show more");
    return;
  }
  refute(context, verdict, *identity.least->speculative, oracle::Label::kNotReproducible,
         witness_of(*identity.least, identity.least_position));
}

}  // namespace

oracle::Verdict same_seed_identity(const CheckContext& context) {
  oracle::Verdict verdict = begun(context);
  const std::vector<PairedTrial> pairs = paired_trials(context, Seeding::kShared);
  const Identity identity = identity_of(pairs);
  verdict.trials = identity.pairs;
  if (identity.pairs == 0 || identity.tokens == 0) {
    verdict.evidence = identity.failed > 0
                           ? "every pair of completions has one that failed"
                           : "no trial with a seed that both arms share was answered by both";
    return verdict;
  }
  verdict.evidence = of_all(identity.identical, identity.pairs) +
                     " outputs identical with drafts and without, " +
                     std::to_string(identity.tokens) + " tokens compared";
  settle(context, verdict, identity);
  if (!has_variety(pairs))
    verdict.assumption = "every trial of a prompt has one output here, whatever its seed";
  verdict = unless_too_many_lost(identity.failed, identity.pairs,
                                 "pairs have a request that failed", std::move(verdict));
  return unless_never_drafted(context, std::move(verdict));
}

}  // namespace draftproof::properties::audits
