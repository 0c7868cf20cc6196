// Launches of fused acceptance (gpu/kernels/arguments/acceptance.h): how the work is divided among
// the blocks that a device holds at once, what that needs, and whether arguments will do.
//
// To launch: fill in everything but the division, divide(), allocate and zero
// acceptance_workspace() bytes once, check(), then launch_of() as often as wanted.
#pragma once

#include <cstdint>

#include "gpu/kernel_launch.h"
#include "gpu/kernels/arguments/acceptance.h"

namespace draftproof::gpu::launches {

/// What a device has for one launch.
struct AcceptanceRoom {
  /// Blocks of block_threads threads and shared_bytes_max dynamic shared bytes that are resident at
  /// once: multiprocessors * what the driver's occupancy query answers for an entry.
  std::uint32_t block_capacity = 0;
  std::uint32_t block_threads = 1024;
  /// Dynamic shared memory that a block may have, beside the 4 KiB that an entry has of its own; 0:
  /// rows stay in global memory.
  std::uint32_t shared_bytes_max = 0;
};

/// Fills in the division: teams as small as their slices fit, and larger ones where there are more
/// blocks than rows, down to slices of 4,096 tokens; as many teams as there are rows or room; rows
/// of a request one behind the other as far as teams are scarce. Reads capacities, sizes, formats,
/// and whether draft_records is null; those must be final. Refuses what no division serves.
draftproof_result divide(draftproof_acceptance_arguments& arguments, const AcceptanceRoom& room);

/// Dynamic shared bytes of a block whose slices are staged, under the team size of `arguments`.
std::uint64_t staged_bytes(const draftproof_acceptance_arguments& arguments);

/// Bytes of the workspace, under the capacities and the block count of `arguments`.
std::uint64_t acceptance_workspace(const draftproof_acceptance_arguments& arguments);

/// Whether a launch with these arguments is sound, as far as the host can see.
draftproof_result check(const draftproof_acceptance_arguments& arguments);

/// Precondition: check() passes; `arguments` outlives the launch.
KernelLaunch launch_of(const draftproof_acceptance_arguments& arguments);

}  // namespace draftproof::gpu::launches
