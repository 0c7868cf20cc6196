// Greedy verification of trees on the device: from node to node as long as a child carries the
// lowest id of its target row's maximum (the order of judging is the one that
// reference/verify/tree_greedy.h declares). One block a request; its records come from a shape_rows
// launch with every request greedy, which leaves that id in cut_id. Draft rows and coins are not
// read, logits not a second time.
//
// One warp walks. Determinism: gpu_to_gpu, bit for bit, for every block size (a multiple of 32),
// order and schedule.
#include <cstdint>

#include "gpu/kernels/verify/tree_walk.cuh"

namespace draftproof::gpu::kernels::verify {

__device__ __forceinline__ TreeStep follow_maximum(const RowRecord* records, const Tree& tree,
                                                   const Place& place, const Children& children) {
  const RowRecord record = records[place.row()];
  if (record.status != 0) return fails(static_cast<Status>(record.status));
  TreeStep step = ends(children);
  for_children(tree, place, [&](std::uint32_t first, const Child& child) {
    const bool is_match = child.is_child && child.token == record.cut_id;
    const std::uint32_t matches = __ballot_sync(0xffffffffu, is_match);
    if (matches == 0) return true;
    step = takes(first_marked(first, matches));
    return false;
  });
  return step;
}

__device__ __forceinline__ void tree_greedy(const RowRecord* records, const Tree& tree,
                                            const TreeOutput& output, TreeStop& shared_stop) {
  if (threadIdx.x < kWarpLanes) {
    const TreeStop stop =
        walk_tree(tree, output, [&](const Place& place, const Children& children) {
          return follow_maximum(records, tree, place, children);
        });
    if (threadIdx.x == 0) {
      shared_stop = stop;
      write_tree_outcome(output, stop,
                         {stop.draws(), stop.draws() ? records[stop.place.row()].cut_id : 0});
    }
  }
  __syncthreads();
  write_tree_rest(output, shared_stop);
}

}  // namespace draftproof::gpu::kernels::verify

/// One block a request, a multiple of 32 threads. Reads drafted tokens, parents, requests, target
/// records.
extern "C" __global__ void __launch_bounds__(1024, 1)
    draftproof_verify_tree_greedy(const __grid_constant__ draftproof_verify_arguments arguments) {
  using namespace draftproof::gpu::kernels;
  __shared__ verify::TreeStop stop;
  const std::uint32_t request = blockIdx.x;
  const RowRecord* records = verify::at<const RowRecord>(arguments.target_records) +
                             target_slot(request, 0, arguments.padded_draft_count);
  verify::tree_greedy(records, verify::tree_of(arguments, request),
                      verify::tree_output_of(arguments, request), stop);
}
