// Shaping split: the records of shaping.cu, each row shared by blocks_per_row blocks, for batches
// of fewer rows than the device has room for blocks. One launch; sweeps and tickets are those of
// split_row.cuh, so that no block has to be resident beside another one. What slices find is
// combined by integer atomics in the workspace, and the block that arrives last plans the next
// sweep.
//
// Determinism: gpu_to_gpu, bit for bit, for every number of blocks, block size (a multiple of 32 up
// to 1,024), order and schedule: maxima and sums of integers.
#include <cstdint>

#include "gpu/kernels/arguments/shaping.h"
#include "gpu/kernels/shaping/row_place.cuh"
#include "gpu/kernels/shaping/row_shaper.cuh"
#include "gpu/kernels/shaping/split_row.cuh"

namespace draftproof::gpu::kernels::shaping {

/// One row of logits or probabilities, in slices.
template <class Element>
struct SplitShaper {
  const Element* row;
  std::uint32_t vocab_size;
  std::uint32_t fraction_bits;
  std::uint32_t slice_count;
  const RequestParameters& parameters;
  SplitRow& shared_row;
  SplitScratch& scratch;

  __device__ __forceinline__ std::uint32_t slice_begin(std::uint32_t slice) const {
    const std::uint32_t length = ((vocab_size + slice_count - 1) / slice_count + 7) & ~7u;
    return min(slice * length, vocab_size);
  }

  /// visit(id, logit) for a slice.
  template <class Visit>
  __device__ __forceinline__ void for_each_of_slice(const Visit& visit) const {
    const std::uint32_t begin = slice_begin(scratch.slice);
    for_each_element(row + begin, slice_begin(scratch.slice + 1) - begin,
                     [&](std::uint32_t index, float value) { visit(begin + index, value); });
  }

  __device__ __forceinline__ MassFrame frame() const {
    return mass_frame(scratch.plan.maximum, scratch.plan.scale, fraction_bits);
  }

  __device__ __forceinline__ void add_extreme(std::uint32_t own) const {
    if (threadIdx.x == 0 && own != 0) atomicMax(&shared_row.extreme, own);
  }
  __device__ __forceinline__ void add_sum(std::uint64_t own) const {
    const std::uint64_t sum = block_sum(own, scratch.block);
    if (threadIdx.x == 0) atomicAdd(reinterpret_cast<unsigned long long*>(&shared_row.sum), sum);
  }

  __device__ __forceinline__ void sweep_extent() const {
    constexpr float kInfinity = __builtin_huge_valf();
    float maximum = -kInfinity;
    for_each_of_slice([&](std::uint32_t, float logit) { maximum = max_or_nan(maximum, logit); });
    add_extreme(block_max(maximum == maximum ? key_of(maximum) : 0xffffffffu, scratch.block));
  }

  __device__ __forceinline__ void sweep_lowest_id() const {
    const std::uint32_t key = key_of(scratch.plan.maximum);
    std::uint32_t lowest = kAnyId;
    for_each_of_slice([&](std::uint32_t id, float logit) {
      if (key_of(logit) == key) lowest = min(lowest, id);
    });
    add_extreme(~block_min(lowest, scratch.block));
  }

  __device__ __forceinline__ void sweep_digit() const {
    const SplitPlan& plan = scratch.plan;
    const std::uint32_t shift = plan.shift;
    const std::uint32_t prefix = plan.prefix;
    const bool is_by_mass = plan.is_by_mass != 0;
    const Cut entering = plan.entering;
    const MassFrame own_frame = frame();
    clear_bins(scratch.select);
    __syncthreads();
    for_each_of_slice([&](std::uint32_t id, float logit) {
      const std::uint32_t key = key_of(logit);
      const std::uint32_t above = shift == 24 ? 0 : key >> (shift + 8);
      if (above != prefix || !entering.keeps(key, id)) return;
      const std::uint64_t weight = is_by_mass ? mass_of(logit, own_frame) : 1;
      if (weight != 0) add_to_bin(scratch.select, (key >> shift) & (kBinCount - 1), weight);
    });
    __syncthreads();
    for (std::uint32_t bin = threadIdx.x; bin < kBinCount; bin += blockDim.x) {
      const std::uint64_t weight =
          std::uint64_t{scratch.select.high[bin]} << 32 | scratch.select.low[bin];
      if (weight != 0)
        atomicAdd(reinterpret_cast<unsigned long long*>(&shared_row.bins[bin]), weight);
    }
  }

  __device__ __forceinline__ void sweep_ties() const {
    const std::uint32_t key = scratch.plan.prefix;
    const Cut entering = scratch.plan.entering;
    std::uint64_t own = 0;
    for_each_of_slice([&](std::uint32_t id, float logit) {
      if (key_of(logit) == key && entering.keeps(key, id)) ++own;
    });
    const std::uint64_t count = block_sum(own, scratch.block);
    if (threadIdx.x == 0) shared_row.ties[scratch.slice] = static_cast<std::uint32_t>(count);
  }

  __device__ __forceinline__ void sweep_min_p() const {
    const MassFrame own_frame = frame();
    const Cut entering = scratch.plan.entering;
    const float maximum = scratch.plan.maximum;
    const std::uint64_t least = ceil_fraction(parameters.min_p_mantissa, parameters.min_p_exponent,
                                              mass_of(maximum, own_frame));
    std::uint32_t smallest = key_of(maximum);
    for_each_of_slice([&](std::uint32_t id, float logit) {
      const std::uint32_t key = key_of(logit);
      if (key < smallest && entering.keeps(key, id) && mass_of(logit, own_frame) >= least)
        smallest = key;
    });
    add_extreme(~block_min(smallest, scratch.block));
  }

  __device__ __forceinline__ void sweep_total() const {
    const MassFrame own_frame = frame();
    const Cut cut = scratch.plan.cut;
    std::uint64_t own = 0;
    for_each_of_slice([&](std::uint32_t id, float logit) {
      if (cut.keeps(key_of(logit), id)) own += mass_of(logit, own_frame);
    });
    add_sum(own);
  }

  __device__ __forceinline__ void sweep() const {
    switch (scratch.plan.sweep) {
      case Sweep::kExtent:
        return sweep_extent();
      case Sweep::kLowestId:
        return sweep_lowest_id();
      case Sweep::kDigit:
        return sweep_digit();
      case Sweep::kTies:
        return sweep_ties();
      case Sweep::kMinP:
        return sweep_min_p();
      default:
        return sweep_total();
    }
  }

  /// Plans behind a digit's sweep. Called by the whole block, as are the following.
  __device__ __forceinline__ void finish_digit() const {
    SelectScratch& select = scratch.select;
    for (std::uint32_t bin = threadIdx.x; bin < kBinCount; bin += blockDim.x) {
      const std::uint64_t weight = shared_row.bins[bin];
      select.low[bin] = static_cast<std::uint32_t>(weight);
      select.high[bin] = static_cast<std::uint32_t>(weight >> 32);
      shared_row.bins[bin] = 0;
    }
    __syncthreads();
    const SplitPlan& plan = scratch.plan;
    if (threadIdx.x < kWarpLanes)
      choose_digit(select, [&](std::uint64_t total) -> std::uint64_t {
        if (plan.shift != 24) return plan.remaining;
        return plan.is_by_mass != 0 ? need_of_top_p(parameters, total) : parameters.top_k;
      });
    __syncthreads();
    if (threadIdx.x != 0) return;
    const MassFrame own_frame = frame();
    const bool is_by_mass = plan.is_by_mass != 0;
    SplitPlanner{scratch.plan, parameters}.end_digit(select, [&](float logit) -> std::uint64_t {
      return is_by_mass ? mass_of(logit, own_frame) : 1;
    });
  }

  /// Finds the slice that has the last tie that is kept, and the id there.
  __device__ __forceinline__ void finish_ties() const {
    if (threadIdx.x == 0) {
      std::uint64_t rank = scratch.plan.remaining;
      std::uint32_t slice = 0;
#pragma unroll 1
      for (; slice + 1 < slice_count && rank > shared_row.ties[slice]; ++slice)
        rank -= shared_row.ties[slice];
      scratch.slice = slice;
      scratch.rank = static_cast<std::uint32_t>(rank);
    }
    __syncthreads();
    const std::uint32_t begin = slice_begin(scratch.slice);
    const std::uint32_t key = scratch.plan.prefix;
    // Ids count from the slice's first one: what entered keeps all, or those up to its own id.
    const Cut entering = scratch.plan.entering;
    const bool is_cut = entering.key == key && entering.id != kAnyId;
    const std::uint32_t found =
        id_of_tie(row + begin, slice_begin(scratch.slice + 1) - begin, RawLogits{},
                  {key, is_cut ? entering.id - begin : kAnyId}, key, scratch.rank, scratch.select);
    if (threadIdx.x == 0)
      SplitPlanner{scratch.plan, parameters}.end_filter(
          {key, found == kAnyId ? kAnyId : begin + found});
  }

  /// Thread 0 plans behind the largest key.
  __device__ __forceinline__ Status finish_extent(std::uint32_t key) const {
    const Status status = status_of(key);
    SplitPlanner planner{scratch.plan, parameters};
    if (status != Status::kOk) {
      planner.end_with(status);
    } else if ((parameters.flags & kGreedy) != 0) {
      scratch.plan.maximum = logit_of(key);
      scratch.plan.sweep = Sweep::kLowestId;
    } else {
      planner.begin(key);
    }
    return planner.status;
  }

  /// Ends the sweep that all slices have arrived from; true when that leaves the record.
  __device__ __forceinline__ bool finish(RowRecord& record) const {
    const Sweep sweep = scratch.plan.sweep;
    __syncthreads();  // the plan changes below
    if (sweep == Sweep::kDigit) finish_digit();
    if (sweep == Sweep::kTies) finish_ties();
    if (threadIdx.x == 0) {
      SplitPlan& plan = scratch.plan;
      const std::uint32_t extreme = shared_row.extreme;
      Status status = Status::kOk;
      record = {};
      if (sweep == Sweep::kExtent) status = finish_extent(extreme);
      if (sweep == Sweep::kMinP) {
        plan.cut = tighter(plan.entering, {~extreme, kAnyId});
        SplitPlanner{plan, parameters}.next();
      }
      if (sweep == Sweep::kLowestId) {
        record = {1,
                  plan.maximum,
                  0.0f,
                  key_of(plan.maximum),
                  ~extreme,
                  0,
                  static_cast<std::uint32_t>(LawKind::kOneHot)};
        plan.sweep = Sweep::kNone;
      }
      if (sweep == Sweep::kTotal) {
        record = {shared_row.sum,
                  plan.maximum,
                  plan.scale,
                  plan.cut.key,
                  plan.cut.id,
                  0,
                  static_cast<std::uint32_t>(LawKind::kMasses)};
        plan.sweep = Sweep::kNone;
      }
      if (plan.sweep == Sweep::kNone && sweep != Sweep::kLowestId && sweep != Sweep::kTotal)
        record = without_law(status != Status::kOk ? status : Status::kRange);
    }
    __syncthreads();
    return scratch.plan.sweep == Sweep::kNone;
  }
};

/// A row of probabilities: one sweep.
struct SplitProbabilities {
  SplitShaper<float> shaper;

  __device__ __forceinline__ void sweep() const {
    std::uint64_t own = 0;
    std::uint32_t is_bad = 0;
    shaper.for_each_of_slice([&](std::uint32_t, float probability) {
      if (probability_is_valid(probability))
        own += mass_of_probability(probability, shaper.fraction_bits);
      else
        is_bad = 1;
    });
    shaper.add_extreme(block_max(is_bad, shaper.scratch.block));
    shaper.add_sum(own);
  }

  __device__ __forceinline__ bool finish(RowRecord& record) const {
    if (threadIdx.x != 0) return true;
    const std::uint64_t total = shaper.shared_row.sum;
    if (shaper.shared_row.extreme != 0)
      record = without_law(Status::kBadProbability);
    else if (total == 0)
      record = without_law(Status::kEmptyRow);
    else
      record = {
          total, 0.0f, 0.0f, 0, kAnyId, 0, static_cast<std::uint32_t>(LawKind::kProbabilities)};
    return true;
  }
};

template <class Shaper>
__device__ __forceinline__ void share_row(const Shaper& shaper, SplitRow& row,
                                          std::uint32_t slice_count, RowRecord* record,
                                          SplitScratch& scratch) {
#pragma unroll 1
  while (draw_slice(row, slice_count, scratch)) {
    shaper.sweep();
    if (!arrives_last(row, slice_count, scratch)) continue;
    RowRecord result{};
    const bool is_done = shaper.finish(result);
    if (is_done && threadIdx.x == 0) *record = result;
    publish(row, is_done, scratch);
  }
  leave_row(row, slice_count);
}

template <class Element>
__device__ __forceinline__ void shape_split_row(const draftproof_shape_rows_arguments& arguments,
                                                SplitScratch& scratch) {
  const std::uint32_t slice_count = gridDim.x / row_slots(arguments);
  const std::uint32_t index = blockIdx.x / slice_count;
  const RowPlace place = place_of_row(arguments, index);
  if (!place.is_used) return;
  SplitRow& row = reinterpret_cast<SplitRow*>(arguments.workspace)[index];
  const std::uint32_t fraction_bits = fraction_bits_for(arguments.vocab_size);
  const RequestParameters& parameters = place.parameters(arguments);
  if (place.has_probabilities(arguments))
    share_row(SplitProbabilities{{place.elements<float>(arguments), arguments.vocab_size,
                                  fraction_bits, slice_count, parameters, row, scratch}},
              row, slice_count, place.record(arguments), scratch);
  else
    share_row(SplitShaper<Element>{place.elements<Element>(arguments), arguments.vocab_size,
                                   fraction_bits, slice_count, parameters, row, scratch},
              row, slice_count, place.record(arguments), scratch);
}

}  // namespace draftproof::gpu::kernels::shaping

/// One entry for each storage format. The grid is one-dimensional: blocks_per_row blocks for each
/// target slot, and as many for each draft slot when the drafts come with rows.
#define DRAFTPROOF_SHAPE_ROWS_SPLIT(name, Element)                              \
  extern "C" __global__ void __launch_bounds__(1024, 1)                         \
      name(const __grid_constant__ draftproof_shape_rows_arguments arguments) { \
    using namespace draftproof::gpu::kernels;                                   \
    __shared__ shaping::SplitScratch scratch;                                   \
    shaping::shape_split_row<Element>(arguments, scratch);                      \
  }

DRAFTPROOF_SHAPE_ROWS_SPLIT(draftproof_shape_rows_split_f32, Float32)
DRAFTPROOF_SHAPE_ROWS_SPLIT(draftproof_shape_rows_split_bf16, Bfloat16)
DRAFTPROOF_SHAPE_ROWS_SPLIT(draftproof_shape_rows_split_f16, Float16)
