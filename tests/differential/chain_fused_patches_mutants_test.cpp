// Goal: the alarm rings. Method: fused acceptance broken as compiled
// (fixtures/mutants/kernels/fused) must be told from the reference by what each patch names, within
// a few random batches under random divisions, or a few replays of one launch; unbroken, the same
// cases find nothing.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "gpu/ptx_patch.h"
#include "tests/differential/captured_launch.h"
#include "tests/differential/fused_parity.h"

namespace draftproof::tests {
namespace {

std::vector<gpu::PtxPatch> patches() {
  std::vector<gpu::PtxPatch> list;
  for (const auto& file : std::filesystem::directory_iterator(DRAFTPROOF_SOURCE_DIR
                                                              "/fixtures/mutants/kernels/fused")) {
    if (file.path().extension() != ".ptxpatch") continue;
    std::ostringstream text;
    text << std::ifstream(file.path()).rdbuf();
    list.push_back(gpu::parse_ptx_patch(text.str(), file.path().filename().string()));
  }
  return list;
}

std::optional<std::string> finding(const gpu::PatchedText& text) {
  const auto device = gpu::make_emulated_device();
  const auto reference = reference::verify::make_verifier("chain");
  gpu::FusedVerifier subject(*device, "chain", std::nullopt, text);
  std::mt19937_64 engine(61);
  RandomCases cases(61, {1, 64, 4, 4});
  for (int i = 0; i < 80; ++i) {
    const RandomCase input = cases.next();
    if (auto found = fused_disparity(subject, *reference, input, random_division(engine)))
      return found;
  }
  if (auto found = replay_disparity(text.modules, 2, 8, 2, 12)) return "replay: " + *found;
  return std::nullopt;
}

class FusedPatches : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  }
};

TEST_F(FusedPatches, EachIsFoundByWhatItNames) {
  const auto list = patches();
  EXPECT_GE(list.size(), 10u);
  for (const gpu::PtxPatch& patch : list) {
    const auto found = finding(gpu::patched_kernels(patch, gpu::embedded_texts()));
    ASSERT_TRUE(found) << patch.name << " survives: " << patch.statement;
    EXPECT_NE(found->find(patch.kills), std::string::npos) << patch.name << ": " << *found;
    RecordProperty(patch.name, found->substr(0, 200));
  }
}

TEST_F(FusedPatches, NothingIsFoundInWhatIsUnbroken) {
  const auto found = finding({"fused", "as compiled", gpu::embedded_texts()});
  EXPECT_FALSE(found) << *found;
}

}  // namespace
}  // namespace draftproof::tests
