// Well-formed: ids in range, no more tokens than were asked for, fewer only where something ended
// the output, nothing behind an end or a stop token, and an answer where the baseline gives one.
// None of it needs a law. What the baseline does alike is told as the engine's way of its own; what
// no engine may do convicts in either arm.
#include <algorithm>
#include <utility>

#include "properties/audits/findings.h"
#include "properties/audits/words.h"

namespace draftproof::properties::audits {
namespace {

using reference::Token;

struct Malformation {
  bool is_hard =
      true;  ///< false: an engine's own limits may explain it, and then both arms show it
  std::string expected, observed, because;
};

bool contains(const std::vector<Token>& tokens, Token token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

bool ends_output(const SamplingRequest& request, Token token) {
  return contains(request.stop_token_ids, token) ||
         (!request.ignores_end && contains(request.adjustments.end_tokens, token));
}

std::optional<Malformation> of_ids(const Completion& completion, int vocab_size) {
  for (std::size_t i = 0; i < completion.token_ids.size(); ++i) {
    const Token token = completion.token_ids[i];
    if (token >= 0 && (vocab_size == 0 || token < vocab_size)) continue;
    const std::string range =
        vocab_size == 0 ? "ids from 0 on" : "ids from 0 to " + std::to_string(vocab_size - 1);
    return Malformation{true, range,
                        "token " + std::to_string(i + 1) + " is " + std::to_string(token),
                        "it is no token of the vocabulary"};
  }
  return {};
}

/// Behind min_tokens: before, a token that would end the output ends nothing.
std::optional<Malformation> of_ends(const SamplingRequest& request, const Completion& completion) {
  const auto& tokens = completion.token_ids;
  const auto first =
      static_cast<std::size_t>(std::max<std::int64_t>(request.adjustments.min_tokens, 0));
  for (std::size_t i = first; i + 1 < tokens.size(); ++i) {
    if (!ends_output(request, tokens[i])) continue;
    return Malformation{true,
                        "nothing behind token " + std::to_string(i + 1) + ", which is " +
                            std::to_string(tokens[i]) + " and ends the output",
                        std::to_string(tokens.size() - i - 1) + " more tokens: " + words_of(tokens),
                        "drafted tokens behind an end are no part of the output"};
  }
  return {};
}

std::optional<Malformation> of_length(const SamplingRequest& request,
                                      const Completion& completion) {
  const auto asked = static_cast<std::size_t>(std::max(request.max_tokens, 0));
  const std::size_t emitted = completion.token_ids.size();
  const std::string due = std::to_string(asked) + " tokens";
  if (emitted > asked)
    return Malformation{true, due + " at most", std::to_string(emitted),
                        "a step that accepts several drafted tokens is cut at the cap"};
  if (emitted == asked) return {};
  if (completion.end == CompletionEnd::kLength)
    return Malformation{false, due + ", or a reason to stop",
                        std::to_string(emitted) + ", ended by length",
                        "the output is shorter than its cap and nothing stopped it"};
  if (request.ignores_end && request.stop_token_ids.empty())
    return Malformation{false, due + ": nothing in the request ends it earlier",
                        std::to_string(emitted) + ", stopped",
                        "the end token was to be ignored, and there is no stop token"};
  if (emitted == 0)
    return Malformation{false, "at least one token", "none",
                        "an output that is empty has not been decoded"};
  return {};
}

std::optional<Malformation> malformation_of(const Transcript& transcript, int vocab_size) {
  const Completion& completion = transcript.completion;
  if (auto found = of_ids(completion, vocab_size)) return found;
  if (auto found = of_ends(transcript.request, completion)) return found;
  return of_length(transcript.request, completion);
}

struct ArmTally {
  std::uint64_t completions = 0, failed = 0, lost = 0, soft = 0;
  const Transcript* hard_at = nullptr;
  const Transcript* soft_at = nullptr;
  const Transcript* failed_at = nullptr;
  const Transcript* lost_at = nullptr;  ///< of the transport
};

ArmTally tally_of(const CheckContext& context, Arm arm, int vocab_size) {
  ArmTally tally;
  for_each_transcript(context, arm, [&](const AuditCase&, const Transcript& transcript) {
    if (transcript.completion.end == CompletionEnd::kFailed) {
      if (transcript.completion.failure_cause == FailureCause::kTransport) {
        if (tally.lost++ == 0) tally.lost_at = &transcript;
      } else if (tally.failed++ == 0) {
        tally.failed_at = &transcript;
      }
      return;
    }
    ++tally.completions;
    const auto found = malformation_of(transcript, vocab_size);
    if (!found) return;
    if (found->is_hard && tally.hard_at == nullptr) tally.hard_at = &transcript;
    if (!found->is_hard && tally.soft++ == 0) tally.soft_at = &transcript;
  });
  return tally;
}

void convict(const CheckContext& context, oracle::Verdict& verdict, const Transcript& transcript,
             int vocab_size) {
  const auto found = malformation_of(transcript, vocab_size);
  const std::string arm = to_string(transcript.key.arm);
  refute(context, verdict, transcript, oracle::Label::kNone,
         {.let = "",
          .expected = found->expected,
          .observed = found->observed + "   (" + arm + ")",
          .because = found->because,
          .replay = "",
          .case_json = ""});
}

void convict_failure(const CheckContext& context, oracle::Verdict& verdict,
                     const ArmTally& baseline, const ArmTally& speculative) {
  refute(context, verdict, *speculative.failed_at, oracle::Label::kNone,
         {.let = "",
          .expected = "a completion, as the baseline gives for all of the " +
                      std::to_string(baseline.completions) + " requests of this setting" +
                      (baseline.lost > 0 ? " whose answers were not lost on their way" : ""),
          .observed = speculative.failed_at->completion.failure,
          .because = "the engine took the request and failed with drafts only",
          .replay = "",
          .case_json = ""});
}

/// Nobody saw what the engine did with these, so no engine is convicted and none is cleared.
void note_lost(oracle::Verdict& verdict, const ArmTally& baseline, const ArmTally& speculative) {
  const Transcript& first =
      speculative.lost_at != nullptr ? *speculative.lost_at : *baseline.lost_at;
  verdict.evidence += "; answers lost on their way: " + std::to_string(speculative.lost) +
                      " of the speculative arm, " + std::to_string(baseline.lost) +
                      " of the baseline";
  verdict.notes.push_back("the first was lost at " + words_of(first) + ": " +
                          first.completion.failure);
  verdict.notes.push_back(
      "what is lost on its way convicts no engine: look at its log and at what stands before it "
      "(proxy, timeouts, limits), and start another run");
}

void settle(const CheckContext& context, oracle::Verdict& verdict, const ArmTally& baseline,
            const ArmTally& speculative, int vocab_size) {
  const Transcript* hard = speculative.hard_at != nullptr ? speculative.hard_at : baseline.hard_at;
  if (hard != nullptr) return convict(context, verdict, *hard, vocab_size);
  const bool has_baseline = baseline.completions > 0;
  if (speculative.failed > 0 && has_baseline && baseline.failed == 0)
    return convict_failure(context, verdict, baseline, speculative);
  if (speculative.soft > 0 && has_baseline && baseline.soft == 0)
    return convict(context, verdict, *speculative.soft_at, vocab_size);
  if (speculative.failed > 0) {
    verdict.notes.push_back("it failed at " + words_of(*speculative.failed_at) + ": " +
                            speculative.failed_at->completion.failure);
    if (has_baseline)
      verdict.notes.push_back("the baseline fails at " + std::to_string(baseline.failed) +
                              " requests as well: no fault of drafts is shown");
    return;
  }
  if (speculative.lost + baseline.lost > 0) return note_lost(verdict, baseline, speculative);
  if (speculative.soft > 0) {
    const auto found = malformation_of(*speculative.soft_at, vocab_size);
    verdict.notes.push_back("expected " + found->expected + ", observed " + found->observed +
                            (has_baseline ? "; the baseline does it too, at " +
                                                std::to_string(baseline.soft) + " requests"
                                          : "; there is no baseline to say whether drafts do it"));
    return;
  }
  verdict.kind = oracle::VerdictKind::kUpheld;
  verdict.smallest_visible_effect =
      visible_share_words(context, speculative.completions, "all completions malformed");
}

}  // namespace

oracle::Verdict well_formed(const CheckContext& context) {
  oracle::Verdict verdict = begun(context);
  const int vocab_size = vocab_size_of(context);
  const ArmTally baseline = tally_of(context, Arm::kBaseline, vocab_size);
  const ArmTally speculative = tally_of(context, Arm::kSpeculative, vocab_size);
  verdict.trials = speculative.completions + speculative.failed + speculative.lost;
  if (verdict.trials == 0) {
    verdict.evidence = "no request of the speculative arm was answered";
    return verdict;
  }
  verdict.evidence = std::to_string(speculative.completions) +
                     " completions of the speculative arm, " + std::to_string(speculative.failed) +
                     " failures; of the baseline " + std::to_string(baseline.completions) + ", " +
                     std::to_string(baseline.failed);
  if (vocab_size == 0)
    verdict.assumption = "the size of the vocabulary is not known: ids are at least 0";
  settle(context, verdict, baseline, speculative, vocab_size);
  return verdict;
}

}  // namespace draftproof::properties::audits
