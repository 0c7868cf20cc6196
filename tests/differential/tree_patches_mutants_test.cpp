// Goal: the alarm rings. Method: the tree kernels broken as compiled
// (fixtures/mutants/kernels/tree) must be told from the reference by what each patch names, within
// a few random batches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "gpu/launches/verify.h"
#include "gpu/ptx_patch.h"
#include "tests/differential/malformed_trees.h"
#include "tests/differential/parity.h"
#include "tests/differential/random_trees.h"
#include "tests/differential/tree_selection_device.h"

namespace draftproof::tests {
namespace {

using Finding = std::optional<std::string>;

std::vector<gpu::PtxPatch> patches() {
  std::vector<gpu::PtxPatch> list;
  for (const auto& file : std::filesystem::directory_iterator(DRAFTPROOF_SOURCE_DIR
                                                              "/fixtures/mutants/kernels/tree")) {
    if (file.path().extension() != ".ptxpatch") continue;
    std::ostringstream text;
    text << std::ifstream(file.path()).rdbuf();
    list.push_back(gpu::parse_ptx_patch(text.str(), file.path().filename().string()));
  }
  return list;
}

/// Sound trees first, with room behind them; then one that continues itself.
Finding layout_finding(const gpu::KernelTexts& texts) {
  const auto device = gpu::make_emulated_device();
  gpu::KernelModules modules(*device, texts);
  std::mt19937_64 random(51);
  Manner manner;
  manner.order.warp_instruction_limit = 200000;
  for (int i = 0; i < 20; ++i) {
    LayoutBatch batch;
    batch.rule.node_capacity = 30;
    for (int r = 0; r < 3; ++r) batch.trees.push_back(random_tree(random, random() % 29));
    if (const auto found = layout_disparity(modules, batch, manner)) return found;
  }
  LayoutBatch batch;
  batch.rule.node_capacity = 2;
  batch.trees = {{{-1}, {5}, 0}, {{-1, 1}, {5, 6}, 0}};
  return layout_disparity(modules, batch, manner);
}

Finding selection_finding(const gpu::KernelTexts& texts) {
  const auto device = gpu::make_emulated_device();
  gpu::KernelModules modules(*device, texts);
  std::mt19937_64 random(52);
  for (int i = 0; i < 60; ++i) {
    const SelectionBatch batch = random_selection(random, 24);
    if (const auto found = selection_disparity(modules, batch, random_manner(random))) return found;
  }
  return std::nullopt;
}

Finding rule_finding(const char* rule, const gpu::PatchedText& text, int case_count) {
  const auto device = gpu::make_emulated_device();
  const auto subject = gpu::make_kernel_verifier(*device, rule, text);
  const auto reference = reference::verify::make_verifier(rule);
  RandomCases cases(53, {2, 8, 8, 9});
  Grafter grafter(53);
  for (int i = 0; i < case_count; ++i) {
    RandomCase input = cases.next();
    grafter.graft(input);
    if (const auto found = disparity(*subject, *reference, input)) return found;
  }
  return malformed_disparity(rule, text.modules, small_odd_requests(), 32);
}

/// Sound kernels are met by all cases elsewhere; here a few show that the method finds nothing.
Finding finding(const gpu::PtxPatch* patch, std::string_view module) {
  gpu::PatchedText text{"kernels", "as compiled", gpu::embedded_texts()};
  if (patch != nullptr) text = gpu::patched_kernels(*patch, text.modules);
  if (module == "layout") return layout_finding(text.modules);
  if (module == "selection") return selection_finding(text.modules);
  for (const gpu::launches::VerifyRule& rule : gpu::launches::verify_rules())
    if (rule.module == module && rule.takes_trees)
      if (const auto found = rule_finding(rule.name, text, patch == nullptr ? 20 : 300))
        return found;
  return std::nullopt;
}

class TreePatches : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  }
};

TEST_F(TreePatches, AreFoundByWhatTheyName) {
  const std::vector<gpu::PtxPatch> list = patches();
  EXPECT_GE(list.size(), 12u);
  for (const gpu::PtxPatch& patch : list) {
    const Finding found = finding(&patch, patch.module);
    EXPECT_THAT(found.value_or(""), testing::HasSubstr(patch.kills))
        << patch.name << ": " << patch.statement;
    RecordProperty(patch.name, found.value_or(""));
  }
}

TEST_F(TreePatches, SoundKernelsAreFoundSound) {
  std::set<std::string_view> modules = {"layout", "selection"};
  for (const gpu::launches::VerifyRule& rule : gpu::launches::verify_rules())
    if (rule.takes_trees) modules.insert(rule.module);
  EXPECT_THAT(modules, testing::IsSupersetOf({"tree_greedy", "target_only", "siblings", "match"}));
  for (const std::string_view module : modules)
    EXPECT_EQ(finding(nullptr, module).value_or(""), "") << module;
}

}  // namespace
}  // namespace draftproof::tests
