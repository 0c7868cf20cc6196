// Goal: the alarm rings. Method: the kernels of the target forward broken as compiled
// (fixtures/mutants/kernels/model) must be told from the twin and from the float64 model by what
// each patch names, within a few histories; and so must a broken commit of cells, because a forward
// pass reads what it left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "gpu/ptx_patch.h"
#include "tests/differential/forward_history.h"

namespace draftproof::tests {
namespace {

const std::filesystem::path kPatches = DRAFTPROOF_SOURCE_DIR "/fixtures/mutants/kernels";

gpu::PtxPatch patch_in(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return gpu::parse_ptx_patch(text.str(), file.filename().string());
}

std::vector<gpu::PtxPatch> patches() {
  std::vector<gpu::PtxPatch> list;
  for (const auto& file : std::filesystem::directory_iterator(kPatches / "model"))
    if (file.path().extension() == ".ptxpatch") list.push_back(patch_in(file.path()));
  return list;
}

/// Everything that gives the kernels away, or "" when they survive.
std::string finding(const gpu::KernelTexts& texts) {
  std::string told;
  for (std::uint64_t seed = 1; seed <= 3 && told.empty(); ++seed) {
    const HistoryFindings found = ForwardHistory(texts, seed, true).run(2, 4);
    if (!found.observations.empty())
      told += found.observations[0].check + ": " + found.observations[0].message + "; ";
    if (!found.commits_as_told) told += "a commit that says so; ";
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

TEST(ModelPatches, ShowABrokenCommitInLogits) {
  if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  for (const char* name : {"kv_rejected_cells_kept", "kv_values_at_base_of_keys"}) {
    const gpu::PtxPatch patch = patch_in(kPatches / "kv" / (std::string(name) + ".ptxpatch"));
    const std::string told = finding(gpu::patched_kernels(patch, gpu::embedded_texts()).modules);
    EXPECT_THAT(told, testing::HasSubstr("another row than the twin's")) << name;
    EXPECT_THAT(told, testing::HasSubstr("outside the certified error")) << name;
  }
}

}  // namespace
}  // namespace draftproof::tests
