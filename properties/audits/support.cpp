// Support: no token that shaping has filtered out. With top_k on, most tokens have probability
// exactly zero at every position, so that a row taken from another place, a filter that drafts do
// not pass, or a draft kept that should not be, shows at once and without any statistics.
#include <algorithm>

#include "oracle/hidden_share.h"
#include "properties/audits/words.h"
#include "properties/describe.h"
#include "reference/error.h"

namespace draftproof::properties::audits {
namespace {

using reference::Token;

constexpr int kRounds = 4;
constexpr std::int64_t kTopK = 2;

/// The tokens that `law` allows.
std::string allowed(const std::vector<double>& law) {
  std::vector<Token> tokens;
  for (std::size_t token = 0; token < law.size(); ++token)
    if (law[token] > 0) tokens.push_back(static_cast<Token>(token));
  return words_of(tokens);
}

/// The first token of a completion that has probability 0, or what makes it no completion.
std::optional<oracle::Witness> offence(const KnownTarget& target, const SamplingRequest& request,
                                       const Completion& completion, std::uint64_t& judged) {
  oracle::Witness witness;
  witness.let = words_of(request);
  if (const auto fault = malformation(request, completion, target.vocab_size())) {
    witness.expected = "a completion";
    witness.observed = *fault;
    witness.because = "the request is one that the engine has to answer";
    return witness;
  }
  for (std::size_t i = 0; i < completion.token_ids.size(); ++i) {
    const auto before = std::span<const Token>(completion.token_ids).first(i);
    const std::vector<double> law = target.next(request, before);
    const Token token = completion.token_ids[i];
    ++judged;
    if (law[static_cast<std::size_t>(token)] > 0) continue;
    witness.expected = "token " + std::to_string(i + 1) + ", behind the emitted tokens " +
                       words_of(before) + ", is one of " + allowed(law);
    witness.observed = std::to_string(token);
    witness.because = "every other token has probability exactly 0 there";
    return witness;
  }
  return {};
}

}  // namespace

oracle::Verdict support(Engine& engine, const KnownTarget& target, const AuditSettings& settings) {
  oracle::Verdict verdict =
      verdict_of(engine, "nothing_outside_the_support", oracle::Claim::kSupportSafe);
  DRAFTPROOF_CHECK(settings.batch_size > 0);
  const std::vector<Prompt> prompts = by_length(settings.prompts);
  reference::Sampling filtered;
  filtered.top_k = kTopK;
  std::uint64_t judged = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t begin = 0; begin < prompts.size(); begin += settings.batch_size) {
      std::vector<SamplingRequest> requests;
      for (std::size_t i = begin; i < std::min(begin + settings.batch_size, prompts.size()); ++i) {
        requests.push_back(request_for(settings, prompts[i], filtered));
        requests.back().seed.reset();  // with one of its own all rounds would be the same draw
      }
      const auto completions = engine.generate(Arm::kSpeculative, requests);
      for (std::size_t i = 0; i < requests.size(); ++i) {
        ++verdict.trials;
        auto witness = offence(target, requests[i], completions[i], judged);
        if (!witness) continue;
        verdict.evidence = "in the " + std::to_string(verdict.trials) + ". completion";
        convict(verdict, std::move(*witness), settings);
        return verdict;
      }
    }
  }
  if (judged == 0) {
    verdict.evidence = "no token came that could be judged";
    return verdict;
  }
  verdict.kind = oracle::VerdictKind::kUpheld;
  verdict.evidence = std::to_string(judged) + " tokens drawn with top_k " + std::to_string(kTopK) +
                     ", each one inside";
  verdict.smallest_visible_effect =
      rounded_up(100 * oracle::hidden_share(judged, settings.false_alarms)) + "% of tokens outside";
  return verdict;
}

}  // namespace draftproof::properties::audits
