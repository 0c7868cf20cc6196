// Scores: answers that were read once more, prompt and output together, without drawing: the rows
// behind every prefix. What is made of them must not depend on the token that came: servers report
// so many likeliest candidates and the token's own besides, and whoever counts that one as a cell
// finds every token in a cell.
#pragma once

#include <string>
#include <vector>

#include "properties/audits/check.h"

namespace draftproof::properties::audits {

inline constexpr const char* kWhatRescoringJudges =
    "answers are held to rows that are computed when they are read again (by the server itself, or "
    "by the scorer that the report names): this judges acceptance and state, not the model, and a "
    "fault that reading shares with drafting is not seen";

/// Of the trial; null: it was not scored, or that failed.
const Transcript* score_of(const CheckContext& context, const TrialKey& key);

/// Whether an answer without a score lost it. Only the first trials of a case are read again, so
/// those behind the last one with a score were not asked for; and of an empty answer there is
/// nothing to read.
bool has_lost_its_score(const CheckContext& context, const Transcript& answer);

/// Why nothing can be made of this score of an answer; empty: something can.
std::string score_obstacle(const Transcript& score, const Transcript& answer);

/// The candidates that were asked for of token `index` of prompt and output, likeliest first: the
/// whole row, or the first logprob_count of the score's request without the token's own where it is
/// none of them. Empty: how many were asked for is not told.
std::vector<TokenLogprob> candidates_at(const Transcript& score, std::size_t index,
                                        std::size_t vocab_size);

}  // namespace draftproof::properties::audits
