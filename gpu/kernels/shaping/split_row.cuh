// Split row: what the blocks that share one row know of it, in the workspace. The shaping of a row
// is a list of sweeps, each over all slices of the row; a sweep is planned by whoever finished the
// one before. Tickets hand out slices, sweep after sweep: who draws a slice of a sweep that is not
// planned yet waits for blocks that drew earlier tickets, which therefore run. So waiting ends
// however few blocks are resident, and one block alone can do it all.
//
// A workspace is zero before its first launch. Every launch leaves those words zero that the next
// one finds there; what is written before it is read (ties, the rest of the plan) stays.
#pragma once

#include <cstdint>

#include "gpu/kernels/arguments/shaping.h"
#include "gpu/kernels/block.cuh"
#include "gpu/kernels/layout.h"
#include "gpu/kernels/mass.cuh"
#include "gpu/kernels/row.cuh"
#include "gpu/kernels/shaping/row_shaper.cuh"
#include "gpu/kernels/shaping/select.cuh"
#include "gpu/kernels/shaping/shaping_anchor.cuh"

namespace draftproof::gpu::kernels::shaping {

/// Slices of a row at most.
inline constexpr std::uint32_t kSplitMax = 64;
/// `planned` of a row whose record is written.
inline constexpr std::uint32_t kAllDone = 0xffffffffu;

/// What one sweep finds out.
enum class Sweep : std::uint32_t {
  kExtent,    ///< the largest key; of a row of probabilities: their sum, and whether one is bad
  kLowestId,  ///< of the largest key
  kDigit,     ///< how the next digit of a filter's key is spread
  kTies,      ///< how often a filter's key occurs, slice by slice
  kMinP,      ///< the smallest key that min-p keeps
  kTotal,     ///< the mass of what is kept
  kNone       ///< the record is known
};

/// Where the walk over a request's steps is.
struct SplitPlan {
  Sweep sweep;
  std::uint32_t step;   ///< steps before this one are done
  std::uint32_t stage;  ///< filters of this step that are done, in the order top-k, top-p, min-p
  std::uint32_t is_by_mass;  ///< the filter in work is top-p, else top-k
  std::uint32_t shift;       ///< of the digit
  std::uint32_t prefix;      ///< digits chosen so far
  std::uint64_t remaining;   ///< what the digits below have to bring; the rank among ties
  Cut entering;              ///< what the step works on
  Cut cut;                   ///< what is kept so far
  float maximum;
  float scale;
};

/// One row's part of the workspace.
struct alignas(128) SplitRow {
  std::uint32_t ticket;
  std::uint32_t planned;  ///< sweeps finished so far, or kAllDone
  std::uint32_t arrived;  ///< slices of this sweep that are done
  std::uint32_t left;     ///< blocks that will draw no ticket any more
  SplitPlan plan;
  std::uint64_t sum;
  std::uint32_t extreme;
  std::uint32_t ties[kSplitMax];
  std::uint64_t bins[kBinCount];
};

static_assert(sizeof(SplitRow) == DRAFTPROOF_SPLIT_ROW_BYTES);
static_assert(kSplitMax == DRAFTPROOF_SPLIT_MAX);

/// Shared memory of a block.
struct SplitScratch {
  BlockScratch block;
  SelectScratch select;
  SplitPlan plan;
  std::uint32_t planned;  ///< what thread 0 read
  std::uint32_t sweep_number;
  std::uint32_t slice;
  std::uint32_t is_last;
  std::uint32_t rank;
};

/// Plans the sweeps of one row's request.
struct SplitPlanner {
  SplitPlan& plan;
  const RequestParameters& parameters;
  Status status = Status::kOk;  ///< why the row has no law

  __device__ __forceinline__ bool has(std::uint32_t flag) const {
    return (parameters.flags & flag) != 0;
  }

  __device__ __forceinline__ void end_with(Status why) {
    status = why;
    plan.sweep = Sweep::kNone;
  }

  __device__ __forceinline__ void begin_filter(bool is_by_mass) {
    plan.sweep = Sweep::kDigit;
    plan.is_by_mass = is_by_mass ? 1 : 0;
    plan.shift = 24;
    plan.prefix = 0;
    plan.remaining = 0;
  }

  /// Behind the largest key.
  __device__ __forceinline__ void begin(std::uint32_t key) {
    plan.maximum = logit_of(key);
    plan.scale = parameters.initial_scale;
    plan.cut = kNothingCut;
    plan.step = 0;
    plan.stage = 0;
    next();
  }

  /// The next sweep that the steps ask for.
  __device__ __forceinline__ void next() {
#pragma unroll 1
    for (;;) {
      const std::uint64_t steps = plan.step < 16 ? parameters.steps >> (4 * plan.step) : 0;
      const bool is_resolved = in_range(plan.maximum, plan.scale);
      if (steps == 0) {
        plan.sweep = Sweep::kTotal;
        if (!is_resolved) end_with(Status::kRange);
        return;
      }
      const StepCode step = static_cast<StepCode>(steps & 15);
      const bool is_joint = step == StepCode::kJointTopKTopP;
      const std::uint32_t stage = plan.stage++;
      if (stage == 0) {
        plan.entering = plan.cut;
        if (step == StepCode::kTemperature) plan.scale = parameters.scale;
        if ((is_joint || step == StepCode::kTopK) && parameters.top_k != 0)
          return begin_filter(false);
      } else if (stage == 1) {
        if ((is_joint || step == StepCode::kTopP) && has(kTopPOn))
          return is_resolved ? begin_filter(true) : end_with(Status::kRange);
      } else if (stage == 2) {
        plan.sweep = Sweep::kMinP;
        if (step == StepCode::kMinP && has(kMinPOn)) {
          if (!is_resolved) end_with(Status::kRange);
          return;
        }
      } else {
        plan.stage = 0;
        ++plan.step;
      }
    }
  }

  /// Behind a filter that leaves `result` of what entered the step.
  __device__ __forceinline__ void end_filter(Cut result) {
    plan.cut = plan.is_by_mass != 0 ? tighter(plan.cut, result) : result;
    next();
  }

  /// Behind the sweep for a digit; `weight_of` weighs one logit.
  template <class WeightOf>
  __device__ __forceinline__ void end_digit(const SelectScratch& chosen,
                                            const WeightOf& weight_of) {
    if (chosen.is_short != 0) return end_filter(plan.entering);
    plan.prefix = plan.prefix << 8 | chosen.digit;
    plan.remaining = chosen.remaining;
    if (plan.shift != 0) {
      plan.shift -= 8;
      return;
    }
    const Ties ties = ties_of(parameters, plan.is_by_mass != 0 ? kTopPLowestIds : kTopKLowestIds);
    if (ties == Ties::kKeepAll)
      return end_filter(
          {plan.prefix, plan.prefix == plan.entering.key ? plan.entering.id : kAnyId});
    const std::uint64_t weight = weight_of(logit_of(plan.prefix));
    plan.remaining = (plan.remaining + weight - 1) / weight;
    plan.sweep = Sweep::kTies;
  }
};

/// Draws the next slice; false when the row is done.
__device__ __forceinline__ bool draw_slice(SplitRow& row, std::uint32_t slice_count,
                                           SplitScratch& scratch) {
  __syncthreads();  // what the sweep before left in scratch has been read
  if (threadIdx.x == 0) {
    const std::uint32_t ticket = atomicAdd(&row.ticket, 1u);
    std::uint32_t number = ticket / slice_count;
    shaping_anchor::sweep_number(number);
    std::uint32_t planned = 0;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                   : "=r"(planned)
                   : "l"(&row.planned)
                   : "memory");
    } while (planned < number);
    scratch.planned = planned;
    scratch.sweep_number = number;
    scratch.slice = ticket % slice_count;
    if (planned != kAllDone) scratch.plan = row.plan;
  }
  __syncthreads();
  return scratch.planned != kAllDone;
}

/// True in all threads of the block that arrives last from a sweep.
__device__ __forceinline__ bool arrives_last(SplitRow& row, std::uint32_t slice_count,
                                             SplitScratch& scratch) {
  __syncthreads();  // everything of this slice is handed in
  if (threadIdx.x == 0) {
    std::uint32_t last = slice_count - 1;
    shaping_anchor::last_arrival(last);
    __threadfence();
    scratch.is_last = atomicAdd(&row.arrived, 1u) == last ? 1 : 0;
    __threadfence();
  }
  __syncthreads();
  return scratch.is_last != 0;
}

/// Lets the blocks of the row go on behind a finished sweep.
__device__ __forceinline__ void publish(SplitRow& row, bool is_done, const SplitScratch& scratch) {
  __syncthreads();  // bins are cleared
  if (threadIdx.x != 0) return;
  row.plan = scratch.plan;
  row.arrived = 0;
  row.extreme = 0;
  row.sum = 0;
  __threadfence();
  const std::uint32_t planned = is_done ? kAllDone : scratch.sweep_number + 1;
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(&row.planned), "r"(planned) : "memory");
}

/// The last block to leave the row clears its part of the workspace for the next launch.
__device__ __forceinline__ void leave_row(SplitRow& row, std::uint32_t block_count) {
  if (threadIdx.x != 0) return;
  __threadfence();
  if (atomicAdd(&row.left, 1u) != block_count - 1) return;
  __threadfence();
  row.ticket = 0;
  row.planned = 0;
  row.left = 0;
  row.plan.sweep = Sweep::kExtent;
}

}  // namespace draftproof::gpu::kernels::shaping
