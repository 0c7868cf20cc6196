// KV launches: the arguments of the KV kernels (gpu/kernels/arguments/kv.h) held against what their
// contracts say, and the launches that they make. No allocation, no exceptions.
#pragma once

#include "gpu/kernel_launch.h"
#include "gpu/kernels/arguments/kv.h"

namespace draftproof::gpu::launches {

/// The first field that is not as its contract says. What lies on the device is not looked at: what
/// is wrong there ends in a status word. Planes whose bases are on the device are not held against
/// other buffers.
draftproof_result check(const draftproof_kv_commit_arguments& arguments);
draftproof_result check(const draftproof_kv_map_slots_arguments& arguments);
draftproof_result check(const draftproof_kv_append_arguments& arguments);
draftproof_result check(const draftproof_kv_copy_pages_arguments& arguments);
draftproof_result check(const draftproof_kv_release_pages_arguments& arguments);
draftproof_result check(const draftproof_kv_poison_arguments& arguments);
draftproof_result check(const draftproof_kv_gather_rows_arguments& arguments);
draftproof_result check(const draftproof_kv_select_states_arguments& arguments);

/// The launch of arguments that passed check(), and that must outlive it. A grid without blocks
/// (Dim3::count() 0) says that there is nothing to be launched.
KernelLaunch launch_of(const draftproof_kv_commit_arguments& arguments);
KernelLaunch launch_of(const draftproof_kv_map_slots_arguments& arguments);
KernelLaunch launch_of(const draftproof_kv_append_arguments& arguments);
KernelLaunch launch_of(const draftproof_kv_copy_pages_arguments& arguments);
KernelLaunch launch_of(const draftproof_kv_release_pages_arguments& arguments);
KernelLaunch launch_of(const draftproof_kv_poison_arguments& arguments);
KernelLaunch launch_of(const draftproof_kv_gather_rows_arguments& arguments);
KernelLaunch launch_of(const draftproof_kv_select_states_arguments& arguments);

}  // namespace draftproof::gpu::launches
