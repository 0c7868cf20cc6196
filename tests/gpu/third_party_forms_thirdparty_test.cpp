// Goal: the emulated device has every form that FlashInfer's chain kernel, SGLang's tree kernels
// and vLLM's acceptance kernels contain. Needs tools/kernels/fetch.sh NAME; skipped without it.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "gpu/emulator/code/decoded_module.h"
#include "tests/gpu/third_party_run.h"

namespace draftproof::gpu {
namespace {

namespace fs = std::filesystem;

class ThirdPartyForms : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!test::is_fetched(GetParam())) {
      GTEST_SKIP() << "run tools/kernels/fetch.sh " << GetParam();
    }
    for (const auto& file : fs::directory_iterator(test::third_party_folder(GetParam()))) {
      if (file.path().extension() == ".ptx") files_.push_back(file.path());
    }
    std::sort(files_.begin(), files_.end());
  }
  std::vector<fs::path> files_;
};

TEST_P(ThirdPartyForms, AreAllThereAndEveryEntryDecodes) {
  ASSERT_FALSE(files_.empty());
  std::size_t entries = 0, instructions = 0;
  std::set<std::string> forms;
  for (const fs::path& file : files_) {
    const std::string name = file.filename().string();
    const std::string text = test::text_of(file);
    for (const emulator::MissingForm& missing : emulator::missing_forms(text, name)) {
      ADD_FAILURE() << name << ":" << missing.line << ": " << missing.form;
    }
    const emulator::DecodedModule module = emulator::decode(text, name);
    EXPECT_FALSE(module.programs.empty()) << name;
    EXPECT_EQ(module.programs.size(), module.entries.size()) << name;
    EXPECT_TRUE(module.warnings.empty()) << module.warnings.front();
    entries += module.programs.size();
    for (const emulator::Program& program : module.programs) {
      EXPECT_FALSE(program.instructions.empty()) << program.info.name;
      instructions += program.instructions.size();
    }
    forms.insert(module.forms.begin(), module.forms.end());
  }
  RecordProperty("entries", static_cast<int>(entries));
  RecordProperty("instructions", static_cast<int>(instructions));
  RecordProperty("forms", static_cast<int>(forms.size()));
}

/// The check above can fail: a form of none of these kernels is named as missing.
TEST_P(ThirdPartyForms, AnUnknownOneIsNamed) {
  ASSERT_FALSE(files_.empty());
  std::string text = test::text_of(files_.front());
  const std::size_t at = text.find("ret;");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 4, "tcgen05.shift.cta_group::1.down [0]; ret;");
  const auto missing = emulator::missing_forms(text, "changed.ptx");
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing.front().form, "tcgen05.shift.cta_group::1.down");
  EXPECT_THROW(emulator::decode(text, "changed.ptx"), Error);
}

INSTANTIATE_TEST_SUITE_P(Fetched, ThirdPartyForms, testing::Values("flashinfer", "sglang", "vllm"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace draftproof::gpu
