// RecordingDevice: a device that keeps what was launched on it, with all its memory, so that the
// launches can be looked at, and made again, when whoever made them has returned.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.h"

namespace draftproof::tools::cost {

struct RecordedLaunch {
  const gpu::Module* module = nullptr;  ///< its owner keeps it
  std::string module_name;              ///< of the file, without .ptx
  std::string entry;
  gpu::LaunchOptions options;
  std::vector<gpu::Argument> arguments;
  gpu::LaunchReport report;
};

class RecordingDevice final : public gpu::Device {
 public:
  /// `base` must outlive this.
  explicit RecordingDevice(gpu::Device& base) : base_(base) {}
  ~RecordingDevice() override;
  RecordingDevice(const RecordingDevice&) = delete;
  RecordingDevice& operator=(const RecordingDevice&) = delete;

  gpu::Device& base() const { return base_; }
  const std::vector<RecordedLaunch>& launches() const { return launches_; }

  std::string name() const override { return base_.name(); }
  bool observes() const override { return base_.observes(); }
  std::unique_ptr<gpu::Module> load(std::string_view ptx, std::string_view file_name) override;
  gpu::DevicePointer allocate(std::size_t bytes, std::string_view label) override {
    return base_.allocate(bytes, label);
  }
  /// Takes effect when this ends.
  void free(gpu::DevicePointer pointer) override { freed_.push_back(pointer); }
  void write(gpu::DevicePointer to, std::span<const std::byte> from) override {
    base_.write(to, from);
  }
  void read(gpu::DevicePointer from, std::span<std::byte> to,
            std::optional<std::byte> poison) override {
    base_.read(from, to, poison);
  }
  gpu::LaunchReport launch(const gpu::Module& module, std::string_view entry,
                           const gpu::LaunchOptions& options,
                           std::span<const gpu::Argument> arguments) override;

 private:
  gpu::Device& base_;
  std::map<const gpu::Module*, std::string> names_;
  std::vector<RecordedLaunch> launches_;
  std::vector<gpu::DevicePointer> freed_;
};

}  // namespace draftproof::tools::cost
