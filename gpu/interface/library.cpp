#include "gpu/interface/library.h"

#include <exception>
#include <utility>

#include "gpu/cuda_driver.h"
#include "gpu/interface/cuda_executor.h"
#include "gpu/interface/emulated_executor.h"
#include "gpu/launches/checks.h"
#include "reference/error.h"

namespace draftproof::gpu::interface {
namespace {

constexpr draftproof_result kNoKernels{
    DRAFTPROOF_UNSUPPORTED,
    "this build of the library has no kernels: build it with an nvcc (DRAFTPROOF_CUDA=ON), or with "
    "DRAFTPROOF_PTX_DIR set to a folder with their PTX"};

const CudaDriver* driver_if_any() {
  try {
    return &cuda_driver();
  } catch (const Error&) {
    return nullptr;
  }
}

draftproof_result make_on_cuda(std::int32_t device, std::unique_ptr<Executor>& executor) {
  const CudaDriver* const driver = driver_if_any();
  if (driver == nullptr)
    return {DRAFTPROOF_DEVICE,
            "there is no CUDA driver with a GPU; run where there is one, or use the emulated "
            "device: draftproof_library_create_emulated"};
  return make_cuda_executor(*driver, device, embedded_texts(), executor);
}

draftproof_result make_emulated(std::unique_ptr<Executor>& executor) {
  executor = std::make_unique<EmulatedExecutor>(embedded_texts());
  return launches::kGood;
}

/// Creates a library around what `make` makes. No exception leaves it.
template <class Make>
draftproof_result create(draftproof_library** library, const Make& make) {
  if (library == nullptr) return {DRAFTPROOF_NULL_POINTER, "library is null"};
  *library = nullptr;
  if (!kernels_are_embedded()) return kNoKernels;
  try {
    auto made = std::make_unique<draftproof_library>();
    const draftproof_result result = make(made->executor);
    if (result.code == DRAFTPROOF_OK) *library = made.release();
    return result;
  } catch (const std::exception&) {
    return {DRAFTPROOF_DEVICE, "out of memory, or the embedded PTX is broken; build it again"};
  }
}

}  // namespace
}  // namespace draftproof::gpu::interface

using draftproof::gpu::launches::kGood;
namespace interface = draftproof::gpu::interface;

std::uint32_t draftproof_version() {
  return DRAFTPROOF_VERSION_MAJOR << 16 | DRAFTPROOF_VERSION_MINOR << 8 | DRAFTPROOF_VERSION_PATCH;
}

draftproof_result draftproof_library_create(std::int32_t device, draftproof_library** library) {
  return interface::create(library,
                           [&](auto& made) { return interface::make_on_cuda(device, made); });
}

draftproof_result draftproof_library_create_emulated(draftproof_library** library) {
  return interface::create(library, [](auto& made) { return interface::make_emulated(made); });
}

void draftproof_library_destroy(draftproof_library* library) { delete library; }

draftproof_result draftproof_library_capabilities(const draftproof_library* library,
                                                  draftproof_capabilities* capabilities) {
  if (library == nullptr) return {DRAFTPROOF_NULL_POINTER, "library is null"};
  if (capabilities == nullptr) return {DRAFTPROOF_NULL_POINTER, "capabilities is null"};
  *capabilities = library->executor->capabilities();
  return kGood;
}
