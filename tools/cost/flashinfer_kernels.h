// FlashInfer's way from logits to probabilities, which its own chain kernel and SGLang's tree
// kernel both stand behind.
#pragma once

#include <string>

#include "tools/cost/input.h"
#include "tools/cost/peer_kernels.h"

namespace draftproof::tools::cost {

/// Softmax of `rows` rows of `logits`, renormalised after top-k and top-p where the shape has
/// filters. Returns the label of the buffer with the probabilities. `kernels`: of the folder
/// flashinfer.
std::string probabilities(PeerKernels& kernels, const Shape& shape, std::size_t rows,
                          const gpu::Argument& logits);

/// Why these kernels do not take such a batch; empty when they do.
std::string flashinfer_refusal(const Shape& shape);

/// Dynamic shared memory of the sampling kernels of FlashInfer and SGLang.
inline constexpr std::uint32_t kSamplingSharedBytes = 2080;

}  // namespace draftproof::tools::cost
