// Goal: the alarm rings. Method: the kernels of the target forward broken as compiled
// (fixtures/mutants/kernels/model) must be told from the twin and from the float64 model by what
// each patch names, within a few histories.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "gpu/ptx_patch.h"
#include "tests/differential/forward_history.h"

namespace draftproof::tests {
namespace {

std::vector<gpu::PtxPatch> patches() {
  std::vector<gpu::PtxPatch> list;
  for (const auto& file : std::filesystem::directory_iterator(DRAFTPROOF_SOURCE_DIR
                                                              "/fixtures/mutants/kernels/model")) {
    if (file.path().extension() != ".ptxpatch") continue;
    std::ostringstream text;
    text << std::ifstream(file.path()).rdbuf();
    list.push_back(gpu::parse_ptx_patch(text.str(), file.path().filename().string()));
  }
  return list;
}

/// Everything that gives the kernels away, or "" when they survive.
std::string finding(const gpu::KernelTexts& texts) {
  std::string told;
  for (std::uint64_t seed = 1; seed <= 3 && told.empty(); ++seed) {
    const HistoryFindings found = ForwardHistory(texts, seed, true).run(2, 4);
    if (!found.observations.empty())
      told += found.observations[0].check + ": " + found.observations[0].message + "; ";
    if (!found.equals_twin) told += "another row than the twin's: " + found.first_difference + "; ";
    if (found.share_max > 1.0)
      told += "outside the certified error: " + std::to_string(found.share_max) + " of it";
  }
  return told;
}

TEST(ModelPatches, AreToldByWhatTheyName) {
  if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  EXPECT_EQ(finding(gpu::embedded_texts()), "") << "sound kernels";
  const std::vector<gpu::PtxPatch> all = patches();
  EXPECT_GE(all.size(), 7u);
  for (const gpu::PtxPatch& patch : all) {
    const std::string told = finding(gpu::patched_kernels(patch, gpu::embedded_texts()).modules);
    EXPECT_THAT(told, testing::HasSubstr(patch.kills)) << patch.name << ": " << patch.statement;
    RecordProperty(patch.name, told);
  }
}

}  // namespace
}  // namespace draftproof::tests
