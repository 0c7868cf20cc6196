// Goal: the alarm rings. Method: every broken kernel of fixtures/mutants/kernels is held against
// the reference on random batches, and must be found wrong by its outcome, by what the device saw,
// or by a changed input; whether the property that a patch names kills it is the catalog's test.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "gpu/emulated_device.h"
#include "gpu/ptx_patch.h"
#include "gpu/verifiers.h"
#include "reference/error.h"
#include "reference/verify/verifiers.h"
#include "tests/differential/parity.h"

namespace draftproof::tests {
namespace {

std::vector<gpu::PtxPatch> patches() {
  std::vector<gpu::PtxPatch> list;
  for (const auto& file :
       std::filesystem::directory_iterator(DRAFTPROOF_SOURCE_DIR "/fixtures/mutants/kernels")) {
    if (file.path().extension() != ".ptxpatch") continue;
    std::ostringstream text;
    text << std::ifstream(file.path()).rdbuf();
    list.push_back(gpu::parse_ptx_patch(text.str(), file.path().filename().string()));
  }
  return list;
}

/// What gives the patch away, and after how many cases; nothing when it survives.
std::optional<std::string> finding(const gpu::PtxPatch& patch) {
  const auto device = gpu::make_emulated_device();
  const auto subject = gpu::make_kernel_verifier(
      *device, "chain", gpu::patched_kernels(patch, gpu::embedded_texts()));
  const auto reference = reference::verify::make_verifier("chain");
  RandomCases cases(21, {1, 2048, 6, 4});
  RandomCases batches(22, {4000, 4096, 8, 4});
  for (int i = 0; i < 120; ++i) {
    const RandomCase input = i % 20 == 19 ? batches.next() : cases.next();
    if (const auto found = disparity(*subject, *reference, input))
      return "case " + std::to_string(i) + ": " + found->substr(0, 200);
  }
  return std::nullopt;
}

TEST(KernelPatches, EveryBrokenKernelIsFound) {
  if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  for (const gpu::PtxPatch& patch : patches()) {
    const auto found = finding(patch);
    EXPECT_TRUE(found) << patch.name << " survives: " << patch.statement;
    if (found) RecordProperty(patch.name, *found);
    if (std::getenv("DRAFTPROOF_TELL") != nullptr && found)
      std::cout << patch.name << ": " << *found << "\n";
  }
}

}  // namespace
}  // namespace draftproof::tests
