// Grammar validity: structured output is a text of its grammar, drafts or not. A mask that is taken
// from the first row of a verification for all, a grammar's state that is not rolled back behind a
// rejection, a bonus token that is not masked: each shows as a text that no decoding under the
// mask can give. The expression is read over bytes (reference/model/regular_expression.h); an
// output that stopped must match as a whole, one that was cut by its length must be the beginning
// of a match. Where the baseline breaks the expression as well, the engine reads it otherwise, and
// drafts are not to blame.
#include <utility>

#include "properties/audits/findings.h"
#include "properties/audits/words.h"
#include "reference/error.h"
#include "reference/model/regular_expression.h"

namespace draftproof::properties::audits {
namespace {

using reference::model::ByteAutomaton;

struct Tally {
  std::uint64_t judged = 0, whole = 0, broken = 0, without_text = 0, failed = 0;
  const Transcript* first = nullptr;
};

/// Bytes of `text` up to the first that leads nowhere.
std::size_t good_bytes(const ByteAutomaton& automaton, const std::string& text) {
  ByteAutomaton::State state = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    state = automaton.behind(state, std::string_view(text).substr(i, 1));
    if (state == ByteAutomaton::kDead) return i;
  }
  return text.size();
}

bool is_valid(const ByteAutomaton& automaton, const Completion& completion) {
  const auto state = automaton.behind(0, completion.text);
  return completion.end == CompletionEnd::kStop ? automaton.accepts(state)
                                                : state != ByteAutomaton::kDead;
}

Tally tally_of(const CheckContext& context, const ByteAutomaton& automaton, Arm arm) {
  Tally tally;
  for_each_transcript(context, arm, [&](const AuditCase&, const Transcript& transcript) {
    const Completion& completion = transcript.completion;
    if (transcript.request.grammar.empty()) return;
    if (completion.end == CompletionEnd::kFailed) {
      ++tally.failed;
      return;
    }
    if (completion.text.empty() && !completion.token_ids.empty()) {
      ++tally.without_text;
      return;
    }
    ++tally.judged;
    if (completion.end == CompletionEnd::kStop) ++tally.whole;
    if (is_valid(automaton, completion)) return;
    if (tally.broken++ == 0) tally.first = &transcript;
  });
  return tally;
}

oracle::Witness witness_of(const ByteAutomaton& automaton, const Transcript& transcript) {
  const Completion& completion = transcript.completion;
  const std::size_t good = good_bytes(automaton, completion.text);
  const bool has_stopped = completion.end == CompletionEnd::kStop;
  oracle::Witness witness;
  witness.expected =
      (has_stopped ? "a text that matches " : "the beginning of a text that matches ") +
      transcript.request.grammar;
  witness.observed =
      "\"" + completion.text + "\"" + (has_stopped ? ", stopped" : ", cut by length");
  witness.because = good < completion.text.size()
                        ? "byte " + std::to_string(good + 1) + " leads nowhere in the expression"
                        : "the text stopped where the expression is not finished";
  return witness;
}

void settle(const CheckContext& context, oracle::Verdict& verdict, const ByteAutomaton& automaton,
            const Tally& baseline, const Tally& speculative) {
  if (speculative.broken > 0 && baseline.broken > 0) {
    verdict.notes.push_back("the baseline breaks the expression as well (" +
                            of_all(baseline.broken, baseline.judged) +
                            "): the engine reads it otherwise, or does not apply it. " +
                            witness_of(automaton, *baseline.first).observed);
    return;
  }
  if (speculative.broken > 0) {
    refute(context, verdict, *speculative.first, oracle::Label::kLossy,
           witness_of(automaton, *speculative.first));
    if (baseline.judged == 0)
      verdict.notes.push_back(
          "there is no baseline to say that the engine reads the expression "
          "as we do");
    return;
  }
  verdict.kind = oracle::VerdictKind::kUpheld;
  verdict.smallest_visible_effect =
      visible_share_words(context, speculative.judged, "all texts outside of the grammar");
}

}  // namespace

oracle::Verdict grammar_validity(const CheckContext& context) {
  oracle::Verdict verdict = begun(context);
  const std::string& grammar = context.setting.request.grammar;
  if (grammar.empty()) {
    verdict.evidence = "the setting has no grammar";
    return verdict;
  }
  std::optional<ByteAutomaton> automaton;
  try {
    automaton = reference::model::regular_expression(grammar);
  } catch (const Error& error) {
    verdict.evidence =
        "the grammar is no expression that we can read: " + std::string(error.what());
    return verdict;
  }
  const Tally speculative = tally_of(context, *automaton, Arm::kSpeculative);
  const Tally baseline = tally_of(context, *automaton, Arm::kBaseline);
  verdict.trials = speculative.judged;
  if (speculative.judged == 0) {
    verdict.evidence = speculative.without_text > 0
                           ? std::to_string(speculative.without_text) +
                                 " completions came without their text, which the expression is of"
                           : "no completion of the speculative arm came under this grammar";
    return verdict;
  }
  verdict.evidence = of_all(speculative.judged - speculative.broken, speculative.judged) +
                     " texts fit the expression, " + std::to_string(speculative.whole) +
                     " of them whole";
  settle(context, verdict, *automaton, baseline, speculative);
  verdict =
      unless_too_many_lost(speculative.without_text + speculative.failed, speculative.judged,
                           "completions failed or came without their text", std::move(verdict));
  return unless_never_drafted(context, std::move(verdict));
}

}  // namespace draftproof::properties::audits
