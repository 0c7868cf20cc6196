// What tests say to the cuBLAS stand-in, and what it tells them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace draftproof::tests {

/// The arguments of the last cublasGemmEx, as they came.
struct StandInGemm {
  int operation_a, operation_b, m, n, k, type_a, lda, type_b, ldb, type_c, ldc, compute_type,
      algorithm;
};

struct StandInControl {
  /// Memory that pointers mean; null: this process's own.
  void (*read)(void* context, std::uint64_t from, void* to, std::size_t bytes);
  void (*write)(void* context, std::uint64_t to, const void* from, std::size_t bytes);
  void* context;
  StandInGemm last;
  int gemm_count;
  int refused_count;
  int handle_count;  ///< alive
  void* stream;      ///< of the last handle
  int math_mode;
  int create_status;  ///< what the next cublasCreate_v2 answers
};

using StandInControlFunction = StandInControl* (*)();

}  // namespace draftproof::tests
