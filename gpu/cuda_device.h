// CudaDevice: a GPU behind the Device seam, through the driver API. The same PTX text, the same
// launch call; it makes no observations beyond the faults that the driver reports.
#pragma once

#include <memory>

#include "gpu/device.h"

namespace draftproof::gpu {

/// The first GPU. Throws Error(kEnvironment) with the remedy when there is no driver or no GPU.
std::unique_ptr<Device> make_cuda_device();

/// True when make_cuda_device() would find a GPU.
bool has_cuda_device();

}  // namespace draftproof::gpu
