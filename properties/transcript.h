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

/// The address of an observation: a run holds at most one transcript for each.
struct TrialKey {
  Arm arm = Arm::kBaseline;
  std::string case_id;
  std::uint64_t trial = 0;
  /// 0: the trial; 1, 2, ...: the same request, seed included, once more, for what must repeat.
  std::uint32_t repeat = 0;

  friend auto operator<=>(const TrialKey&, const TrialKey&) = default;
};

struct Transcript {
  TrialKey key;
  SamplingRequest request;  ///< as sent, its seed included
  Completion completion;

  friend bool operator==(const Transcript&, const Transcript&) = default;
};

/// One line without a line break. Numbers round-trip exactly; logprobs of probability 0 are "-inf".
std::string line_of(const Transcript& transcript);

/// Throws Error(kInput) at `place` that names the field and what it may be. Unknown fields are
/// refused, absent optional ones are "not reported".
Transcript transcript_from(std::string_view line, const std::string& place);

}  // namespace draftproof::properties
