// Cublas: matrix products by cuBLAS, opened at run time through a small table of function pointers,
// so that no CUDA header is needed to build and no library to start. The few types and constants
// are declared here; they follow the cuBLAS library reference (cublas_v2.h, library_types.h).
//
// Why here: an engine's projections and lm_head are such products, at M = 1 when it decodes and at
// M = draft length + 1 when it verifies, and cuBLAS may sum differently at each. Rows are row-major
// here and columns are contiguous there: a row-major M x K matrix with rows `stride` apart is the
// column-major K x M matrix of leading dimension `stride`, its transpose. So
//   output[M][N] = input[M][K] * weight[N][K]^T    is, column by column,
//   C (N x M, ldc) = op(A) * B,   A = weight, K x N, transposed;   B = input, K x M, as it is.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/cuda_driver.h"
#include "gpu/device.h"
#include "gpu/kernels/arguments/rows.h"

namespace draftproof::gpu {

using CublasStatus = int;
struct CublasHandle;

inline constexpr CublasStatus kCublasSuccess = 0;
inline constexpr int kCublasAsItIs = 0;        ///< CUBLAS_OP_N
inline constexpr int kCublasTransposed = 1;    ///< CUBLAS_OP_T
inline constexpr int kCudaFloat32 = 0;         ///< CUDA_R_32F
inline constexpr int kCudaBfloat16 = 14;       ///< CUDA_R_16BF
inline constexpr int kCublasCompute32F = 68;   ///< CUBLAS_COMPUTE_32F: no TF32
inline constexpr int kCublasDefaultMath = 0;   ///< CUBLAS_DEFAULT_MATH
inline constexpr int kCublasGemmDefault = -1;  ///< CUBLAS_GEMM_DEFAULT

struct CublasLibrary {
  CublasStatus (*create)(CublasHandle** handle);
  CublasStatus (*destroy)(CublasHandle* handle);
  CublasStatus (*version)(CublasHandle* handle, int* version);
  CublasStatus (*set_stream)(CublasHandle* handle, CudaStreamHandle* stream);
  CublasStatus (*set_math_mode)(CublasHandle* handle, int mode);
  CublasStatus (*gemm)(CublasHandle* handle, int operation_a, int operation_b, int m, int n, int k,
                       const void* alpha, const void* a, int type_a, int lda, const void* b,
                       int type_b, int ldb, const void* beta, void* c, int type_c, int ldc,
                       int compute_type, int algorithm);
  const char* (*status_text)(CublasStatus status);
};

/// Opens the library at `path`, or, when that is empty, libcublas.so.13 or .12 where the loader
/// finds it. Never closed. Throws Error(kEnvironment) with the remedy.
CublasLibrary open_cublas(const std::string& path = "");

/// output[m][n] = sum over k of input[m][k] * weight[n][k] in fp32; the output is fp32. Input and
/// weights have one format, since cuBLAS multiplies no mixed ones.
struct CublasProduct {
  DevicePointer input = 0;
  DevicePointer weight = 0;
  DevicePointer output = 0;
  std::uint64_t input_stride = 0;                       ///< elements, >= input_width, < 2^31
  std::uint64_t weight_stride = 0;                      ///< elements, >= input_width, < 2^31
  std::uint64_t output_stride = 0;                      ///< elements, >= output_width, < 2^31
  std::uint32_t row_count = 0;                          ///< M >= 1, < 2^31, as the widths
  std::uint32_t input_width = 0;                        ///< K
  std::uint32_t output_width = 0;                       ///< N
  draftproof_logit_format format = DRAFTPROOF_FLOAT32;  ///< or DRAFTPROOF_BFLOAT16
};

/// A handle of cuBLAS on a stream, in the context that is current when it is made.
class Cublas {
 public:
  /// `stream` null: the stream that our launches use. Throws Error(kEnvironment).
  explicit Cublas(const CublasLibrary& library, CudaStreamHandle* stream = nullptr);
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  int version() const { return version_; }
  /// Enqueues the product. Throws Error(kEnvironment) with cuBLAS's own words when it refuses, and
  /// BrokenInvariant for a product that is not as documented.
  void multiply(const CublasProduct& product) const;

 private:
  void require(CublasStatus status, const char* what) const;

  CublasLibrary library_;
  CublasHandle* handle_ = nullptr;
  int version_ = 0;
};

}  // namespace draftproof::gpu
