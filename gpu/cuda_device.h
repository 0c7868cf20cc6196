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

struct CudaFunctionHandle;

/// For launches without the seam: the driver's handle of an entry, checked as Device::launch does
/// and given the dynamic shared memory that `options` asks for. The context is current afterwards.
/// Throws BrokenInvariant when `device` is no GPU.
CudaFunctionHandle* cuda_function(Device& device, const Module& module, std::string_view entry,
                                  const LaunchOptions& options,
                                  std::span<const Argument> arguments);

/// A device attribute by the driver's number (gpu/cuda_driver.h); nothing when `device` is no GPU.
std::optional<int> cuda_attribute(const Device& device, int attribute);

}  // namespace draftproof::gpu
