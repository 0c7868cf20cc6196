// Goal: without a GPU the device says what to do, and nothing else of the program needs libcuda.
// With one, cuda_device_gpu_test.cpp runs.
#include "gpu/cuda_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/error.h"

namespace draftproof::gpu {
namespace {

TEST(CudaDevice, NamesTheRemedyWhereThereIsNone) {
  if (has_cuda_device()) GTEST_SKIP() << "this machine has a GPU";
  try {
    make_cuda_device();
    FAIL() << "no GPU, and no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_THAT(error.what(), testing::HasSubstr("--device emulator"));
  }
}

}  // namespace
}  // namespace draftproof::gpu
