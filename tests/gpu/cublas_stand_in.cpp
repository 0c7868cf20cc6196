// A stand-in for libcublas: the functions that gpu/cublas.cpp looks up, with the semantics of the
// cuBLAS library reference, column-major, on memory of this process or of an emulated device. It
// refuses what cuBLAS documents as CUBLAS_STATUS_INVALID_VALUE, leading dimensions above all, and
// what no path of ours should ask for. Like the real one it sums in an order that depends on the
// shape: backwards when there is more than one column.
#include "tests/gpu/cublas_stand_in.h"

#include <algorithm>
#include <cstring>
#include <new>

using draftproof::tests::StandInControl;

namespace {

constexpr int kSuccess = 0, kNotInitialized = 1, kInvalidValue = 7, kNotSupported = 15;

StandInControl control{};

struct StandInHandle {
  int alive = 1;
};

void load(std::uint64_t from, void* to, std::size_t bytes) {
  if (control.read != nullptr) return control.read(control.context, from, to, bytes);
  std::memcpy(to, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(from)), bytes);
}

void store(std::uint64_t to, float value) {
  if (control.write != nullptr) return control.write(control.context, to, &value, sizeof(value));
  std::memcpy(reinterpret_cast<void*>(static_cast<std::uintptr_t>(to)), &value, sizeof(value));
}

/// Element (row, column) of a column-major matrix.
float element(const void* matrix, int type, int leading, int row, int column) {
  const std::size_t bytes = type == 0 ? 4 : 2;
  const auto at = static_cast<std::uint64_t>(column) * static_cast<std::uint64_t>(leading) +
                  static_cast<std::uint64_t>(row);
  const std::uint64_t from = reinterpret_cast<std::uintptr_t>(matrix) + at * bytes;
  std::uint32_t bits = 0;
  if (type == 0) {
    load(from, &bits, 4);
  } else {
    std::uint16_t half = 0;
    load(from, &half, 2);
    bits = std::uint32_t{half} << 16;
  }
  float value = 0.0f;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

int status_of(const draftproof::tests::StandInGemm& own, const void* a, const void* b,
              const void* c) {
  const bool is_a_turned = own.operation_a == 1, is_b_turned = own.operation_b == 1;
  if (own.m < 0 || own.n < 0 || own.k < 0) return kInvalidValue;
  if (own.operation_a < 0 || own.operation_a > 2 || own.operation_b < 0 || own.operation_b > 2)
    return kInvalidValue;
  if (own.lda < std::max(1, is_a_turned ? own.k : own.m)) return kInvalidValue;
  if (own.ldb < std::max(1, is_b_turned ? own.n : own.k)) return kInvalidValue;
  if (own.ldc < std::max(1, own.m)) return kInvalidValue;
  if (a == nullptr || b == nullptr || c == nullptr) return kInvalidValue;
  const bool is_known = own.type_a == own.type_b && (own.type_a == 0 || own.type_a == 14) &&
                        own.type_c == 0 && own.compute_type == 68;
  return is_known ? kSuccess : kNotSupported;
}

}  // namespace

extern "C" {

StandInControl* draftproof_cublas_stand_in() { return &control; }

int cublasCreate_v2(StandInHandle** handle) {
  if (control.create_status != kSuccess) return control.create_status;
  *handle = new StandInHandle;
  ++control.handle_count;
  return kSuccess;
}

int cublasDestroy_v2(StandInHandle* handle) {
  --control.handle_count;
  delete handle;
  return kSuccess;
}

int cublasGetVersion_v2(StandInHandle*, int* version) {
  *version = 130000;
  return kSuccess;
}

int cublasSetStream_v2(StandInHandle*, void* stream) {
  control.stream = stream;
  return kSuccess;
}

int cublasSetMathMode(StandInHandle*, int mode) {
  control.math_mode = mode;
  return kSuccess;
}

const char* cublasGetStatusString(int status) {
  switch (status) {
    case kSuccess:
      return "CUBLAS_STATUS_SUCCESS";
    case kNotInitialized:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case kInvalidValue:
      return "CUBLAS_STATUS_INVALID_VALUE";
    default:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
}

int cublasGemmEx(StandInHandle* handle, int operation_a, int operation_b, int m, int n, int k,
                 const void* alpha, const void* a, int type_a, int lda, const void* b, int type_b,
                 int ldb, const void* beta, void* c, int type_c, int ldc, int compute_type,
                 int algorithm) {
  control.last = {operation_a, operation_b,  m,        n, k, type_a, lda, type_b, ldb, type_c,
                  ldc,         compute_type, algorithm};
  ++control.gemm_count;
  const int status = handle == nullptr ? kNotInitialized : status_of(control.last, a, b, c);
  if (status != kSuccess) {
    ++control.refused_count;
    return status;
  }
  const float scale = *static_cast<const float*>(alpha), kept = *static_cast<const float*>(beta);
  for (int column = 0; column < n; ++column)
    for (int row = 0; row < m; ++row) {
      float sum = 0.0f;
      for (int i = 0; i < k; ++i) {
        const int at = n > 1 ? k - 1 - i : i;
        sum += (operation_a == 0 ? element(a, type_a, lda, row, at)
                                 : element(a, type_a, lda, at, row)) *
               (operation_b == 0 ? element(b, type_b, ldb, at, column)
                                 : element(b, type_b, ldb, column, at));
      }
      // beta 0 does not read C, which may hold anything.
      const float before = kept == 0.0f ? 0.0f : kept * element(c, 0, ldc, row, column);
      store(reinterpret_cast<std::uintptr_t>(c) +
                (static_cast<std::uint64_t>(column) * static_cast<std::uint64_t>(ldc) +
                 static_cast<std::uint64_t>(row)) *
                    4,
            scale * sum + before);
    }
  return kSuccess;
}

}  // extern "C"
