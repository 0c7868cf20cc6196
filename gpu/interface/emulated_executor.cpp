#include "gpu/interface/emulated_executor.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "gpu/emulated_device.h"
#include "gpu/launches/checks.h"

namespace draftproof::gpu::interface {
namespace {

using launches::kGood;

/// What an H200 gives one block (CUDA C++ Programming Guide, "Compute Capabilities", 9.0).
constexpr std::uint32_t kSharedBytesMax = 232448;
/// So few that a launch which fills the device is still run in a moment.
constexpr std::uint32_t kMultiprocessors = 8;

std::string line_of(const reference::Observation& observation) {
  std::string line = observation.check + ": " + observation.message;
  const reference::Place& place = observation.place;
  if (!place.kernel.empty()) line += ", in " + place.kernel;
  if (!place.source_file.empty())
    line += " (" + place.source_file + ":" + std::to_string(place.source_line) + ")";
  if (observation.count > 1) line += ", " + std::to_string(observation.count) + " times";
  return line + "\n";
}

}  // namespace

EmulatedExecutor::EmulatedExecutor(KernelTexts texts)
    : device_(make_emulated_device()), modules_(*device_, std::move(texts)) {}

draftproof_capabilities EmulatedExecutor::capabilities() const noexcept {
  draftproof_capabilities capabilities{};
  capabilities.compute_major = 8;
  capabilities.compute_minor = 0;
  capabilities.multiprocessor_count = kMultiprocessors;
  capabilities.shared_bytes_max = kSharedBytesMax;
  capabilities.is_cooperative = 1;
  capabilities.is_emulated = 1;
  std::strncpy(capabilities.name, "emulator", sizeof(capabilities.name) - 1);
  return capabilities;
}

draftproof_result EmulatedExecutor::resident_blocks(const KernelLaunch& launch,
                                                    std::uint32_t& blocks) const noexcept {
  blocks = 0;
  try {
    const std::lock_guard lock(mutex_);
    for (const EntryInfo& entry : modules_.module(launch.module).entries()) {
      if (entry.name != launch.entry) continue;
      const std::uint64_t shared_bytes =
          std::uint64_t{entry.static_shared_bytes} + launch.dynamic_shared_bytes;
      blocks = launch.block.count() <= 1024 && shared_bytes <= kSharedBytesMax ? 1 : 0;
      return kGood;
    }
  } catch (const std::exception&) {
  }
  return kNoEntry;
}

template <class Body>
draftproof_result EmulatedExecutor::guarded(const Body& body) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    observations_.clear();
    try {
      return body();
    } catch (const std::exception& error) {
      observations_ = std::string(error.what()) + "\n";
    }
  } catch (...) {
  }
  return {DRAFTPROOF_DEVICE,
          "the emulated device refused; draftproof_emulated_observations has its words"};
}

draftproof_result EmulatedExecutor::run(const KernelLaunch& launch, void*) noexcept {
  return guarded([&]() -> draftproof_result {
    // As a driver does, whatever the arguments say of the device.
    if (launch.is_cooperative && launch.grid.count() > kMultiprocessors)
      return {DRAFTPROOF_DEVICE,
              "more blocks wait for each other than the emulated device holds at once; lower "
              "block_count to draftproof_capabilities::multiprocessor_count"};
    const LaunchReport report = modules_.launch(launch);
    bool is_unsafe = false;
    for (const reference::Observation& observation : report.observations) {
      observations_ += line_of(observation);
      is_unsafe |= observation.severity == reference::Severity::kUnsafe;
    }
    if (!is_unsafe) return kGood;
    return {DRAFTPROOF_DEVICE,
            "the emulated device observed a fault; draftproof_emulated_observations has its words"};
  });
}

draftproof_result EmulatedExecutor::allocate(std::uint64_t bytes, const char* label,
                                             draftproof_pointer& pointer) noexcept {
  return guarded([&] {
    pointer = device_->allocate(bytes, label);
    return kGood;
  });
}

draftproof_result EmulatedExecutor::free(draftproof_pointer pointer) noexcept {
  return guarded([&] {
    device_->free(pointer);
    return kGood;
  });
}

draftproof_result EmulatedExecutor::write(draftproof_pointer to,
                                          std::span<const std::byte> from) noexcept {
  return guarded([&] {
    device_->write(to, from);
    return kGood;
  });
}

draftproof_result EmulatedExecutor::read(draftproof_pointer from,
                                         std::span<std::byte> to) noexcept {
  return guarded([&] {
    device_->read(from, to, std::nullopt);
    return kGood;
  });
}

std::uint64_t EmulatedExecutor::observations(char* text, std::uint64_t bytes) const noexcept {
  const std::lock_guard lock(mutex_);
  if (text == nullptr || bytes == 0) return observations_.size();
  const std::size_t count = std::min<std::size_t>(observations_.size(), bytes - 1);
  std::memcpy(text, observations_.data(), count);
  text[count] = 0;
  return observations_.size();
}

}  // namespace draftproof::gpu::interface
