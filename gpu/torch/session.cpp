#include "gpu/torch/session.h"

#include <map>
#include <mutex>

namespace draftproof::gpu::torch {
namespace {

/// The library of a device, made when it is first asked for, and kept: graphs may hold its kernels.
const draftproof_library* library_of(const at::Device& device) {
  static std::mutex mutex;
  static std::map<int, draftproof_library*> libraries;
  const std::lock_guard<std::mutex> lock(mutex);
  draftproof_library*& library = libraries[device.is_cpu() ? -1 : device.index()];
  if (library == nullptr)
    need(device.is_cpu() ? draftproof_library_create_emulated(&library)
                         : draftproof_library_create(device.index(), &library));
  return library;
}

/// From a tensor's first element to the end of its storage: all that its strides can reach.
std::uint64_t reach_of(const at::Tensor& tensor) {
  return tensor.storage().nbytes() -
         static_cast<std::uint64_t>(tensor.storage_offset()) * tensor.element_size();
}

}  // namespace

void need(const draftproof_result& result) {
  TORCH_CHECK(result.code == DRAFTPROOF_OK, "draftproof: ", result.text);
}

Session::Session(const at::Device& device, std::int64_t stream)
    : library_(library_of(device)),
      stream_(reinterpret_cast<void*>(stream)),
      is_emulated_(device.is_cpu()) {}

Session::~Session() {
  for (const Copy& copy : copies_) draftproof_emulated_free(library_, copy.pointer);
}

void Session::need_launch(const draftproof_result& result) const {
  if (result.code == DRAFTPROOF_OK) return;
  std::string words(draftproof_emulated_observations(library_, nullptr, 0) + 1, '\0');
  draftproof_emulated_observations(library_, words.data(), words.size());
  TORCH_CHECK(false, "draftproof: ", result.text, "\n", words.c_str());
}

draftproof_pointer Session::read(const at::Tensor& tensor, const char* name) {
  return place(tensor, name, false);
}

draftproof_pointer Session::read(const std::optional<at::Tensor>& tensor, const char* name) {
  return tensor.has_value() ? place(*tensor, name, false) : 0;
}

draftproof_pointer Session::written(const at::Tensor& tensor, const char* name) {
  return place(tensor, name, true);
}

draftproof_pointer Session::place(const at::Tensor& tensor, const char* name, bool is_written) {
  if (tensor.numel() == 0) return 0;
  if (!is_emulated_) return reinterpret_cast<draftproof_pointer>(tensor.data_ptr());
  Copy copy{tensor, 0, reach_of(tensor), is_written};
  need(draftproof_emulated_allocate(library_, copy.bytes, name, &copy.pointer));
  copies_.push_back(copy);
  need_launch(draftproof_emulated_write(library_, copy.pointer, tensor.data_ptr(), copy.bytes));
  return copy.pointer;
}

void Session::finish() {
  for (const Copy& copy : copies_)
    if (copy.is_written)
      need_launch(
          draftproof_emulated_read(library_, copy.pointer, copy.tensor.data_ptr(), copy.bytes));
}

}  // namespace draftproof::gpu::torch
