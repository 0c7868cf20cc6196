// Executor: where the launches of the C interface go: to a CUDA context on a stream, to the
// emulated device, or to a test that counts them. No exception leaves one.
#pragma once

#include <cstdint>

#include "gpu/draftproof_kernels.h"
#include "gpu/kernel_launch.h"

namespace draftproof::gpu::interface {

/// What an executor answers for a launch of an entry that it does not have.
inline constexpr draftproof_result kNoEntry{
    DRAFTPROOF_UNSUPPORTED,
    "this build of the library has no kernel for these arguments; build it with all kernels"};

class Executor {
 public:
  virtual ~Executor() = default;

  virtual draftproof_capabilities capabilities() const noexcept = 0;

  /// Blocks of this launch that one multiprocessor can hold at the same time; 0: not even one.
  virtual draftproof_result resident_blocks(const KernelLaunch& launch,
                                            std::uint32_t& blocks) const noexcept = 0;

  /// Enqueues the launch and returns. `stream` is a CUstream; null is the context's default stream.
  /// Neither allocates nor waits, unless the device is emulated.
  virtual draftproof_result run(const KernelLaunch& launch, void* stream) noexcept = 0;
};

}  // namespace draftproof::gpu::interface
