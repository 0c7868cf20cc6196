// Status words, as rows.h numbers them for everybody. verifier_buffers.cpp asserts that they are
// those of reference/status.h, of which kernels include nothing.
#pragma once

#include <cstdint>

#include "gpu/kernels/arguments/rows.h"

namespace draftproof::gpu::kernels {

enum class Status : std::uint32_t {
  kOk = DRAFTPROOF_STATUS_OK,
  kNan = DRAFTPROOF_STATUS_NAN,
  kPositiveInfinity = DRAFTPROOF_STATUS_POSITIVE_INFINITY,
  kEmptyRow = DRAFTPROOF_STATUS_EMPTY_ROW,
  kRange = DRAFTPROOF_STATUS_RANGE,
  kBadProbability = DRAFTPROOF_STATUS_BAD_PROBABILITY,
  kDraftTokenRange = DRAFTPROOF_STATUS_DRAFT_TOKEN_RANGE,
  kDraftMassZero = DRAFTPROOF_STATUS_DRAFT_MASS_ZERO,
  kMalformedTree = DRAFTPROOF_STATUS_MALFORMED_TREE,
};

}  // namespace draftproof::gpu::kernels
