// Walk: where along its draft a request stops, and what is written when it has. Shared by the
// rules, which differ in how they judge one position.
//
// The lanes of warp 0 judge 32 positions at a time, each from its own row alone; the first position
// that does not go on decides. Positions behind a placeholder, or behind the draft, are not looked
// at; those behind a rejection may be read, and cannot be heard.
#pragma once

#include <cstdint>

#include "gpu/kernels/layout.h"
#include "gpu/kernels/locate.cuh"
#include "gpu/kernels/row.cuh"
#include "gpu/kernels/status.cuh"

namespace draftproof::gpu::kernels::verify {

/// What one position says.
enum class Answer : std::uint32_t { kAccepted, kRejected, kDraftEnded, kCannotBeJudged };

/// Where a walk stopped, and why; status is kOk unless the answer is kCannotBeJudged.
struct Stop {
  std::uint32_t position;
  Answer answer;
  Status status;
};

__device__ __forceinline__ Stop stop_for(std::uint32_t position, Status status) {
  return {position, Answer::kCannotBeJudged, status};
}

/// The parameters that the rules' entries have in common.
struct Drafts {
  const std::int32_t* tokens;  ///< of this request
  std::uint32_t count;
  std::uint32_t vocab_size;
};

/// Walks one request. judge(position, token) answers for a drafted token that is a token id,
/// judge_end(position) for the position at which the draft ends. Called by a whole warp; the answer
/// is valid in all its lanes.
template <class Judge, class JudgeEnd>
__device__ __forceinline__ Stop walk(const Drafts& drafts, const Judge& judge,
                                     const JudgeEnd& judge_end) {
  const std::uint32_t lane = threadIdx.x % kWarpLanes;
#pragma unroll 1
  for (std::uint32_t first = 0;; first += kWarpLanes) {
    const std::uint32_t position = first + lane;
    const std::int32_t token = position < drafts.count ? drafts.tokens[position] : kNoToken;
    const std::uint32_t ends = __ballot_sync(0xffffffffu, token == kNoToken);
    const std::uint32_t end_lane = ends == 0 ? kWarpLanes : __ffs(static_cast<int>(ends)) - 1;
    Stop own{position, Answer::kAccepted, Status::kOk};
    if (lane < end_lane) {
      const std::uint32_t id = static_cast<std::uint32_t>(token);
      own = id < drafts.vocab_size ? judge(position, id)
                                   : stop_for(position, Status::kDraftTokenRange);
    } else if (lane == end_lane) {
      own = judge_end(position);
    }
    const std::uint32_t stops = __ballot_sync(0xffffffffu, own.answer != Answer::kAccepted);
    if (stops == 0) continue;
    const int stop_lane = __ffs(static_cast<int>(stops)) - 1;
    return {first + stop_lane,
            static_cast<Answer>(
                __shfl_sync(0xffffffffu, static_cast<std::uint32_t>(own.answer), stop_lane)),
            static_cast<Status>(
                __shfl_sync(0xffffffffu, static_cast<std::uint32_t>(own.status), stop_lane))};
  }
}

/// Where a rule writes. tokens and reasons are those of this request: slot_count words each.
struct Output {
  std::int32_t* tokens;
  std::int32_t* reasons;
  OutcomeRecord* outcome;
  std::uint32_t slot_count;
};

/// Writes everything but the drawn token: the accepted prefix, and kNoToken behind the slot of the
/// drawn token, or from there on when the walk ended with a status. Called by the whole block.
__device__ __forceinline__ void write_prefix(const Output& output, const Drafts& drafts,
                                             const Stop& stop) {
  const bool draws = stop.answer != Answer::kCannotBeJudged;
  for (std::uint32_t slot = threadIdx.x; slot < output.slot_count; slot += blockDim.x) {
    if (draws && slot == stop.position) continue;
    const bool is_accepted = slot < stop.position;
    output.tokens[slot] = is_accepted ? drafts.tokens[slot] : kNoToken;
    output.reasons[slot] =
        static_cast<std::int32_t>(is_accepted ? ReasonCode::kAccepted : ReasonCode::kNone);
  }
}

/// Writes the drawn token, if there is one, and the outcome. Called by one thread.
__device__ __forceinline__ void write_outcome(const Output& output, const Stop& stop,
                                              const Located& drawn) {
  Status status = stop.status;
  if (stop.answer != Answer::kCannotBeJudged) {
    // After a rejection the residual cannot be empty, and a row with a law weighs something; a
    // draw that finds nothing is reported all the same and never becomes a token.
    if (!drawn.is_found) status = Status::kEmptyRow;
    const bool is_bonus = stop.answer == Answer::kDraftEnded;
    output.tokens[stop.position] = drawn.is_found ? static_cast<std::int32_t>(drawn.id) : kNoToken;
    output.reasons[stop.position] = static_cast<std::int32_t>(
        !drawn.is_found ? ReasonCode::kNone
                        : (is_bonus ? ReasonCode::kBonus : ReasonCode::kRecovered));
  }
  const bool is_ok = status == Status::kOk;
  *output.outcome = {stop.position, stop.position + (is_ok ? 1u : 0u),
                     static_cast<std::uint32_t>(status), is_ok ? 0u : stop.position};
}

}  // namespace draftproof::gpu::kernels::verify
