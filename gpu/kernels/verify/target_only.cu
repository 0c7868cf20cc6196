// Target-only verification of trees on the device: one coin a level against the summed target
// masses of the children (rule and order of judging are those of reference/verify/target_only.h).
// One block a request, after a shape_rows launch; masses are recomputed from the logits and the
// target rows' records. Draft rows are not read.
//
//   taken      the first child i with scaled(level coin, sum T) < T of the distinct tokens of
//              children 0 .. i
//   recovered  first v with scaled(second coin, sum T') < T'_0 + ... + T'_v, T' = T without them
//   bonus      the same on T, where there are no children
//
// One warp walks, from one logit a child; only the row that yields the drawn token is read in full,
// as it is: what the children take away is subtracted from the sums of the segments that they lie
// in. Determinism: gpu_to_gpu, bit for bit, for every block size (a multiple of 32 up to 1,024),
// order and schedule: all sums are integers.
#include <cstdint>

#include "gpu/kernels/locate.cuh"
#include "gpu/kernels/verify/tree_walk.cuh"

namespace draftproof::gpu::kernels::verify {

struct TargetOnlyScratch {
  TreeStop stop;
  LocateScratch<std::uint64_t> drawn;
};

/// True where a child among earlier nodes of its place carries the token of this lane's child.
__device__ __forceinline__ bool is_repeated(const Tree& tree, const Place& place,
                                            std::uint32_t first, const Child& child) {
  const std::uint32_t lane = threadIdx.x % kWarpLanes;
  // Token ids are below 2^31, so that no lane without a child meets one with a child.
  const std::uint32_t own = child.is_child ? child.token : 0xffffffffu - lane;
  std::uint32_t is_met = (__match_any_sync(0xffffffffu, own) & ((1u << lane) - 1)) != 0 ? 1 : 0;
  for_children(tree, place, [&](std::uint32_t earlier, const Child& other) {
    if (earlier >= first) return false;
    std::uint32_t left = __ballot_sync(0xffffffffu, other.is_child);
    for (; left != 0; left &= left - 1) {
      const int from = __ffs(static_cast<int>(left)) - 1;
      if (__shfl_sync(0xffffffffu, other.token, from) == own) is_met = 1;
    }
    return true;
  });
  tree_anchor::repeated(is_met);
  return is_met != 0;
}

/// What the children of a place take away from its row.
template <class Element>
struct StruckChildren {
  static constexpr bool kAreThere = true;
  const Tree& tree;
  const Place& place;
  const LogitLaw<Element>& target;

  template <class Visit>
  __device__ __forceinline__ void for_each(const Visit& visit) const {
    for_children(tree, place, [&](std::uint32_t first, const Child& child) {
      const bool repeats = is_repeated(tree, place, first, child);
      const bool counts = child.is_child && !repeats;
      visit(counts, child.token, counts ? std::uint64_t{0} - target.mass(child.token) : 0);
      return true;
    });
  }
};

/// One request: its tree, its target rows, its coins.
template <class Element>
struct TargetOnly {
  const Rows<Element>& rows;
  const CoinSource& coins;
  const Tree& tree;

  __device__ __forceinline__ std::uint64_t coin(const Place& place, CoinPurpose purpose) const {
    return coins.row_coin(place.row(), place.depth, purpose);
  }

  __device__ __forceinline__ TreeStep judge(const Place& place, const Children& children) const {
    const RowRecord record = rows.target_record(place.row());
    if (record.status != 0) return fails(static_cast<Status>(record.status));
    TreeStep step = ends(children);
    if (children.count == 0) return step;
    const LogitLaw<Element> target = rows.target_law(place.row(), record);
    const std::uint64_t point = scaled(coin(place, CoinPurpose::kTreeLevel), record.total);
    std::uint64_t before = 0;
    for_children(tree, place, [&](std::uint32_t first, const Child& child) {
      const bool repeats = is_repeated(tree, place, first, child);
      const bool counts = child.is_child && !repeats;
      const std::uint64_t own = counts ? target.mass(child.token) : 0;
      const std::uint64_t through = before + warp_prefix(own);
      const std::uint32_t met = __ballot_sync(0xffffffffu, child.is_child && point < through);
      before = exchange_from(through, 31);
      if (met == 0) return true;
      step = takes(first_marked(first, met));
      return false;
    });
    return step;
  }

  /// The recovered or bonus token; valid in warp 0. Called by the whole block.
  __device__ __forceinline__ Located draw(const TreeStop& stop,
                                          LocateScratch<std::uint64_t>& scratch) const {
    const std::uint32_t row = stop.place.row();
    const RowRecord record = rows.target_record(row);
    // All mass on one token: it is no child's, or it would have been taken.
    if (record.kind == static_cast<std::uint32_t>(LawKind::kOneHot)) return {true, record.cut_id};
    const LogitLaw<Element> target = rows.target_law(row, record);
    std::uint32_t purpose = static_cast<std::uint32_t>(
        stop.answer == Answer::kDraftEnded ? CoinPurpose::kBonus : CoinPurpose::kTreeSecond);
    tree_anchor::second_coin(purpose);
    const std::uint64_t own_coin = coin(stop.place, static_cast<CoinPurpose>(purpose));
    const auto weight = [&](std::uint32_t id) { return target.spread_mass(id); };
    const auto threshold_of = [&](std::uint64_t total) { return scaled(own_coin, total); };
    const StruckChildren<Element> struck{tree, stop.place, target};
    return locate<std::uint64_t>(tree.vocab_size, weight, threshold_of, scratch, struck);
  }

  __device__ __forceinline__ void run(const TreeOutput& output, TargetOnlyScratch& scratch) const {
    if (threadIdx.x < kWarpLanes) {
      const TreeStop stop = walk_tree(
          tree, output,
          [&](const Place& place, const Children& children) { return judge(place, children); });
      if (threadIdx.x == 0) scratch.stop = stop;
    }
    __syncthreads();
    const TreeStop stop = scratch.stop;
    write_tree_rest(output, stop);
    Located drawn{false, 0};
    if (stop.draws()) drawn = draw(stop, scratch.drawn);
    if (threadIdx.x == 0) write_tree_outcome(output, stop, drawn);
  }
};

}  // namespace draftproof::gpu::kernels::verify

/// One entry for each storage format. One block a request, a multiple of 32 threads up to 1,024.
/// `coins` may be null: then they come from Philox under `seed`.
#define DRAFTPROOF_VERIFY_TARGET_ONLY(name, Element)                        \
  extern "C" __global__ void __launch_bounds__(1024, 1)                     \
      name(const __grid_constant__ draftproof_verify_arguments arguments) { \
    using namespace draftproof::gpu::kernels;                               \
    __shared__ verify::TargetOnlyScratch scratch;                           \
    const std::uint32_t request = blockIdx.x;                               \
    const verify::Rows<Element> rows(arguments, request);                   \
    const CoinSource coins = verify::tree_coins_of(arguments, request);     \
    const verify::Tree tree = verify::tree_of(arguments, request);          \
    const verify::TargetOnly<Element> rule{rows, coins, tree};              \
    rule.run(verify::tree_output_of(arguments, request), scratch);          \
  }

DRAFTPROOF_VERIFY_TARGET_ONLY(draftproof_verify_target_only_f32, Float32)
DRAFTPROOF_VERIFY_TARGET_ONLY(draftproof_verify_target_only_bf16, Bfloat16)
DRAFTPROOF_VERIFY_TARGET_ONLY(draftproof_verify_target_only_f16, Float16)
