// Findings: what audits over transcripts share: walking the trials of a setting in one order, and
// telling a verdict. An order that is fixed keeps verdicts functions of the set of transcripts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "properties/audits/check.h"

namespace draftproof::properties::audits {

/// One trial that both arms have answered.
struct PairedTrial {
  const AuditCase* audit_case = nullptr;
  const Transcript* baseline = nullptr;
  const Transcript* speculative = nullptr;
};

/// Of these cases, shortest prompts first, then in the order of the matrix and of trials. `seeding`
/// absent: all cases. A completion that failed is a transcript as well.
std::vector<PairedTrial> paired_trials(const CheckContext& context,
                                       std::optional<Seeding> seeding = {});

/// Every transcript of an arm in the same order, repeats behind their trial. Repeats end at the
/// first number that no trial has.
void for_each_transcript(const CheckContext& context, Arm arm,
                         const std::function<void(const AuditCase&, const Transcript&)>& visit);

/// What the speculative arm says that it drafted in this setting; absent: it says nothing.
std::optional<std::int64_t> drafted_tokens(const CheckContext& context);

/// An upheld verdict about drafts that were never made is none: NOT EXERCISED, inconclusive. Others
/// are left as they are.
oracle::Verdict unless_never_drafted(const CheckContext& context, oracle::Verdict verdict);

/// Whether so many of the requests that were judged, or should have been, had no answer that what
/// is left is no ground to uphold anything on: theirs may be those that show it. More than one in a
/// hundred of those that had one.
inline bool are_too_many_lost(std::uint64_t lost, std::uint64_t judged) {
  return lost > judged / 100;
}

/// An upheld verdict of which too many were lost is inconclusive, and says so; `what` was:
/// "requests had no answer". Others get a note where any were.
oracle::Verdict unless_too_many_lost(std::uint64_t lost, std::uint64_t judged,
                                     const std::string& what, oracle::Verdict verdict);

/// "case t0/two_token, trial 3 (seed 7): prompt 1 2, temperature 0, 8 tokens"
std::string words_of(const Transcript& transcript);

/// Violated, with the witness; its `let` is the transcript's words when empty, its replay line the
/// settings' with "{case}" replaced: by what it is, where it names another case than the
/// transcript's.
void refute(const CheckContext& context, oracle::Verdict& verdict, const Transcript& transcript,
            oracle::Label label, oracle::Witness witness);

/// "a share of 0.0012 of all tokens": the least share that `count` of them would have shown one of
/// with probability 1 - miss. Precondition: count > 0.
std::string visible_share_words(const CheckContext& context, std::uint64_t count,
                                const std::string& things);

/// Vocabulary by the known law, else by the engine; 0: nobody says.
int vocab_size_of(const CheckContext& context);

/// "3 of 40"
std::string of_all(std::uint64_t part, std::uint64_t all);

/// Tokens before the first difference, for outputs that differ in their tokens.
std::optional<std::size_t> first_difference(const Completion& one, const Completion& other);

}  // namespace draftproof::properties::audits
