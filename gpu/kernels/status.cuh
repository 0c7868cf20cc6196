// Status words, as reference/status.h numbers them. Written down a second time, because kernels
// include nothing of the reference; verifiers.cpp asserts that both lists agree.
#pragma once

#include <cstdint>

namespace draftproof::gpu::kernels {

enum class Status : std::uint32_t {
  kOk = 0,
  kNan = 1,
  kPositiveInfinity = 2,
  kEmptyRow = 3,
  kRange = 4,
  kBadProbability = 5,
  kDraftTokenRange = 6,
  kDraftMassZero = 7,
  kMalformedTree = 8,
};

}  // namespace draftproof::gpu::kernels
