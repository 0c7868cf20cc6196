// PeerKernels: other people's PTX on a device: texts by file, entries by part of their name,
// buffers by label.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.h"
#include "reference/proposal.h"

namespace draftproof::tools::cost {

class PeerKernels {
 public:
  /// `device` must outlive this.
  PeerKernels(gpu::Device& device, std::filesystem::path folder)
      : device_(device), folder_(std::move(folder)) {}

  /// A buffer that holds `values`.
  template <class T>
  gpu::Argument in(const std::string& label, const std::vector<T>& values) {
    const gpu::Argument pointer = out<T>(label, values.size());
    if (!values.empty())
      device_.write(buffers_.at(label).pointer(), std::as_bytes(std::span(values)));
    return pointer;
  }
  /// A buffer that no one has written.
  template <class T>
  gpu::Argument out(const std::string& label, std::size_t count) {
    return gpu::Argument(
        buffers_.try_emplace(label, device_, count * sizeof(T), label).first->second.pointer());
  }
  gpu::DevicePointer pointer(const std::string& label) const {
    return buffers_.at(label).pointer();
  }
  template <class T>
  std::vector<T> read(const std::string& label) const {
    const gpu::Buffer& buffer = buffers_.at(label);
    std::vector<T> values(buffer.bytes() / sizeof(T));
    buffer.read(std::span(values), std::byte{0x7e});
    return values;
  }

  /// Launches the entry of `file` (without .ptx) whose name holds `entry`. Parameters behind the
  /// given ones are null. Throws Error(kInput) when there is no such file, or not one such entry.
  void launch(const std::string& file, std::string_view entry, const gpu::LaunchOptions& options,
              std::vector<gpu::Argument> arguments);

 private:
  const gpu::Module& module(const std::string& file);

  gpu::Device& device_;
  std::filesystem::path folder_;
  std::map<std::string, std::unique_ptr<gpu::Module>> modules_;
  std::map<std::string, gpu::Buffer> buffers_;
};

/// The rows of a batch one behind the other.
std::vector<float> joined_target_rows(const reference::Batch& batch);
std::vector<float> joined_draft_rows(const reference::Batch& batch);

}  // namespace draftproof::tools::cost
