// Session: one call of an operator: which library serves its tensors, and where they lie for it.
// CUDA tensors lie where they are. CPU tensors run on the emulated device: they are copied into its
// memory, and what a launch writes is copied back, so that an engine can be tried without a GPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu/draftproof_kernels.h"

namespace draftproof::gpu::torch {

/// Raises what a result says, unless it is DRAFTPROOF_OK.
void need(const draftproof_result& result);

class Session {
 public:
  /// `stream` is the number of a cudaStream_t; not looked at for the CPU.
  Session(const at::Device& device, std::int64_t stream);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const draftproof_library* library() const { return library_; }
  void* stream() const { return stream_; }
  /// Raises what a launch answers, with the emulated device's observations.
  void need_launch(const draftproof_result& result) const;

  /// The address of a tensor's first element. All tensors must outlive the session.
  draftproof_pointer read(const at::Tensor& tensor, const char* name);
  draftproof_pointer read(const std::optional<at::Tensor>& tensor, const char* name);
  /// The same of a tensor that a launch writes.
  draftproof_pointer written(const at::Tensor& tensor, const char* name);
  /// Copies back what was written on the emulated device. Behind the last launch.
  void finish();

 private:
  struct Copy {
    at::Tensor tensor;
    draftproof_pointer pointer;
    std::uint64_t bytes;
    bool is_written;
  };
  draftproof_pointer place(const at::Tensor& tensor, const char* name, bool is_written);

  const draftproof_library* library_;
  void* stream_;
  bool is_emulated_;
  std::vector<Copy> copies_;
};

}  // namespace draftproof::gpu::torch
