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
enum class DraftLawKind : std::uint32_t {
  kLogits = DRAFTPROOF_DRAFT_LOGITS,
  kProbabilities = DRAFTPROOF_DRAFT_PROBABILITIES,
  kOneHot = DRAFTPROOF_DRAFT_ONE_HOT,
};

/// One step of a shaping, four bits in RequestParameters::steps; kEnd ends the list.
enum class StepCode : std::uint32_t {
  kEnd = DRAFTPROOF_STEP_END,
  kTemperature = DRAFTPROOF_STEP_TEMPERATURE,
  kTopK = DRAFTPROOF_STEP_TOP_K,
  kTopP = DRAFTPROOF_STEP_TOP_P,
  kMinP = DRAFTPROOF_STEP_MIN_P,
  kJointTopKTopP = DRAFTPROOF_STEP_JOINT_TOP_K_TOP_P,
};

/// Bits of RequestParameters::flags.
enum RequestFlag : std::uint32_t {
  kGreedy = DRAFTPROOF_REQUEST_GREEDY,
  kTopPOn = DRAFTPROOF_REQUEST_TOP_P,
  kMinPOn = DRAFTPROOF_REQUEST_MIN_P,
  kTopKLowestIds = DRAFTPROOF_REQUEST_TOP_K_LOWEST_IDS,
  kTopPLowestIds = DRAFTPROOF_REQUEST_TOP_P_LOWEST_IDS,
  kOneHotDraft = DRAFTPROOF_REQUEST_ONE_HOT_DRAFT,
};

using RequestParameters = ::draftproof_request;
static_assert(sizeof(RequestParameters) == 64);

/// How RowRecord and the row it describes give the mass of a token.
enum class LawKind : std::uint32_t {
  kMasses = DRAFTPROOF_LAW_MASSES,
  kOneHot = DRAFTPROOF_LAW_ONE_HOT,
  kProbabilities = DRAFTPROOF_LAW_PROBABILITIES,
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
enum class ReasonCode : std::int32_t {
  kNone = DRAFTPROOF_REASON_NONE,
  kAccepted = DRAFTPROOF_REASON_ACCEPTED,
  kRecovered = DRAFTPROOF_REASON_RECOVERED,
  kBonus = DRAFTPROOF_REASON_BONUS,
};

/// What fills the token slots behind the emitted ones.
inline constexpr std::int32_t kNoToken = -1;

using OutcomeRecord = ::draftproof_outcome;
static_assert(sizeof(OutcomeRecord) == 16);

}  // namespace draftproof::gpu::kernels
