// CudaDriver: the part of the CUDA driver API that a launch needs, opened at run time. The few
// types and constants are declared here, so that no CUDA header is needed to build and no libcuda
// to start; they follow the CUDA Driver API reference, "Module Management", "Memory Management" and
// "Execution Control".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace draftproof::gpu {

using CudaResult = int;
using CudaOrdinal = int;
using CudaAddress = unsigned long long;
struct CudaContextHandle;
struct CudaModuleHandle;
struct CudaFunctionHandle;
struct CudaStreamHandle;
struct CudaEventHandle;

inline constexpr CudaResult kCudaSuccess = 0;
/// CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
inline constexpr int kCudaMaxDynamicSharedBytes = 8;
/// CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK and CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
inline constexpr int kCudaFunctionThreadsMax = 0;
inline constexpr int kCudaFunctionSharedBytes = 1;
/// CU_DEVICE_ATTRIBUTE_*: MULTIPROCESSOR_COUNT, COMPUTE_CAPABILITY_MAJOR and _MINOR,
/// COOPERATIVE_LAUNCH, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, L2_CACHE_SIZE
inline constexpr int kCudaMultiprocessorCount = 16;
inline constexpr int kCudaCapabilityMajor = 75;
inline constexpr int kCudaCapabilityMinor = 76;
inline constexpr int kCudaCooperativeLaunch = 95;
inline constexpr int kCudaSharedBytesMax = 97;
inline constexpr int kCudaL2Bytes = 38;
/// CU_JIT_ERROR_LOG_BUFFER and CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
inline constexpr int kCudaErrorLog = 5;
inline constexpr int kCudaErrorLogBytes = 6;

struct CudaDriver {
  CudaResult (*initialise)(unsigned flags);
  CudaResult (*device_count)(int* count);
  CudaResult (*device)(CudaOrdinal* device, int index);
  CudaResult (*device_name)(char* name, int bytes, CudaOrdinal device);
  CudaResult (*device_attribute)(int* value, int attribute, CudaOrdinal device);
  CudaResult (*retain_context)(CudaContextHandle** context, CudaOrdinal device);
  CudaResult (*release_context)(CudaOrdinal device);
  CudaResult (*set_context)(CudaContextHandle* context);
  CudaResult (*current_context)(CudaContextHandle** context);
  CudaResult (*current_device)(CudaOrdinal* device);
  CudaResult (*push_context)(CudaContextHandle* context);
  CudaResult (*pop_context)(CudaContextHandle** context);
  CudaResult (*synchronise)();
  CudaResult (*load_module)(CudaModuleHandle** module, const void* image, unsigned option_count,
                            int* options, void** values);
  CudaResult (*unload_module)(CudaModuleHandle* module);
  CudaResult (*function)(CudaFunctionHandle** function, CudaModuleHandle* module, const char* name);
  CudaResult (*set_attribute)(CudaFunctionHandle* function, int attribute, int value);
  CudaResult (*function_attribute)(int* value, int attribute, CudaFunctionHandle* function);
  CudaResult (*resident_blocks)(int* blocks, CudaFunctionHandle* function, int block_threads,
                                std::size_t dynamic_shared_bytes);
  CudaResult (*allocate)(CudaAddress* address, std::size_t bytes);
  CudaResult (*release)(CudaAddress address);
  CudaResult (*copy_to_device)(CudaAddress to, const void* from, std::size_t bytes);
  CudaResult (*copy_to_host)(void* to, CudaAddress from, std::size_t bytes);
  CudaResult (*launch)(CudaFunctionHandle* function, unsigned grid_x, unsigned grid_y,
                       unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                       unsigned shared_bytes, CudaStreamHandle* stream, void** parameters,
                       void** extra);
  CudaResult (*launch_cooperative)(CudaFunctionHandle* function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared_bytes,
                                   CudaStreamHandle* stream, void** parameters);
  CudaResult (*fill_words)(CudaAddress to, unsigned word, std::size_t words,
                           CudaStreamHandle* stream);
  CudaResult (*create_event)(CudaEventHandle** event, unsigned flags);
  CudaResult (*destroy_event)(CudaEventHandle* event);
  CudaResult (*record_event)(CudaEventHandle* event, CudaStreamHandle* stream);
  CudaResult (*wait_for_event)(CudaEventHandle* event);
  CudaResult (*milliseconds_between)(float* milliseconds, CudaEventHandle* start,
                                     CudaEventHandle* end);
  CudaResult (*error_text)(CudaResult result, const char** text);
};

/// The driver, opened once. Throws Error(kEnvironment) with the remedy when there is none.
const CudaDriver& cuda_driver();

/// "illegal memory access (700)"
std::string cuda_error_text(const CudaDriver& driver, CudaResult result);

}  // namespace draftproof::gpu
