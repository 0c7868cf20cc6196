// RecordingExecutor: launches nothing, and remembers what it was asked to launch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/interface/library.h"
#include "gpu/launches/checks.h"

namespace draftproof::gpu::interface {

class RecordingExecutor final : public Executor {
 public:
  struct Launch {
    std::string module, entry;
    std::uint64_t blocks;
    void* stream;
  };

  draftproof_capabilities capabilities() const noexcept override {
    draftproof_capabilities capabilities{};
    capabilities.multiprocessor_count = 4;
    capabilities.shared_bytes_max = 100000;
    return capabilities;
  }
  draftproof_result resident_blocks(const KernelLaunch& launch,
                                    std::uint32_t& blocks) const noexcept override {
    blocks = launch.dynamic_shared_bytes == 0 ? resident_unshared.value_or(resident) : resident;
    return launches::kGood;
  }
  draftproof_result run(const KernelLaunch& launch, void* stream) noexcept override {
    list.push_back({launch.module, launch.entry, launch.grid.count(), stream});
    return launches::kGood;
  }

  std::uint32_t resident = 2;  ///< what it answers
  /// What it answers for launches without dynamic shared memory; absent: the same.
  std::optional<std::uint32_t> resident_unshared;
  std::vector<Launch> list;
};

/// A library whose launches are recorded.
struct RecordedLibrary {
  RecordedLibrary() {
    auto made = std::make_unique<RecordingExecutor>();
    executor = made.get();
    library.executor = std::move(made);
  }
  draftproof_library library;
  RecordingExecutor* executor;
};

}  // namespace draftproof::gpu::interface
