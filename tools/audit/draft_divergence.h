// Draft divergence: KL(target || draft) in nats, mean over positions: how far a drafter is from
// what it drafts for, which acceptance alone does not tell (it is the overlap of both laws,
// whatever they give the rest). By both laws where they are known, over the positions of the
// answers that came; else from the logprobs of drafted tokens that an engine told step by step:
// with r = target / draft of a token that was drawn from the draft's law, r log r - r + 1 has the
// divergence for its mean and is never negative. Drafts that are not drawn (the likeliest token)
// give another number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "properties/audits/evidence.h"
#include "properties/audits/known_target.h"
#include "properties/audits/matrix.h"

namespace draftproof::tools::audit {

/// Of one verification, mean over its draft; absent: logprobs are not told of every drafted token,
/// or the draft gives one of them no probability.
std::optional<double> divergence_of(const properties::VerifyStep& step);

struct DraftDivergence {
  double nats = 0;              ///< infinite: the draft never gives what the target may
  std::uint64_t positions = 0;  ///< or drafted tokens
  bool is_exact = false;        ///< by both laws; false: an estimate from logprobs
};

/// Of the cases of this cohort, "all": of every case. Absent: neither both laws are known nor
/// logprobs told.
std::optional<DraftDivergence> draft_divergence(const properties::audits::Matrix& matrix,
                                                const std::string& cohort,
                                                const properties::audits::Evidence& evidence,
                                                const properties::audits::KnownTarget* target,
                                                const properties::audits::KnownTarget* draft);

}  // namespace draftproof::tools::audit
