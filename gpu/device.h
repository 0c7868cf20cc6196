// Device: the seam that hides whether PTX runs on the emulator or on a GPU. The same module text,
// the same launch call, the same report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu/launch_profile.h"
#include "reference/observation.h"
#include "reference/verifier.h"

namespace draftproof::gpu {

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

/// An address in the device's global memory. On the emulator every allocation has an address range
/// of its own, so that no overrun can reach a neighbour.
using DevicePointer = std::uint64_t;

struct ParameterInfo {
  std::size_t offset = 0;  ///< in the parameter block
  std::size_t size = 0;    ///< bytes
  std::size_t alignment = 1;
  bool is_pointer = false;  ///< .ptr attribute
};

/// What PTX says of an entry.
struct EntryInfo {
  std::string name;
  std::vector<ParameterInfo> parameters;
  std::optional<Dim3> required_block;  ///< .reqntid
  std::optional<Dim3> max_block;       ///< .maxntid
  std::size_t static_shared_bytes = 0;
  bool uses_dynamic_shared = false;
};

struct LaunchOptions {
  Dim3 grid;
  Dim3 block;
  std::uint32_t dynamic_shared_bytes = 0;
  /// All blocks must be resident at once, because they wait for each other. Refused where they do
  /// not fit.
  bool is_cooperative = false;
  reference::ScheduleKind schedule = reference::ScheduleKind::kRandom;
  std::uint64_t schedule_seed = 1;
  /// Stop a launch after so many warp instructions (0: the device's default): a hang is an
  /// observation ("deadlock" or "limit"), never a hang of ours.
  std::uint64_t warp_instruction_limit = 0;
};

struct LaunchReport {
  std::vector<reference::Observation> observations;
  reference::RunCounts counts;
  std::uint64_t global_bytes_read = 0;
  std::uint64_t global_bytes_written = 0;
  std::string printed;  ///< what device printf wrote
  std::uint64_t schedule_seed = 0;
  std::optional<LaunchProfile> profile;  ///< where the device counts (EmulatedDeviceOptions)
};

/// One kernel argument: the bytes of one parameter.
class Argument {
 public:
  template <class T>
  explicit Argument(const T& value)
      : bytes_(reinterpret_cast<const std::byte*>(&value),
               reinterpret_cast<const std::byte*>(&value) + sizeof(T)) {
    static_assert(std::is_trivially_copyable_v<T>);
  }
  explicit Argument(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// A loaded module. Owned by the caller, must not outlive its device.
class Module {
 public:
  virtual ~Module() = default;
  virtual const std::vector<EntryInfo>& entries() const = 0;
};

/// Thread-compatible: one launch at a time. All functions throw Error; a fault of the *kernel* is
/// an observation in the report, never an exception.
class Device {
 public:
  virtual ~Device() = default;
  /// "emulator", or the GPU's own name.
  virtual std::string name() const = 0;
  /// True when observations are made at all (emulator).
  virtual bool observes() const = 0;

  /// Throws Error(kInput) "FILE:LINE: ..." for malformed PTX or a form that is not implemented.
  virtual std::unique_ptr<Module> load(std::string_view ptx, std::string_view file_name) = 0;

  /// Fresh memory is uninitialised; the emulator watches every byte of it. `label` names the
  /// allocation in observations. Zero bytes are allowed.
  virtual DevicePointer allocate(std::size_t bytes, std::string_view label) = 0;
  virtual void free(DevicePointer pointer) = 0;
  virtual void write(DevicePointer to, std::span<const std::byte> from) = 0;
  /// Reading a byte that no one has written throws on the emulator unless `poison` is given: then
  /// such a byte reads as `poison`.
  virtual void read(DevicePointer from, std::span<std::byte> to,
                    std::optional<std::byte> poison = std::nullopt) = 0;

  /// Throws Error(kInput) for an unknown entry, a wrong argument count or size, or a block the
  /// entry does not allow.
  virtual LaunchReport launch(const Module& module, std::string_view entry,
                              const LaunchOptions& options,
                              std::span<const Argument> arguments) = 0;
};

/// Memory on a device, freed with the object.
class Buffer {
 public:
  Buffer(Device& device, std::size_t bytes, std::string_view label)
      : device_(&device), pointer_(device.allocate(bytes, label)), bytes_(bytes) {}
  Buffer(Buffer&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)),
        pointer_(other.pointer_),
        bytes_(other.bytes_) {}
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() {
    if (device_ != nullptr) device_->free(pointer_);
  }
  DevicePointer pointer() const { return pointer_; }
  std::size_t bytes() const { return bytes_; }
  template <class T>
  void write(std::span<const T> values) {
    device_->write(pointer_, std::as_bytes(values));
  }
  template <class T>
  void read(std::span<T> values, std::optional<std::byte> poison = std::nullopt) const {
    device_->read(pointer_, std::as_writable_bytes(values), poison);
  }

 private:
  Device* device_;
  DevicePointer pointer_;
  std::size_t bytes_;
};

}  // namespace draftproof::gpu
