// Transcript: one request of one arm and what came back, as a value and as a line of JSON (schema
// "draftproof/transcript/1", tools/schema/transcript.schema.json). Everything that is judged of an
// engine is a set of these, so whoever can write the lines can be judged, whatever the engine.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "properties/engine.h"

namespace draftproof::properties {

inline constexpr std::string_view kTranscriptSchema = "draftproof/transcript/1";

/// The address of an observation: a run holds at most one transcript for each.
struct TrialKey {
  Arm arm = Arm::kBaseline;
  std::string case_id;
  std::uint64_t trial = 0;
  /// 0: the trial; 1, 2, ...: the same request, seed included, once more, for what must repeat.
  std::uint32_t repeat = 0;

  friend auto operator<=>(const TrialKey&, const TrialKey&) = default;
};

/// `repeat` of a score: teacher forcing of a trial's answer, for engines whose law nobody knows and
/// for which there is one server only. Its prompt is the trial's prompt and output, nothing is
/// drawn (max_tokens 0, token_ids empty), and Completion::top_logprobs[i] are candidates of token i
/// of that prompt behind the tokens before it, raw (before temperature and filters), the first one
/// without any. Its arm is the trial's: whose answer it scores.
inline constexpr std::uint32_t kScoreRepeat = 0xFFFFFFFF;

struct Transcript {
  TrialKey key;
  SamplingRequest request;  ///< as sent, its seed included
  Completion completion;
  /// Of the completion's logprobs, as whoever recorded it says; kNone: not told, the engine's
  /// capabilities say.
  LogprobKind logprob_kind = LogprobKind::kNone;

  friend bool operator==(const Transcript&, const Transcript&) = default;
};

/// One line without a line break. Numbers round-trip exactly; logprobs of probability 0 are "-inf".
/// What equals its default is left out, but for what every reader wants to see. Text that is not
/// UTF-8 is the one thing that JSON cannot carry: its bad bytes become U+FFFD.
std::string line_of(const Transcript& transcript);

/// Throws Error(kInput) at `place` that names the field and what it may be. Unknown fields are
/// refused, absent optional ones are "not reported".
Transcript transcript_from(std::string_view line, const std::string& place);

}  // namespace draftproof::properties
