// RequestParameters: what the host decides of one request for the kernels, and nothing else: greedy
// or not, the scale as one rounding of log2(e) / temperature, filters that are off, and exact
// fractions as integers. The verifiers and the C interface ask the same function.
#pragma once

#include <cstddef>

#include "gpu/kernels/layout.h"
#include "reference/proposal.h"

namespace draftproof::gpu {

/// The record without its draft and coins, which are 0. Precondition: temperature >= 0, and nothing
/// is NaN.
kernels::RequestParameters request_parameters(const reference::Sampling& sampling,
                                              const reference::Preset& preset,
                                              std::size_t vocab_size);

/// The same of a request that is greedy whatever its sampling says.
kernels::RequestParameters greedy_parameters(const reference::Preset& preset);

}  // namespace draftproof::gpu
