// Sample-and-match on the device: draw from the target, go to the child that carries the draw, emit
// it in either case (rule and order of judging are those of reference/verify/match.h). One block a
// request, after a shape_rows launch; masses are recomputed from the logits and the target rows'
// records. Draft rows are not read.
//
//   drawn  first v with scaled(coin, sum T) < T_0 + ... + T_v, at every place of the walk
//
// The coins are those of plain decoding, so that the emitted tokens are, token for token, what is
// emitted without a draft. The whole block walks: it draws together, and each of its warps looks
// for the child. Rows off the path are not read. Determinism: gpu_to_gpu, bit for bit, for every
// block size (a multiple of 32 up to 1,024), order and schedule: all sums are integers.
#include <cstdint>

#include "gpu/kernels/locate.cuh"
#include "gpu/kernels/verify/match_anchor.cuh"
#include "gpu/kernels/verify/tree_walk.cuh"

namespace draftproof::gpu::kernels::verify {

struct MatchScratch {
  Located drawn;  ///< at the place that the walk has come to
  LocateScratch<std::uint64_t> search;
};

/// One request: its tree, its target rows, its coins.
template <class Element>
struct Match {
  const Rows<Element>& rows;
  const CoinSource& coins;
  const Tree& tree;
  MatchScratch& scratch;

  /// Valid in warp 0.
  __device__ __forceinline__ Located draw(const Place& place, const RowRecord& record) const {
    if (record.kind == static_cast<std::uint32_t>(LawKind::kOneHot)) return {true, record.cut_id};
    const LogitLaw<Element> target = rows.target_law(place.row(), record);
    std::uint32_t depth = place.depth;
    match_anchor::coin_depth(depth);
    const std::uint64_t coin = coins.row_coin(place.row(), depth, CoinPurpose::kBonus);
    const auto weight = [&](std::uint32_t id) { return target.spread_mass(id); };
    const auto threshold_of = [&](std::uint64_t total) { return scaled(coin, total); };
    return locate<std::uint64_t>(tree.vocab_size, weight, threshold_of, scratch.search);
  }

  __device__ __forceinline__ TreeStep judge(const Place& place, const Children& children) const {
    const RowRecord record = rows.target_record(place.row());
    if (record.status != 0) return fails(static_cast<Status>(record.status));
    const Located own = draw(place, record);
    if (threadIdx.x == 0) scratch.drawn = own;
    __syncthreads();
    const Located drawn = scratch.drawn;
    __syncthreads();  // the next place's draw may be written
    TreeStep step = ends(children);
    // A row with a law weighs something, so that a draw finds a token.
    if (!drawn.is_found) return step;
    std::uint32_t token = drawn.id;
    match_anchor::wanted(token);
    for_children(tree, place, [&](std::uint32_t first, const Child& child) {
      const std::uint32_t matches =
          __ballot_sync(0xffffffffu, child.is_child && child.token == token);
      if (matches == 0) return true;
      step = takes(first_marked(first, matches));
      return false;
    });
    return step;
  }

  __device__ __forceinline__ void run(const TreeOutput& output) const {
    const TreeStop stop = walk_tree(
        tree, output,
        [&](const Place& place, const Children& children) { return judge(place, children); });
    write_tree_rest(output, stop);
    if (threadIdx.x == 0) write_tree_outcome(output, stop, scratch.drawn);
  }
};

}  // namespace draftproof::gpu::kernels::verify

/// One entry for each storage format. One block a request, a multiple of 32 threads up to 1,024.
#define DRAFTPROOF_VERIFY_MATCH(name, Element)                              \
  extern "C" __global__ void __launch_bounds__(1024, 1)                     \
      name(const __grid_constant__ draftproof_verify_arguments arguments) { \
    using namespace draftproof::gpu::kernels;                               \
    __shared__ verify::MatchScratch scratch;                                \
    const std::uint32_t request = blockIdx.x;                               \
    const verify::Rows<Element> rows(arguments, request);                   \
    const CoinSource coins = verify::tree_coins_of(arguments, request);     \
    const verify::Tree tree = verify::tree_of(arguments, request);          \
    verify::Match<Element>{rows, coins, tree, scratch}.run(                 \
        verify::tree_output_of(arguments, request));                        \
  }

DRAFTPROOF_VERIFY_MATCH(draftproof_verify_match_f32, Float32)
DRAFTPROOF_VERIFY_MATCH(draftproof_verify_match_bf16, Bfloat16)
DRAFTPROOF_VERIFY_MATCH(draftproof_verify_match_f16, Float16)
