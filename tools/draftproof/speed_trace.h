// Reader of measured traces: JSON lines (tools/schema/trace.schema.json) to oracle::speed::Trace.
// A line that says nothing that could be counted is damaged: no JSON, a missing or unknown field, a
// wrong type, a negative count, a number beyond reason, a time without a unit or in two. Damage is
// not random (a crash truncates the slowest moment), so a trace with a damaged line is refused,
// with the places of all of them; told to go on, the reader leaves them out and lists them. Counts
// that contradict each other are no damage: they are what the identities are for.
#pragma once

#include <string>
#include <string_view>

#include "oracle/speed/trace.h"

namespace draftproof::tools {

/// Throws Error(kInput) "FILE:LINE: ..." for a damaged line (unless allowed), and always when the
/// first line is no setup or no iteration is left.
oracle::speed::Trace trace_from_json_lines(std::string_view text, const std::string& file,
                                           bool allows_damaged);

}  // namespace draftproof::tools
