// Goal: what is embedded is what the build made of gpu/kernels, and the emulator knows all of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "gpu/emulator/code/decoded_module.h"
#include "gpu/kernels/embedded.h"
#include "gpu/launches/verify.h"

namespace draftproof::gpu {
namespace {

class EmbeddedKernels : public testing::Test {
 protected:
  void SetUp() override {
    if (kernels::embedded_modules().empty()) GTEST_SKIP() << "this build has no own kernels";
  }
};

TEST_F(EmbeddedKernels, HaveEveryEntry) {
  std::set<std::string> entries;
  for (const auto& module : kernels::embedded_modules())
    for (const EntryInfo& entry : emulator::decode(module.ptx, module.name, [](std::string_view) {
                                    return false;
                                  }).entries) {
      EXPECT_TRUE(entries.insert(entry.name).second) << "two entries " << entry.name;
      EXPECT_THAT(entry.name, testing::StartsWith("draftproof_"));
      ASSERT_TRUE(entry.max_block) << entry.name;
      EXPECT_LE(entry.max_block->count(), 1024u) << entry.name;
    }
  for (const char* format : {"f32", "bf16", "f16"})
    EXPECT_THAT(entries, testing::Contains(std::string("draftproof_shape_rows_") + format));
  for (const launches::VerifyRule& rule : launches::verify_rules())
    for (const char* entry : rule.entries) EXPECT_THAT(entries, testing::Contains(entry));
}

TEST_F(EmbeddedKernels, UseNoFormThatTheEmulatorLacks) {
  for (const auto& module : kernels::embedded_modules())
    for (const emulator::MissingForm& missing : emulator::missing_forms(module.ptx, module.name))
      ADD_FAILURE() << module.name << ":" << missing.line << ": " << missing.form;
}

TEST_F(EmbeddedKernels, NameNoPathOfTheMachineThatBuiltThem) {
  for (const auto& module : kernels::embedded_modules())
    EXPECT_EQ(module.ptx.find(DRAFTPROOF_SOURCE_DIR "/gpu"), std::string_view::npos) << module.name;
}

/// Fused products and flushed subnormals would change masses; every rounding is written down.
TEST_F(EmbeddedKernels, NeverFuseOrFlush) {
  for (const auto& module : kernels::embedded_modules()) {
    EXPECT_EQ(module.ptx.find(".ftz"), std::string_view::npos) << module.name;
    EXPECT_EQ(module.ptx.find(".approx"), std::string_view::npos) << module.name;
    for (const char* unrounded : {"\tmul.f32", "\tadd.f32", "\tsub.f32"})
      EXPECT_EQ(module.ptx.find(unrounded), std::string_view::npos) << module.name << unrounded;
  }
}

}  // namespace
}  // namespace draftproof::gpu
