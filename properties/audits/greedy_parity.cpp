// Greedy parity: at temperature 0 the speculative arm emits what the baseline emits. The target's
// rows say which token is right, so drafts may change when a token comes, never which (Leviathan,
// Kalman, Matias, ICML 2023, temperature 0). Engines whose rows depend on the batch part at near
// ties without any fault; a toy's rows do not, so that every difference counts here.
#include <algorithm>
#include <utility>

#include "properties/audits/words.h"
#include "reference/error.h"

namespace draftproof::properties::audits {
namespace {

using reference::Token;

struct Divergence {
  SamplingRequest request;
  Completion baseline;
  Completion speculative;
  std::size_t position = 0;  ///< of the first token that differs
  std::size_t companions = 0;
};

std::optional<std::size_t> first_difference(const Completion& baseline,
                                            const Completion& speculative) {
  const auto& first = baseline.token_ids;
  const auto& second = speculative.token_ids;
  const auto parted = std::mismatch(first.begin(), first.end(), second.begin(), second.end());
  if (parted.first == first.end() && parted.second == second.end() &&
      speculative.end == baseline.end)
    return {};
  return static_cast<std::size_t>(parted.first - first.begin());
}

/// Of the shortest prompt that diverges in this batch, at the earliest position among those.
std::optional<Divergence> least_divergence(const std::vector<SamplingRequest>& requests,
                                           const std::vector<Completion>& baseline,
                                           const std::vector<Completion>& speculative) {
  std::optional<Divergence> least;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto position = first_difference(baseline[i], speculative[i]);
    if (!position) continue;
    const auto size = requests[i].prompt.size();
    if (least &&
        std::pair(size, *position) >= std::pair(least->request.prompt.size(), least->position))
      continue;
    least = {requests[i], baseline[i], speculative[i], *position, requests.size() - 1};
  }
  return least;
}

/// The same prompt with nobody beside it, when it diverges there too.
Divergence alone(Engine& engine, Divergence divergence) {
  Completion again = engine.generate(Arm::kSpeculative, {divergence.request}).front();
  const auto position = first_difference(divergence.baseline, again);
  if (position) {
    divergence.speculative = std::move(again);
    divergence.position = *position;
    divergence.companions = 0;
  }
  return divergence;
}

std::string told(const Completion& completion) {
  if (completion.end == CompletionEnd::kFailed) return completion.failure;
  return words_of(completion.token_ids) +
         (completion.end == CompletionEnd::kStop ? ", stopped" : ", ended by its length");
}

oracle::Witness witness_of(const Divergence& divergence) {
  oracle::Witness witness;
  witness.let = words_of(divergence.request);
  witness.let += divergence.companions == 0
                     ? ", alone on the engine"
                     : ", in a batch with " + std::to_string(divergence.companions) +
                           " others (alone it comes out right)";
  witness.expected = told(divergence.baseline) + "   (baseline: no drafts)";
  witness.observed = told(divergence.speculative) + "   (speculative)";
  witness.because = "token " + std::to_string(divergence.position + 1) +
                    " is the first that differs; at temperature 0 one token is right at each\n"
                    "step, and the arms differ in nothing but that one of them drafts";
  return witness;
}

}  // namespace

oracle::Verdict greedy_parity(Engine& engine, const AuditSettings& settings) {
  oracle::Verdict verdict = verdict_of(engine, "greedy_parity", oracle::Claim::kGreedyExact);
  DRAFTPROOF_CHECK(settings.batch_size > 0);
  const int vocab_size = engine.capabilities().vocab_size;
  const std::vector<Prompt> prompts = by_length(settings.prompts);
  reference::Sampling greedy;
  greedy.temperature = 0;
  std::uint64_t compared = 0;
  for (std::size_t begin = 0; begin < prompts.size(); begin += settings.batch_size) {
    std::vector<SamplingRequest> requests;
    for (std::size_t i = begin; i < std::min(begin + settings.batch_size, prompts.size()); ++i)
      requests.push_back(request_for(settings, prompts[i], greedy));
    const auto baseline = engine.generate(Arm::kBaseline, requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto fault = malformation(requests[i], baseline[i], vocab_size);
      if (!fault) continue;
      verdict.evidence = "the baseline gave no completion to compare with: " + *fault;
      return verdict;
    }
    const auto speculative = engine.generate(Arm::kSpeculative, requests);
    verdict.trials += requests.size();
    for (const Completion& each : baseline) compared += each.token_ids.size();
    auto divergence = least_divergence(requests, baseline, speculative);
    if (!divergence) continue;
    divergence = alone(engine, std::move(*divergence));
    verdict.evidence = "the arms part at token " + std::to_string(divergence->position + 1) +
                       " behind a prompt of " + std::to_string(divergence->request.prompt.size());
    convict(verdict, witness_of(*divergence), settings);
    return verdict;
  }
  if (compared == 0) {
    verdict.evidence = "no token came that could be compared";
    return verdict;
  }
  verdict.kind = oracle::VerdictKind::kUpheld;
  verdict.evidence = std::to_string(compared) + " tokens behind " + std::to_string(prompts.size()) +
                     " prompts, all equal";
  verdict.smallest_visible_effect = "one other token behind any of these prompts";
  return verdict;
}

}  // namespace draftproof::properties::audits
