// Goal: the emulator decides what GPUs decided. Method: every file of
// fixtures/goldens/kernels_*.txt, one GPU each, is reproduced line by line.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "gpu/emulated_device.h"
#include "gpu/verifiers.h"
#include "tests/differential/golden.h"

namespace draftproof::tests {
namespace {

std::vector<std::filesystem::path> golden_files() {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path folder = golden_folder();
  if (!std::filesystem::exists(folder)) return files;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    if (file.path().filename().string().starts_with("kernels_")) files.push_back(file.path());
  return files;
}

TEST(KernelGoldens, TheEmulatorDecidesWhatGpusDecided) {
  if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  const auto files = golden_files();
  if (files.empty()) GTEST_SKIP() << "no goldens of a GPU yet; tools/gpu_check.sh writes them";
  const auto device = gpu::make_emulated_device();
  const auto subject = gpu::make_kernel_verifier(*device, "chain");
  for (const auto& file : files) {
    std::ifstream lines(file);
    RandomCases cases = golden_cases();
    for (int i = 0; i < kGoldenCount; ++i) {
      RandomCase input = cases.next();
      const auto outcome = subject->verify(input.batch, *input.coins, input.execution);
      std::string expected;
      ASSERT_TRUE(std::getline(lines, expected)) << file << " ends early";
      ASSERT_EQ(golden_line(i, input.batch, outcome.requests), expected) << file;
    }
  }
}

/// The comparison can fail: another outcome is another line.
TEST(KernelGoldens, AnotherOutcomeIsAnotherLine) {
  const reference::Batch batch;
  reference::RequestOutcome outcome;
  const std::string line = golden_line(0, batch, {outcome});
  outcome.emitted.push_back({3, reference::Reason::kBonus});
  EXPECT_NE(golden_line(0, batch, {outcome}), line);
}

}  // namespace
}  // namespace draftproof::tests
