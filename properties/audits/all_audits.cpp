// All audits of one engine, in the order in which a reader understands them.
#include "properties/audits/words.h"
#include "properties/random.h"

namespace draftproof::properties::audits {

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
    verdicts.push_back(logprobs(engine, target, settings));
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
