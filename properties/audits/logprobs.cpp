// Logprobs: what is reported of a token is the logarithm of its probability in the law that the
// engine says it reports, the model's own or the one it was drawn from. A row that is off by one,
// a buffer used again, an edit in place: tokens stay right and their numbers do not. The law is the
// target's, so the verdict assumes that tokens are drawn from it, which other audits judge.
#include <algorithm>
#include <cmath>

#include "properties/audits/words.h"
#include "properties/describe.h"
#include "reference/error.h"

namespace draftproof::properties::audits {
namespace {

using reference::Token;

/// Masses differ from exp of the logit by a relative 1.56e-7 at most (tools/docs/numerics.md), in
/// numerator and sum, and engines report fp32, of which half a step is 4.8e-7 at logprobs below 16
/// in size. More than ten times their sum.
constexpr double kTolerance = 1e-5;

/// NaN is never close.
bool is_close(double reported, double due) { return std::fabs(reported - due) <= kTolerance; }

std::optional<oracle::Witness> offence(const KnownTarget& target, const SamplingRequest& request,
                                       const Completion& completion, LogprobKind kind,
                                       std::uint64_t& judged) {
  oracle::Witness witness;
  witness.let = words_of(request);
  if (completion.logprobs.size() != completion.token_ids.size()) {
    witness.expected = std::to_string(completion.token_ids.size()) + " logprobs, one a token";
    witness.observed = std::to_string(completion.logprobs.size());
    witness.because = "they were asked for";
    return witness;
  }
  SamplingRequest reported = request;
  if (kind == LogprobKind::kRaw) {
    reported.sampling = {};
    reported.adjustments = {};
  }
  for (std::size_t i = 0; i < completion.token_ids.size(); ++i) {
    const auto before = std::span<const Token>(completion.token_ids).first(i);
    const Token token = completion.token_ids[i];
    const double due = std::log(target.next(reported, before)[static_cast<std::size_t>(token)]);
    ++judged;
    if (is_close(completion.logprobs[i], due)) continue;
    witness.expected = "token " + std::to_string(i + 1) + ", which is " + std::to_string(token) +
                       ", has logprob " + short_number(due);
    witness.observed = short_number(completion.logprobs[i]);
    witness.because = "the emitted tokens before it are " + words_of(before) +
                      ", and its probability behind them is known";
    return witness;
  }
  return {};
}

}  // namespace

oracle::Verdict logprobs(Engine& engine, const KnownTarget& target, const AuditSettings& settings) {
  oracle::Verdict verdict =
      verdict_of(engine, "logprobs_are_the_targets", oracle::Claim::kLogprobTruthful);
  DRAFTPROOF_CHECK(settings.batch_size > 0);
  const Capabilities capabilities = engine.capabilities();
  const std::vector<Prompt> prompts = by_length(settings.prompts);
  std::uint64_t judged = 0;
  for (std::size_t begin = 0; begin < prompts.size(); begin += settings.batch_size) {
    std::vector<SamplingRequest> requests;
    for (std::size_t i = begin; i < std::min(begin + settings.batch_size, prompts.size()); ++i) {
      requests.push_back(request_for(settings, prompts[i], {}));
      requests.back().logprob_count = 0;
    }
    const auto completions = engine.generate(Arm::kSpeculative, requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (malformation(requests[i], completions[i], target.vocab_size())) continue;
      ++verdict.trials;
      auto witness = offence(target, requests[i], completions[i], capabilities.logprobs, judged);
      if (!witness) continue;
      verdict.evidence = "in the " + std::to_string(verdict.trials) + ". completion";
      convict(verdict, std::move(*witness), settings);
      return verdict;
    }
  }
  if (judged == 0) {
    verdict.evidence = "no completion came whose logprobs could be judged";
    return verdict;
  }
  verdict.kind = oracle::VerdictKind::kUpheld;
  verdict.evidence = std::to_string(judged) + " logprobs, each one right";
  verdict.assumption = "tokens are drawn from the target's law";
  verdict.smallest_visible_effect = "one logprob off by " + short_number(kTolerance);
  return verdict;
}

}  // namespace draftproof::properties::audits
