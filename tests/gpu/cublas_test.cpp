// Goal: a row-major product reaches cuBLAS as the column-major one that means the same. Method: a
// stand-in library with column-major semantics and the documented refusals, opened as the real one
// is; strides, sizes and formats that are all different.
#include "gpu/cublas.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "reference/error.h"
#include "tests/gpu/cublas_stand_in.h"

namespace draftproof::gpu {
namespace {

tests::StandInControl& control() {
  static tests::StandInControl* const own = [] {
    void* const library = dlopen(DRAFTPROOF_CUBLAS_STAND_IN, RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<tests::StandInControlFunction>(
        dlsym(library, "draftproof_cublas_stand_in"))();
  }();
  return *own;
}

class CublasProducts : public testing::Test {
 protected:
  void SetUp() override { control() = {}; }
  CublasLibrary library_ = open_cublas(DRAFTPROOF_CUBLAS_STAND_IN);
};

DevicePointer pointer_to(const void* host) { return reinterpret_cast<std::uintptr_t>(host); }

/// Row-major operands of small integers, whose products and sums are exact in fp32 and bf16.
struct Operands {
  std::uint32_t rows, inputs, outputs;
  std::uint64_t input_stride, weight_stride, output_stride;
  std::vector<float> input, weight, output;

  Operands(std::uint32_t m, std::uint32_t k, std::uint32_t n)
      : rows(m),
        inputs(k),
        outputs(n),
        input_stride(k + 3),
        weight_stride(k + 1),
        output_stride(n + 2) {
    std::mt19937 source(m * 100 + k * 10 + n);
    const auto fill = [&](std::vector<float>& values, std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i)
        values.push_back(static_cast<float>(static_cast<int>(source() % 33) - 16));
    };
    fill(input, rows * input_stride);
    fill(weight, outputs * weight_stride);
    output.assign(rows * output_stride, std::nanf(""));
  }
  float truth(std::uint32_t m, std::uint32_t n) const {
    float sum = 0.0f;
    for (std::uint32_t k = 0; k < inputs; ++k)
      sum += input[m * input_stride + k] * weight[n * weight_stride + k];
    return sum;
  }
  CublasProduct product() const {
    return {pointer_to(input.data()),
            pointer_to(weight.data()),
            pointer_to(output.data()),
            input_stride,
            weight_stride,
            output_stride,
            rows,
            inputs,
            outputs,
            DRAFTPROOF_FLOAT32};
  }
  void expect_product() const {
    for (std::uint32_t m = 0; m < rows; ++m)
      for (std::uint64_t n = 0; n < output_stride; ++n) {
        const float found = output[m * output_stride + n];
        if (n < outputs)
          EXPECT_EQ(found, truth(m, static_cast<std::uint32_t>(n))) << m << ", " << n;
        else
          EXPECT_TRUE(std::isnan(found)) << "written behind a row";
      }
  }
};

TEST_F(CublasProducts, AreThoseOfRowMajorOperandsAtEveryBatchShape) {
  const Cublas cublas(library_);
  EXPECT_EQ(cublas.version(), 130000);
  for (const std::uint32_t rows : {1u, 2u, 5u, 9u})
    for (const auto& [inputs, outputs] : {std::pair{1u, 7u}, {6u, 1u}, {5u, 11u}, {12u, 4u}}) {
      const Operands operands(rows, inputs, outputs);
      cublas.multiply(operands.product());
      operands.expect_product();
      EXPECT_EQ(control().last.m, static_cast<int>(outputs));
      EXPECT_EQ(control().last.n, static_cast<int>(rows));
      EXPECT_EQ(control().last.algorithm, kCublasGemmDefault);
    }
  EXPECT_EQ(control().refused_count, 0);
}

TEST_F(CublasProducts, TakeBfloat16AndAnswerInFloat32) {
  Operands operands(3, 5, 4);
  const auto narrowed = [](const std::vector<float>& values) {
    std::vector<std::uint16_t> bits;
    for (const float value : values) {
      std::uint32_t word = 0;
      std::memcpy(&word, &value, sizeof(word));
      bits.push_back(static_cast<std::uint16_t>(word >> 16));
    }
    return bits;
  };
  const auto input = narrowed(operands.input), weight = narrowed(operands.weight);
  CublasProduct product = operands.product();
  product.input = pointer_to(input.data());
  product.weight = pointer_to(weight.data());
  product.format = DRAFTPROOF_BFLOAT16;
  Cublas(library_).multiply(product);
  operands.expect_product();
  EXPECT_EQ(control().last.type_a, kCudaBfloat16);
  EXPECT_EQ(control().last.type_c, kCudaFloat32);
}

/// The mappings that come to mind first are refused, or give another product.
TEST_F(CublasProducts, MappedInAnotherWayAreRefusedOrWrong) {
  const Operands operands(2, 5, 3);
  CublasHandle* handle = nullptr;
  ASSERT_EQ(library_.create(&handle), kCublasSuccess);
  const float one = 1.0f, zero = 0.0f;
  std::vector<float> c(64);
  const auto gemm = [&](int operation_a, int m, int n, int lda, int ldc) {
    return library_.gemm(handle, operation_a, kCublasAsItIs, m, n, 5, &one, operands.weight.data(),
                         0, lda, operands.input.data(), 0, 8, &zero, c.data(), 0, ldc, 68, -1);
  };
  EXPECT_EQ(gemm(kCublasTransposed, 3, 2, 6, 5), kCublasSuccess);
  EXPECT_EQ(c[5], operands.truth(1, 0));
  EXPECT_EQ(gemm(kCublasTransposed, 3, 2, 4, 5), 7) << "leading dimension below K";
  EXPECT_EQ(gemm(kCublasTransposed, 3, 2, 6, 2), 7) << "leading dimension of C below N";
  EXPECT_EQ(gemm(kCublasAsItIs, 3, 2, 2, 5), 7) << "rows taken for columns";
  EXPECT_EQ(gemm(kCublasAsItIs, 3, 2, 3, 5), kCublasSuccess) << "allowed, and another product";
  EXPECT_NE(c[5], operands.truth(1, 0));
  library_.destroy(handle);
}

TEST_F(CublasProducts, HaveAHandleOfTheirOwnOnTheStreamAndGiveItBack) {
  int place = 0;
  auto* const stream = reinterpret_cast<CudaStreamHandle*>(&place);
  {
    const Cublas cublas(library_, stream);
    EXPECT_EQ(control().handle_count, 1);
    EXPECT_EQ(control().stream, stream);
    EXPECT_EQ(control().math_mode, kCublasDefaultMath);
  }
  EXPECT_EQ(control().handle_count, 0);
}

template <class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_F(CublasProducts, TellWhatCublasSays) {
  control().create_status = 1;
  EXPECT_EQ(message_of([&] { Cublas cublas(library_); }),
            "cuBLAS: cannot make a handle: CUBLAS_STATUS_NOT_INITIALIZED (1)");
}

TEST_F(CublasProducts, ThatAreNotAsDocumentedAreOurFault) {
  const Cublas cublas(library_);
  const Operands operands(2, 5, 3);
  const auto broken = [&](auto change) {
    CublasProduct product = operands.product();
    change(product);
    EXPECT_THROW(cublas.multiply(product), BrokenInvariant);
  };
  broken([](CublasProduct& product) { product.input = 0; });
  broken([](CublasProduct& product) { product.row_count = 0; });
  broken([](CublasProduct& product) { product.input_stride = 4; });
  broken([](CublasProduct& product) { product.weight_stride = 4; });
  broken([](CublasProduct& product) { product.output_stride = 2; });
  broken([](CublasProduct& product) { product.output_stride = std::uint64_t{1} << 31; });
  broken([](CublasProduct& product) { product.format = DRAFTPROOF_FLOAT16; });
  EXPECT_EQ(control().gemm_count, 0);
}

TEST(CublasLibraryFile, ThatIsMissingOrAnotherOneIsNamed) {
  EXPECT_THAT(message_of([] { open_cublas("no/such/libcublas.so"); }),
              testing::HasSubstr("(no/such/libcublas.so); install it"));
  EXPECT_THAT(message_of([] { open_cublas("libm.so.6"); }),
              testing::HasSubstr("libm.so.6: has no cublasCreate_v2"));
}

}  // namespace
}  // namespace draftproof::gpu
