// Call: the one way from arguments to a launch: arguments checked, then the launch made, then run.
// What a check refuses reaches no executor.
#pragma once

#include <cstdint>

#include "gpu/interface/library.h"
#include "gpu/launches/checks.h"

namespace draftproof::gpu::interface {

/// How a launch is divided, for whoever asks before it is made.
inline draftproof_plan plan_of(const KernelLaunch& launch) {
  draftproof_plan plan{};
  plan.entry = launch.entry;
  plan.grid_x = launch.grid.x;
  plan.grid_y = launch.grid.y;
  plan.grid_z = launch.grid.z;
  plan.block_threads = launch.block.x;
  plan.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  plan.is_cooperative = launch.is_cooperative ? 1 : 0;
  plan.launch_count = launch.grid.count() == 0 ? 0 : 1;
  return plan;
}

/// Whether the device can hold the launch: each block, and all of them where they wait for each
/// other.
inline draftproof_result check_residency(const Executor& executor, const KernelLaunch& launch) {
  if (launch.grid.count() == 0) return launches::kGood;
  std::uint32_t blocks = 0;
  const draftproof_result asked = executor.resident_blocks(launch, blocks);
  if (asked.code != DRAFTPROOF_OK) return asked;
  if (blocks == 0)
    return {DRAFTPROOF_UNSUPPORTED,
            "the device cannot hold one block of this launch; lower block_threads, or the shared "
            "memory that is asked for"};
  const std::uint64_t held = std::uint64_t{blocks} * executor.capabilities().multiprocessor_count;
  if (launch.is_cooperative && launch.grid.count() > held)
    return {DRAFTPROOF_UNSUPPORTED,
            "the device cannot hold all blocks of this launch at once; lower block_count, "
            "block_threads or the shared memory that is asked for"};
  return launches::kGood;
}

/// Checks `arguments`, and says how they are launched. `plan` may be null.
template <class Arguments, class Check, class LaunchOf>
draftproof_result plan(const draftproof_library* library, const Arguments* arguments,
                       draftproof_plan* plan, const Check& check, const LaunchOf& launch_of) {
  if (library == nullptr) return {DRAFTPROOF_NULL_POINTER, "library is null"};
  if (arguments == nullptr) return {DRAFTPROOF_NULL_POINTER, "arguments is null"};
  const draftproof_result checked = check(*arguments);
  if (checked.code != DRAFTPROOF_OK) return checked;
  const KernelLaunch launch = launch_of(*arguments);
  const draftproof_result held = check_residency(*library->executor, launch);
  if (held.code == DRAFTPROOF_OK && plan != nullptr) *plan = plan_of(launch);
  return held;
}

/// Checks `arguments` and launches them on `stream`.
template <class Arguments, class Check, class LaunchOf>
draftproof_result launch(const draftproof_library* library, const Arguments* arguments,
                         void* stream, const Check& check, const LaunchOf& launch_of) {
  if (library == nullptr) return {DRAFTPROOF_NULL_POINTER, "library is null"};
  if (arguments == nullptr) return {DRAFTPROOF_NULL_POINTER, "arguments is null"};
  const draftproof_result checked = check(*arguments);
  if (checked.code != DRAFTPROOF_OK) return checked;
  const KernelLaunch launch = launch_of(*arguments);
  if (launch.grid.count() == 0) return launches::kGood;
  return library->executor->run(launch, stream);
}

}  // namespace draftproof::gpu::interface
