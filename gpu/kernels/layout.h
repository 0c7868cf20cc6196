// Layout: the bytes that host and kernels exchange. Plain data, included by both sides; it holds no
// arithmetic, so that nothing a kernel decides is shared with what it is checked against.
//
// Rows of request r start at slot r * (padded_draft_count + 1) on the target side and at slot
// r * padded_draft_count on the draft side; a slot is row_stride elements apart from the next one.
// Slots behind a request's own rows, and elements behind the vocabulary, are never touched.
#pragma once

#include <cstdint>

#include "gpu/kernels/arguments/rows.h"

namespace draftproof::gpu::kernels {

/// How a draft law is written down on the device.
enum class DraftLawKind : std::uint32_t { kLogits = 0, kProbabilities = 1, kOneHot = 2 };

/// One step of a shaping, four bits in RequestParameters::steps; kEnd ends the list.
enum class StepCode : std::uint32_t {
  kEnd = 0,
  kTemperature = 1,
  kTopK = 2,
  kTopP = 3,
  kMinP = 4,
  kJointTopKTopP = 5,
};

/// Bits of RequestParameters::flags.
enum RequestFlag : std::uint32_t {
  kGreedy = 1,          ///< the law is one-hot at the lowest id of the maximum
  kTopPOn = 2,          ///< top_p_* below mean something
  kMinPOn = 4,          ///< min_p_* below mean something
  kTopKLowestIds = 8,   ///< top-k keeps exactly k, lowest ids first; else all boundary ties
  kTopPLowestIds = 16,  ///< top-p keeps lowest ids first inside the boundary value; else all ties
  kOneHotDraft = 32,    ///< fused acceptance: the drafts have one-hot laws, and no rows are read
};

using RequestParameters = ::draftproof_request;
static_assert(sizeof(RequestParameters) == 64);

/// How RowRecord and the row it describes give the mass of a token.
enum class LawKind : std::uint32_t {
  kMasses = 0,         ///< mass of the logit under maximum and scale, when the cut keeps it
  kOneHot = 1,         ///< mass 1 at cut_id
  kProbabilities = 2,  ///< the probability in fixed point
};

using RowRecord = ::draftproof_row_record;
static_assert(sizeof(RowRecord) == 32);

/// Coins handed in: so many columns a target slot. In slot i of a request the accept coin is the
/// one that drafted token i is tested with, all others are those of target row i.
enum CoinColumn : std::uint32_t {
  kAcceptColumn = 0,
  kRecoveredColumn = 1,
  kBonusColumn = 2,
  kTreeLevelColumn = 3,
  kTreeSecondColumn = 4,
};
inline constexpr std::uint32_t kCoinColumns = 3;      ///< of the rules for chains
inline constexpr std::uint32_t kTreeCoinColumns = 5;  ///< of the rules for trees

/// Why a token was emitted; the words of the reasons buffer.
enum class ReasonCode : std::int32_t { kNone = -1, kAccepted = 0, kRecovered = 1, kBonus = 2 };

/// What fills the token slots behind the emitted ones.
inline constexpr std::int32_t kNoToken = -1;

using OutcomeRecord = ::draftproof_outcome;
static_assert(sizeof(OutcomeRecord) == 16);

}  // namespace draftproof::gpu::kernels
