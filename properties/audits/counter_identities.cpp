// Counter identities: what an engine reports of its drafts must fit what it emitted. Every
// verification emits what it accepted and one token of the target's own, and what it accepted was
// drafted (after sgl-project/sglang#33518). Where steps are
// told, they add up to the counters, and what they accepted stands in the output in their order.
// A speculative arm that never drafts exercises nothing: no verdict of its setting may be green.
#include <algorithm>
#include <span>
#include <utility>

#include "properties/audits/findings.h"
#include "properties/audits/words.h"

namespace draftproof::properties::audits {
namespace {

using reference::Token;

struct Identity {
  std::string expected;
  std::string observed;
  bool holds = true;
};

std::string told(const DraftCounters& counters) {
  return "drafted " + std::to_string(counters.drafted) + ", accepted " +
         std::to_string(counters.accepted) + ", emitted " + std::to_string(counters.emitted);
}

/// Engines that leave the end token out of their answers may count it.
bool counts_emitted(const Completion& completion, std::int64_t emitted) {
  const auto came = static_cast<std::int64_t>(completion.token_ids.size());
  return emitted == came || (completion.end == CompletionEnd::kStop && emitted == came + 1);
}

std::vector<Identity> of_counters(const Transcript& transcript, const Capabilities& capabilities) {
  const Completion& completion = transcript.completion;
  const DraftCounters& counters = *completion.counters;
  const auto emitted = static_cast<std::int64_t>(completion.token_ids.size());
  const std::string count = std::to_string(emitted);
  std::vector<Identity> list = {{"0 <= accepted <= drafted", told(counters),
                                 0 <= counters.accepted && counters.accepted <= counters.drafted}};
  if (capabilities.returns_token_ids)
    list.push_back({"emitted = " + count + ", the tokens that came", told(counters),
                    counts_emitted(completion, counters.emitted)});
  if (transcript.key.arm == Arm::kBaseline) {
    list.push_back({"drafted = 0 without speculation", told(counters), counters.drafted == 0});
    return list;
  }
  const std::int64_t draft_count = capabilities.draft_count;
  if (draft_count <= 0) return list;
  list.push_back({"accepted <= " + count + " - 1 + " + std::to_string(draft_count), told(counters),
                  counters.accepted <= std::max<std::int64_t>(emitted - 1, 0) + draft_count});
  // An end token that is not told had a verification of its own.
  const std::int64_t untold = completion.end == CompletionEnd::kStop ? 1 : 0;
  const std::int64_t verifications_max = emitted + untold + draft_count - counters.accepted;
  list.push_back({"drafted <= " + std::to_string(draft_count) +
                      " a verification, of which there are " + std::to_string(verifications_max) +
                      " at most",
                  told(counters), counters.drafted <= draft_count * verifications_max});
  return list;
}

/// Whether what the steps accepted stands in the output, one behind the other; the last of it may
/// be cut where the output ends. Earliest places leave most room for the rest, so that looking for
/// them alone decides.
bool stands_in(const std::vector<VerifyStep>& steps, const std::vector<Token>& tokens) {
  auto from = tokens.begin();
  for (const VerifyStep& step : steps) {
    const auto accepted = static_cast<std::size_t>(step.accepted);
    const std::vector<Token> kept(step.draft_ids.begin(),
                                  step.draft_ids.begin() + static_cast<std::ptrdiff_t>(accepted));
    auto place = from;
    for (; place != tokens.end(); ++place) {
      const auto room = static_cast<std::size_t>(tokens.end() - place);
      const auto size = static_cast<std::ptrdiff_t>(std::min(room, kept.size()));
      if (std::equal(kept.begin(), kept.begin() + size, place)) break;
    }
    // Nothing of it stands there. Behind the end of the output that is as it should be.
    if (place == tokens.end() && from != tokens.end() && !kept.empty()) return false;
    from = place + static_cast<std::ptrdiff_t>(
                       std::min(kept.size(), static_cast<std::size_t>(tokens.end() - place)));
  }
  return true;
}

std::vector<Identity> of_steps(const Completion& completion) {
  std::int64_t drafted = 0, accepted = 0;
  for (const VerifyStep& step : completion.steps) {
    const auto size = static_cast<std::int64_t>(step.draft_ids.size());
    if (step.accepted < 0 || step.accepted > size)
      return {{"of the " + std::to_string(size) + " drafted tokens of a step at most all accepted",
               std::to_string(step.accepted), false}};
    drafted += size;
    accepted += step.accepted;
  }
  const std::string sums = "steps with " + std::to_string(drafted) + " drafted and " +
                           std::to_string(accepted) + " accepted";
  std::vector<Identity> list;
  if (const auto& counters = completion.counters)
    list.push_back({sums + ", which the counters sum up to", told(*counters),
                    counters->drafted == drafted && counters->accepted == accepted});
  std::string kept;
  for (const VerifyStep& step : completion.steps) {
    const std::span<const Token> draft = step.draft_ids;
    if (step.accepted > 0)
      kept += (kept.empty() ? "" : " | ") +
              words_of(draft.first(static_cast<std::size_t>(step.accepted)));
  }
  list.push_back({"the accepted tokens of all steps in their order: " + kept,
                  "output " + words_of(completion.token_ids),
                  stands_in(completion.steps, completion.token_ids)});
  return list;
}

struct Tally {
  std::uint64_t counted = 0, uncounted = 0, failed = 0;
  std::int64_t drafted = 0, accepted = 0;
  std::optional<std::pair<const Transcript*, Identity>> broken;
};

Tally tally_of(const CheckContext& context, Arm arm) {
  const JudgeSettings& settings = context.settings;
  const Capabilities& capabilities =
      arm == Arm::kBaseline ? settings.baseline : settings.speculative;
  Tally tally;
  for_each_transcript(context, arm, [&](const AuditCase&, const Transcript& transcript) {
    const Completion& completion = transcript.completion;
    if (completion.end == CompletionEnd::kFailed) {
      ++tally.failed;
      return;
    }
    std::vector<Identity> identities;
    if (completion.counters) {
      ++tally.counted;
      tally.drafted += completion.counters->drafted;
      tally.accepted += completion.counters->accepted;
      identities = of_counters(transcript, capabilities);
    } else {
      ++tally.uncounted;
    }
    if (!completion.steps.empty())
      for (Identity& identity : of_steps(completion)) identities.push_back(std::move(identity));
    for (Identity& identity : identities)
      if (!identity.holds && !tally.broken) tally.broken = {&transcript, std::move(identity)};
  });
  return tally;
}

void convict(const CheckContext& context, oracle::Verdict& verdict, const Tally& tally) {
  const auto& [transcript, identity] = *tally.broken;
  verdict.evidence = "an identity that does not hold in the " + to_string(transcript->key.arm) +
                     " arm: " + identity.expected;
  refute(context, verdict, *transcript, oracle::Label::kNone,
         {.let = "",
          .expected = identity.expected,
          .observed = identity.observed,
          .because = "a verification emits what it accepted and one token of the target's own, and "
                     "what it\naccepted was drafted",
          .replay = "",
          .case_json = ""});
}

}  // namespace

oracle::Verdict counter_identities(const CheckContext& context) {
  oracle::Verdict verdict = begun(context);
  const Tally speculative = tally_of(context, Arm::kSpeculative);
  const Tally baseline = tally_of(context, Arm::kBaseline);
  if (const int most = context.settings.speculative.draft_count; most > 0)
    verdict.assumption = "a verification drafts " + std::to_string(most) +
                         " tokens at most, by the engine's own word";
  verdict.trials = speculative.counted;
  if (speculative.broken || baseline.broken) {
    convict(context, verdict, speculative.broken ? speculative : baseline);
    return verdict;
  }
  if (speculative.counted == 0) {
    verdict.evidence = speculative.uncounted > 0
                           ? "no completion of the speculative arm came with counters of drafts"
                           : "no request of the speculative arm was answered";
    return verdict;
  }
  verdict.evidence = std::to_string(speculative.counted) + " completions, " +
                     of_all(static_cast<std::uint64_t>(speculative.accepted),
                            static_cast<std::uint64_t>(speculative.drafted)) +
                     " drafted tokens accepted";
  if (speculative.uncounted > 0)
    verdict.notes.push_back(std::to_string(speculative.uncounted) +
                            " completions of the speculative arm came without counters");
  verdict.kind = oracle::VerdictKind::kUpheld;
  verdict.smallest_visible_effect = "a count that no run could have";
  if (speculative.drafted == 0)
    verdict.notes.push_back(
        "speculation is not on in this arm, or its drafts never arise in these requests: longer "
        "prompts and outputs, or other draft settings, exercise it");
  verdict = unless_too_many_lost(speculative.failed, speculative.counted, "requests failed",
                                 std::move(verdict));
  return unless_never_drafted(context, std::move(verdict));
}

}  // namespace draftproof::properties::audits
