// CudaExecutor: launches on a CUDA stream. Modules, functions and their attributes are made ready
// when it is made, so that a launch is one call of the driver: no allocation, no wait, nothing that
// a stream capture refuses.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/cuda_driver.h"
#include "gpu/interface/executor.h"
#include "gpu/kernel_modules.h"

namespace draftproof::gpu::interface {

/// A device's ordinal, or DRAFTPROOF_CURRENT_CONTEXT. `driver` must outlive the executor. On
/// failure null is left in `executor`. Throws std::bad_alloc and Error for texts that are no PTX.
draftproof_result make_cuda_executor(const CudaDriver& driver, std::int32_t device,
                                     const KernelTexts& texts, std::unique_ptr<Executor>& executor);

}  // namespace draftproof::gpu::interface
