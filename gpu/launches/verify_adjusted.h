// The chain rule over adjusted rows (gpu/kernels/arguments/verify_adjusted.h). Rules that read no
// logits, such as greedy, need no launch of their own: their records are adjusted.
#pragma once

#include "gpu/kernel_launch.h"
#include "gpu/kernels/arguments/result.h"
#include "gpu/kernels/arguments/verify_adjusted.h"

namespace draftproof::gpu::launches {

/// What is wrong with the arguments, as far as the host can see it; DRAFTPROOF_OK otherwise.
draftproof_result check(const draftproof_verify_adjusted_arguments& arguments);

/// One block a request. Precondition: check() passes; `arguments` outlives the launch.
KernelLaunch launch_of(const draftproof_verify_adjusted_arguments& arguments);

}  // namespace draftproof::gpu::launches
