// Goal: a patch changes what it declares and nothing else, and never passes silently when it no
// longer applies. Method: a few lines of PTX, and every patch of fixtures/ on the embedded kernels.
#include "gpu/ptx_patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "reference/error.h"

namespace draftproof::gpu {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kPtx = R"(.version 9.0
.visible .entry first(
	.param .u64 first_param_0
)
{
	.loc	1 10 5
	add.s32 	%r1, %r2, 1;
	bar.sync 	0;
	// begin inline asm
	// draftproof: bound %rd7
	// end inline asm
	sub.s32 	%r9, %r1, %r1;
	ret;
}
.visible .entry second(
)
{
	add.s32 	%r1, %r2, 1;
	ret;
}
)";

std::string patch_text(const std::string& entry, const std::string& hunks) {
  return "name: test\nstatement: s\nreport: r\nkills: k\nmodule: m\nentry: " + entry + "\n" + hunks;
}

std::string patched_with(const std::string& entry, const std::string& hunks) {
  return patched(parse_ptx_patch(patch_text(entry, hunks), "test.ptxpatch"), kPtx);
}

std::string refusal(const std::string& entry, const std::string& hunks) {
  try {
    patched_with(entry, hunks);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(PtxPatch, CapturesRegistersAndReplacesLines) {
  const std::string text =
      patched_with("first", "@@ 1\n-add.s32 {to}, {a}, 1;\n+sub.s32 {to}, {a}, 2;\n");
  EXPECT_THAT(text, HasSubstr("sub.s32 %r1, %r2, 2;"));
  EXPECT_THAT(text.substr(text.find("second")), HasSubstr("add.s32 \t%r1, %r2, 1;"));
}

TEST(PtxPatch, StepsOverLocationsAndSkips) {
  const std::string text =
      patched_with("first", "@@ 1\n add.s32 {to}, {a}, 1;\n-bar.sync 0;\n...\n ret;\n");
  EXPECT_THAT(text, Not(HasSubstr("bar.sync")));
  EXPECT_THAT(text, HasSubstr("add.s32"));
}

TEST(PtxPatch, FindsAnchors) {
  const std::string text =
      patched_with("first", "@@ 1\n draftproof: bound {value}\n+mov.u64 {value}, 0;\n");
  EXPECT_THAT(text, HasSubstr("// draftproof: bound %rd7\n\tmov.u64 %rd7, 0;\n"));
}

TEST(PtxPatch, KnowsTheEntryAndMatchesByStar) {
  const std::string text = patched_with("*", "@@ 2\n ret;\n+ld.param.u64 %x, [{entry}_param_0];\n");
  EXPECT_THAT(text, HasSubstr("[first_param_0]"));
  EXPECT_THAT(text, HasSubstr("[second_param_0]"));
}

TEST(PtxPatch, ACaptureMustMatchItselfAgain) {
  EXPECT_THAT(patched_with("first", "@@ 1\n-sub.s32 {to}, {a}, {a};\n"), Not(HasSubstr("sub.s32")));
  EXPECT_THAT(refusal("first", "@@ 1\n-add.s32 {a}, {a}, 1;\n"), HasSubstr("no longer applies"));
}

TEST(PtxPatch, RefusesAnyOtherNumberOfPlaces) {
  EXPECT_THAT(refusal("*", "@@ 1\n-add.s32 {to}, {a}, 1;\n"),
              HasSubstr("test.ptxpatch:7: patch test no longer applies: it matches 2 places"));
  EXPECT_THAT(refusal("third", "@@ 1\n-ret;\n"), HasSubstr("it matches 0 places"));
}

TEST(PtxPatch, RefusesMalformedPatchesAtTheirLine) {
  EXPECT_THAT(refusal("first", "@@ none\n-ret;\n"), HasSubstr("test.ptxpatch:7: expected \"@@"));
  EXPECT_THAT(refusal("first", "@@ 1\nret;\n"), HasSubstr("test.ptxpatch:8: expected a line"));
  EXPECT_THAT(refusal("first", "@@ 1\n+ret;\n"), HasSubstr("test.ptxpatch:8: a hunk begins"));
  EXPECT_THAT(refusal("first", "@@ 1\n ret;\n"), HasSubstr("changes nothing"));
  EXPECT_THAT(refusal("first", "@@ 1\n-ret;\n+mov.u32 {x}, 0;\n"),
              HasSubstr("nothing captured {x}"));
  EXPECT_THAT(refusal("first", ""), HasSubstr("has no hunk"));
  EXPECT_THAT(refusal("", "@@ 1\n-ret;\n"), HasSubstr("must all be given"));
}

std::string contents_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(PtxPatch, KnowsTheRulesThatItBreaks) {
  const auto rules = [](const std::string& module, const std::string& entry) {
    PtxPatch patch;
    patch.module = module;
    patch.entry = entry;
    return rules_of(patch);
  };
  EXPECT_THAT(rules("chain", "draftproof_verify_chain_*"), testing::ElementsAre("chain"));
  EXPECT_THAT(rules("siblings", "draftproof_verify_without_replacement_f32"),
              testing::ElementsAre("without-replacement"));
  EXPECT_EQ(rules("shaping", "draftproof_shape_rows_*"), kernel_rules());
  EXPECT_THAT(rules("kv_commit", "*"), testing::IsEmpty());
}

TEST(PtxPatch, EveryFixtureAppliesToTheEmbeddedKernels) {
  if (!kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  int count = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(DRAFTPROOF_SOURCE_DIR "/fixtures/mutants/kernels")) {
    if (file.path().extension() != ".ptxpatch") continue;
    ++count;
    const PtxPatch patch =
        parse_ptx_patch(contents_of(file.path()), file.path().filename().string());
    EXPECT_EQ(patch.name, file.path().stem().string());
    try {
      const PatchedText broken = patched_kernels(patch, embedded_texts());
      EXPECT_NE(broken.modules.at(patch.module), embedded_texts().at(patch.module));
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
  EXPECT_GE(count, 12);
}

}  // namespace
}  // namespace draftproof::gpu
