// All audits of one engine, in the order in which a reader understands them.
#include "properties/audits/words.h"
#include "properties/random.h"

namespace draftproof::properties::audits {

namespace {

/// Where the tokens are not the target's either, a logprob that is not the target's may still be
/// that of the law its token was drawn from.
oracle::Verdict beside(const std::vector<oracle::Verdict>& tokens, oracle::Verdict logprobs) {
  if (logprobs.kind != oracle::VerdictKind::kViolated ||
      oracle::merged(tokens) != oracle::VerdictKind::kViolated)
    return logprobs;
  logprobs.kind = oracle::VerdictKind::kInconclusive;
  logprobs.witness.reset();
  logprobs.evidence = "not the target's, but nor are the tokens: of which law they are is not told";
  return logprobs;
}

}  // namespace

std::vector<oracle::Verdict> all_audits(Engine& engine, const KnownTarget& target,
                                        const AuditSettings& settings) {
  const Capabilities capabilities = engine.capabilities();
  std::vector<oracle::Verdict> verdicts = {greedy_parity(engine, settings)};
  if (capabilities.can_draw) {
    AuditSettings share = settings;
    share.false_alarms = settings.false_alarms / 2;  // next token, two tokens
    verdicts.push_back(support(engine, target, settings));
    for (oracle::Verdict& verdict : known_law(engine, target, share))
      verdicts.push_back(std::move(verdict));
  }
  if (capabilities.can_draw && capabilities.logprobs != LogprobKind::kNone)
    verdicts.push_back(beside(verdicts, logprobs(engine, target, settings)));
  if (capabilities.reports_counters) verdicts.push_back(counters(engine, settings));
  return verdicts;
}

std::vector<Prompt> varied_prompts(std::size_t count, int length_max, int vocab_size,
                                   std::uint64_t seed) {
  Random random(seed);
  std::vector<Prompt> prompts;
  for (std::size_t i = 0; i < count; ++i) {
    Prompt prompt(1 + i % static_cast<std::size_t>(length_max));
    for (reference::Token& token : prompt)
      token = static_cast<reference::Token>(random.below(static_cast<std::uint64_t>(vocab_size)));
    prompts.push_back(std::move(prompt));
  }
  return by_length(std::move(prompts));
}

}  // namespace draftproof::properties::audits
