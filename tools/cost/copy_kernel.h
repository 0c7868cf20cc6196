// CopyKernel: what the memory of a device gives in the same run, for times to be held against.
#pragma once

#include "gpu/device.h"
#include "tools/cost/cost.h"

namespace draftproof::tools::cost {

/// Bytes read and written a second, in 10^9, by a kernel that copies 16 bytes a thread and turn;
/// 256 MiB on a GPU. On the emulated device it copies a little, is held to be right, and 0 is
/// answered. Throws BrokenInvariant when the copy is not one.
double copied_gigabytes_a_second(gpu::Device& device, const Plan& plan);

}  // namespace draftproof::tools::cost
