// Goal: the driver behind the Device seam: memory keeps what it is given, wrong calls are refused,
// and the embedded texts load.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/kernels/embedded.h"
#include "reference/error.h"
#include "tests/gpu/require_gpu.h"

namespace draftproof::gpu {
namespace {

class CudaDeviceOnGpu : public tests::GpuTest {};

TEST_F(CudaDeviceOnGpu, MemoryKeepsWhatItIsGiven) {
  const std::vector<std::uint32_t> given{1, 2, 0xffffffffu};
  Buffer buffer(*device_, given.size() * sizeof(given[0]), "test");
  buffer.write(std::span<const std::uint32_t>(given));
  std::vector<std::uint32_t> read(given.size());
  buffer.read(std::span<std::uint32_t>(read));
  EXPECT_EQ(read, given);
  EXPECT_EQ(device_->observes(), is_stand_in());
}

TEST_F(CudaDeviceOnGpu, EveryEmbeddedTextLoads) {
  for (const auto& module : kernels::embedded_modules())
    EXPECT_FALSE(device_->load(module.ptx, module.name)->entries().empty());
}

TEST_F(CudaDeviceOnGpu, RefusesWrongCalls) {
  const auto module = device_->load(kernels::embedded_modules().front().ptx, "shaping.ptx");
  EXPECT_THROW(device_->launch(*module, "no_such_entry", {}, {}), Error);
  EXPECT_THROW(device_->launch(*module, "draftproof_shape_rows_f32", {}, {}), Error);
  EXPECT_THROW(device_->load("not ptx", "broken.ptx"), Error);
}

}  // namespace
}  // namespace draftproof::gpu
