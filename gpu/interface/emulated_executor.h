// EmulatedExecutor: the same launches on the emulated device, at once and watched. Memory on it is
// its own, reached through the functions below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "gpu/interface/executor.h"
#include "gpu/kernel_modules.h"

namespace draftproof::gpu::interface {

/// Thread-safe: one call at a time gets through.
class EmulatedExecutor final : public Executor {
 public:
  explicit EmulatedExecutor(KernelTexts texts);

  draftproof_capabilities capabilities() const noexcept override;
  draftproof_result resident_blocks(const KernelLaunch& launch,
                                    std::uint32_t& blocks) const noexcept override;
  /// What the device observes and calls unsafe makes it a DRAFTPROOF_DEVICE.
  draftproof_result run(const KernelLaunch& launch, void* stream) noexcept override;

  draftproof_result allocate(std::uint64_t bytes, const char* label,
                             draftproof_pointer& pointer) noexcept;
  draftproof_result free(draftproof_pointer pointer) noexcept;
  draftproof_result write(draftproof_pointer to, std::span<const std::byte> from) noexcept;
  draftproof_result read(draftproof_pointer from, std::span<std::byte> to) noexcept;

  /// What the last launch or memory call had to say, a line each, as much as `bytes` - 1 characters
  /// hold. The length of the whole.
  std::uint64_t observations(char* text, std::uint64_t bytes) const noexcept;

 private:
  template <class Body>
  draftproof_result guarded(const Body& body) noexcept;

  mutable std::mutex mutex_;
  std::unique_ptr<Device> device_;
  mutable KernelModules modules_;  ///< loaded when they are first asked for
  std::string observations_;
};

}  // namespace draftproof::gpu::interface
