// Opening libcuda.so.1 and finding its functions by name. The suffix _v2 names the 64-bit revision
// of a function, which the driver keeps for ever.
#include "gpu/cuda_driver.h"

#include <dlfcn.h>

#include "reference/error.h"

namespace draftproof::gpu {
namespace {

constexpr const char* kRemedy =
    "run on a machine with an NVIDIA GPU and its driver, or use the emulator (--device emulator)";

template <class Function>
void find(void* library, const char* name, Function& function) {
  void* const symbol = dlsym(library, name);
  if (symbol == nullptr)
    throw Error(ErrorKind::kEnvironment,
                "libcuda.so.1 has no " + std::string(name) + "; update the NVIDIA driver");
  function = reinterpret_cast<Function>(symbol);
}

CudaDriver opened() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw Error(ErrorKind::kEnvironment,
                std::string("no CUDA driver (libcuda.so.1 cannot be opened); ") + kRemedy);
  CudaDriver driver{};
  find(library, "cuInit", driver.initialise);
  find(library, "cuDeviceGetCount", driver.device_count);
  find(library, "cuDeviceGet", driver.device);
  find(library, "cuDeviceGetName", driver.device_name);
  find(library, "cuDeviceGetAttribute", driver.device_attribute);
  find(library, "cuDevicePrimaryCtxRetain", driver.retain_context);
  find(library, "cuDevicePrimaryCtxRelease_v2", driver.release_context);
  find(library, "cuCtxSetCurrent", driver.set_context);
  find(library, "cuCtxGetCurrent", driver.current_context);
  find(library, "cuCtxGetDevice", driver.current_device);
  find(library, "cuCtxPushCurrent_v2", driver.push_context);
  find(library, "cuCtxPopCurrent_v2", driver.pop_context);
  find(library, "cuCtxSynchronize", driver.synchronise);
  find(library, "cuModuleLoadDataEx", driver.load_module);
  find(library, "cuModuleUnload", driver.unload_module);
  find(library, "cuModuleGetFunction", driver.function);
  find(library, "cuFuncSetAttribute", driver.set_attribute);
  find(library, "cuFuncGetAttribute", driver.function_attribute);
  find(library, "cuOccupancyMaxActiveBlocksPerMultiprocessor", driver.resident_blocks);
  find(library, "cuMemAlloc_v2", driver.allocate);
  find(library, "cuMemFree_v2", driver.release);
  find(library, "cuMemcpyHtoD_v2", driver.copy_to_device);
  find(library, "cuMemcpyDtoH_v2", driver.copy_to_host);
  find(library, "cuLaunchKernel", driver.launch);
  find(library, "cuLaunchCooperativeKernel", driver.launch_cooperative);
  find(library, "cuMemsetD32Async", driver.fill_words);
  find(library, "cuEventCreate", driver.create_event);
  find(library, "cuEventDestroy_v2", driver.destroy_event);
  find(library, "cuEventRecord", driver.record_event);
  find(library, "cuEventSynchronize", driver.wait_for_event);
  find(library, "cuEventElapsedTime", driver.milliseconds_between);
  find(library, "cuGetErrorString", driver.error_text);

  int count = 0;
  CudaResult result = driver.initialise(0);
  if (result == kCudaSuccess) result = driver.device_count(&count);
  if (result != kCudaSuccess || count == 0)
    throw Error(ErrorKind::kEnvironment, "the CUDA driver finds no GPU (" +
                                             cuda_error_text(driver, result) + "); " + kRemedy);
  return driver;
}

}  // namespace

const CudaDriver& cuda_driver() {
  static const CudaDriver driver = opened();
  return driver;
}

std::string cuda_error_text(const CudaDriver& driver, CudaResult result) {
  const char* text = nullptr;
  if (driver.error_text(result, &text) != kCudaSuccess || text == nullptr) text = "unknown error";
  return std::string(text) + " (" + std::to_string(result) + ")";
}

}  // namespace draftproof::gpu
