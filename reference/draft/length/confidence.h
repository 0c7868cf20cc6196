// Confidence: stopping a draft where the draft model is unsure. Before a token is drawn, by its
// row: Kangaroo's second exit (Liu et al., NeurIPS 2024: largest probability), SVIP (Zhang et al.
// 2024, arXiv:2411.18462: entropy), margins. Or behind a token that was drawn, by its own
// probability, the token staying in the draft: transformers' assistant_confidence_threshold
// (default .4, 2026-02), llama.cpp's p_min (default .75, pushed first and tested then; 2026-04).
#pragma once

#include "reference/draft/length/length_policy.h"

namespace draftproof::reference::draft {

/// No token is drawn where no probability reaches `threshold`.
LengthPolicy stop_before_unsure(const Exact& threshold);
/// No token is drawn where the two largest probabilities are less than `threshold` apart.
LengthPolicy stop_before_close_call(const Exact& threshold);
/// No token is drawn where the square root of the row's entropy in nats exceeds `threshold`.
LengthPolicy stop_before_entropy(double threshold);
/// A token whose probability is below `threshold` is the last one.
LengthPolicy stop_behind_unsure(const Exact& threshold);

}  // namespace draftproof::reference::draft
