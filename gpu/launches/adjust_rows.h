// Adjusted rows: launches of adjust_rows (gpu/kernels/arguments/adjust_rows.h).
#pragma once

#include "gpu/kernel_launch.h"
#include "gpu/kernels/arguments/adjust_rows.h"
#include "gpu/kernels/arguments/result.h"

namespace draftproof::gpu::launches {

/// What is wrong with the arguments, as far as the host can see it; DRAFTPROOF_OK otherwise.
draftproof_result check(const draftproof_adjust_rows_arguments& arguments);

/// The launch. `arguments` must outlive it. Precondition: check() says DRAFTPROOF_OK.
KernelLaunch launch_of(const draftproof_adjust_rows_arguments& arguments);

}  // namespace draftproof::gpu::launches
