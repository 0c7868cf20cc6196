// Tests of the label gpu skip without a GPU; DRAFTPROOF_REQUIRE_GPU=1 makes that a failure.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "gpu/cuda_device.h"
#include "gpu/verifiers.h"

namespace draftproof::tests {

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* required = std::getenv("DRAFTPROOF_REQUIRE_GPU");
    const bool is_required = required != nullptr && std::string(required) == "1";
    if (gpu::has_cuda_device()) {
      device_ = gpu::make_cuda_device();
    } else if (is_required) {
      FAIL() << "DRAFTPROOF_REQUIRE_GPU=1, and this machine has no GPU";
    } else {
      GTEST_SKIP() << "this machine has no GPU";
    }
    if (!device_ || gpu::kernels_are_embedded()) return;
    if (is_required) FAIL() << "DRAFTPROOF_REQUIRE_GPU=1, and this build has no own kernels";
    GTEST_SKIP() << "this build has no own kernels";
  }

  std::unique_ptr<gpu::Device> device_;
};

}  // namespace draftproof::tests
