// Explain: verdicts and witnesses as text. One shape for every violation, so that a reader learns
// to read it once: Let, Expected, Observed, Because, Replay.
#pragma once

#include <string>
#include <vector>

#include "oracle/verdict.h"

namespace draftproof::oracle {

/// The five parts under each other, labels aligned, continuation lines indented; parts that are
/// empty are left out. Ends with a newline unless everything is empty.
std::string explain(const Witness& witness);

/// One verdict: "violated  ID  (CLAIM)  EVIDENCE", then its bound, effect, assumption, notes and
/// unsafe observations, then the witness.
std::string explain(const Verdict& verdict);

/// "NOT support-safe (also not: marginal-lossless, sequence-lossless)", or what is upheld, or that
/// nothing was shown: one sentence for a list of verdicts.
std::string headline(const std::vector<Verdict>& verdicts);

/// "race in NAME at PTX line 12 (FILE:7), block 0 warp 1 lanes 0x3: MESSAGE".
std::string describe(const reference::Observation& observation);

}  // namespace draftproof::oracle
