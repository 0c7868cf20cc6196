// Tests of the label gpu skip without a GPU; DRAFTPROOF_REQUIRE_GPU=1 makes that a failure. Under
// DRAFTPROOF_GPU_STAND_IN=emulator they run on the emulated device, fewer cases each, so that a dry
// run of tools/gpu_check.sh executes the very tests that a GPU will.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "gpu/cuda_device.h"
#include "gpu/emulated_device.h"
#include "gpu/verifiers.h"

namespace draftproof::tests {

inline std::string environment_text(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    const bool is_required = environment_text("DRAFTPROOF_REQUIRE_GPU") == "1";
    if (is_stand_in()) {
      device_ = gpu::make_emulated_device();
    } else if (gpu::has_cuda_device()) {
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

  static bool is_stand_in() { return environment_text("DRAFTPROOF_GPU_STAND_IN") == "emulator"; }
  /// So many cases on a GPU, few where the emulator stands in for one.
  static int cases_of(int count) { return is_stand_in() ? std::max(1, count / 100) : count; }

  std::unique_ptr<gpu::Device> device_;
};

}  // namespace draftproof::tests
