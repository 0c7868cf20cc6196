// Counters: what an engine reports of its drafts must fit what it emitted. Every verification
// emits what it accepted and one token of the target's own, and what it accepted was drafted:
//   0 <= accepted <= drafted            emitted == the tokens that came
//   accepted <= emitted - 1 + n         the first token is the prefill's; n may lie behind the end
//   drafted <= n (emitted + n - accepted)   for every token that is no draft's, one verification
// with n drafted tokens a verification at most. (After sgl-project/sglang#33518.)
#include <algorithm>

#include "properties/audits/words.h"
#include "reference/error.h"

namespace draftproof::properties::audits {
namespace {

struct Identity {
  std::string expected;
  bool holds = false;
};

std::vector<Identity> identities(const Completion& completion, const DraftCounters& counters,
                                 std::int64_t draft_count, Arm arm) {
  const auto emitted = static_cast<std::int64_t>(completion.token_ids.size());
  const std::string count = std::to_string(emitted);
  std::vector<Identity> list = {
      {"emitted = " + count + ", the tokens that came", counters.emitted == emitted},
      {"0 <= accepted <= drafted", 0 <= counters.accepted && counters.accepted <= counters.drafted},
  };
  if (arm == Arm::kBaseline) {
    list.push_back({"drafted = 0 without speculation", counters.drafted == 0});
    return list;
  }
  if (draft_count == 0) return list;
  const std::int64_t accepted_max = emitted - 1 + draft_count;
  list.push_back({"accepted <= " + count + " - 1 + " + std::to_string(draft_count),
                  counters.accepted <= accepted_max});
  const std::int64_t verifications_max = emitted + draft_count - counters.accepted;
  list.push_back({"drafted <= " + std::to_string(draft_count) +
                      " a verification, of which there "
                      "are " +
                      std::to_string(verifications_max) + " at most",
                  counters.drafted <= draft_count * verifications_max});
  return list;
}

std::string told(const DraftCounters& counters) {
  return "drafted " + std::to_string(counters.drafted) + ", accepted " +
         std::to_string(counters.accepted) + ", emitted " + std::to_string(counters.emitted);
}

std::optional<oracle::Witness> offence(const SamplingRequest& request, const Completion& completion,
                                       std::int64_t draft_count, Arm arm) {
  oracle::Witness witness;
  witness.let = words_of(request) + ", " + to_string(arm);
  if (!completion.counters) {
    if (arm == Arm::kBaseline) return {};
    witness.expected = "counters of drafted and accepted tokens, which others came with";
    witness.observed = "none";
    witness.because = "a completion without counters cannot be accounted for";
    return witness;
  }
  for (const Identity& identity : identities(completion, *completion.counters, draft_count, arm)) {
    if (identity.holds) continue;
    witness.expected = identity.expected;
    witness.observed = told(*completion.counters);
    witness.because = "a verification emits what it accepted and one token of the target's own";
    return witness;
  }
  return {};
}

}  // namespace

oracle::Verdict counters(Engine& engine, const AuditSettings& settings) {
  oracle::Verdict verdict =
      verdict_of(engine, "counters_fit_the_output", oracle::Claim::kAccountingTruthful);
  DRAFTPROOF_CHECK(settings.batch_size > 0);
  const Capabilities capabilities = engine.capabilities();
  const std::vector<Prompt> prompts = by_length(settings.prompts);
  DraftCounters sum;
  for (std::size_t begin = 0; begin < prompts.size(); begin += settings.batch_size) {
    std::vector<SamplingRequest> requests;
    for (std::size_t i = begin; i < std::min(begin + settings.batch_size, prompts.size()); ++i)
      requests.push_back(request_for(settings, prompts[i], {.temperature = 0}));
    for (const Arm arm : {Arm::kSpeculative, Arm::kBaseline}) {
      const auto completions = engine.generate(arm, requests);
      for (std::size_t i = 0; i < requests.size(); ++i) {
        if (malformation(requests[i], completions[i], capabilities.vocab_size)) continue;
        ++verdict.trials;
        if (auto witness = offence(requests[i], completions[i], capabilities.draft_count, arm)) {
          verdict.evidence = "an identity that does not hold";
          convict(verdict, std::move(*witness), settings);
          return verdict;
        }
        if (!completions[i].counters) continue;
        sum.drafted += completions[i].counters->drafted;
        sum.accepted += completions[i].counters->accepted;
      }
    }
  }
  if (verdict.trials == 0) {
    verdict.evidence = "no completion came that could be counted";
    return verdict;
  }
  verdict.kind = oracle::VerdictKind::kUpheld;
  verdict.evidence = std::to_string(verdict.trials) + " completions, " +
                     std::to_string(sum.accepted) + " of " + std::to_string(sum.drafted) +
                     " drafted tokens accepted";
  verdict.smallest_visible_effect = "a count that no run could have";
  return verdict;
}

}  // namespace draftproof::properties::audits
