// Greedy verification on the device: a drafted token is kept iff it is the lowest id of its target
// row's maximum (the order of judging is the one that reference/verify/greedy.h declares). One
// block a request; its records come from a shape_rows launch with every request greedy, which
// leaves that id in cut_id. Draft rows and coins are not read, logits not a second time.
//
// Determinism: gpu_to_gpu, bit for bit, for every block size (a multiple of 32), order and
// schedule.
#include <cstdint>

#include "gpu/kernels/verify/request.cuh"
#include "gpu/kernels/verify/walk.cuh"

namespace draftproof::gpu::kernels::verify {

__device__ __forceinline__ void greedy(const RowRecord* records, const Drafts& drafts,
                                       const Output& output, Stop& shared_stop) {
  if (threadIdx.x < kWarpLanes) {
    const auto judge = [&](std::uint32_t position, std::uint32_t token) -> Stop {
      const RowRecord record = records[position];
      if (record.status != 0) return stop_for(position, static_cast<Status>(record.status));
      return {position, token == record.cut_id ? Answer::kAccepted : Answer::kRejected,
              Status::kOk};
    };
    const auto judge_end = [&](std::uint32_t position) -> Stop {
      const std::uint32_t status = records[position].status;
      if (status != 0) return stop_for(position, static_cast<Status>(status));
      return {position, Answer::kDraftEnded, Status::kOk};
    };
    const Stop stop = walk(drafts, judge, judge_end);
    if (threadIdx.x == 0) {
      shared_stop = stop;
      const bool draws = stop.answer != Answer::kCannotBeJudged;
      write_outcome(output, stop, {draws, draws ? records[stop.position].cut_id : 0});
    }
  }
  __syncthreads();
  write_prefix(output, drafts, shared_stop);
}

}  // namespace draftproof::gpu::kernels::verify

/// One block a request, a multiple of 32 threads. Reads drafted tokens, requests, target records.
extern "C" __global__ void __launch_bounds__(1024, 1)
    draftproof_verify_greedy(const __grid_constant__ draftproof_verify_arguments arguments) {
  using namespace draftproof::gpu::kernels;
  __shared__ verify::Stop stop;
  const std::uint32_t request = blockIdx.x;
  const RowRecord* records = verify::at<const RowRecord>(arguments.target_records) +
                             target_slot(request, 0, arguments.padded_draft_count);
  verify::greedy(records, verify::drafts_of(arguments, request),
                 verify::output_of(arguments, request), stop);
}
