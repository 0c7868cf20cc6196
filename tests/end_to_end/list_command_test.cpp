// list, inspect, help: what the command says about itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/end_to_end/command.h"

namespace draftproof::tests {
namespace {

using testing::HasSubstr;

std::vector<nlohmann::json> entries_of(const std::string& catalog) {
  const CommandResult result = draftproof({"list", catalog, "-o", "jsonl"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::vector<nlohmann::json> entries;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) entries.push_back(nlohmann::json::parse(line));
  return entries;
}

class Catalogs : public testing::TestWithParam<const char*> {};

TEST_P(Catalogs, HaveOneLineAnEntryAndIdsThatAreAllDifferent) {
  const auto entries = entries_of(GetParam());
  std::set<std::string> ids;
  for (const auto& entry : entries) ids.insert(entry["id"].get<std::string>());
  EXPECT_EQ(ids.size(), entries.size());
  const CommandResult text = draftproof({"list", GetParam()});
  EXPECT_EQ(lines_in(text.out), entries.size());
  for (const std::string& id : ids) EXPECT_THAT(text.out, HasSubstr(id));
}

INSTANTIATE_TEST_SUITE_P(All, Catalogs,
                         testing::Values("properties", "claims", "rules", "mutants", "kernels",
                                         "instructions", "checklist", "presets", "engines",
                                         "audits", "prompts"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ListMutants, NamesAKillerInTheCatalogForEveryOneThatMustDie) {
  std::set<std::string> properties;
  for (const auto& entry : entries_of("properties")) properties.insert(entry["id"]);
  std::set<std::string> kinds;
  for (const auto& entry : entries_of("mutants")) {
    kinds.insert(entry["kind"]);
    EXPECT_NE(entry["report"], "") << entry;
    if (entry["kind"] == "control") {
      EXPECT_EQ(entry["killed_by"], "") << entry;
    } else {
      EXPECT_TRUE(properties.contains(entry["killed_by"])) << entry;
    }
  }
  EXPECT_THAT(kinds, testing::IsSupersetOf({"mutant", "control", "common-mode"}));
}

TEST(Help, PrintsTheExitCodes) {
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"--help"}, {"check", "--help"}}) {
    const CommandResult result = draftproof(arguments);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.err, "");
    EXPECT_THAT(result.out, HasSubstr("Exit codes:"));
    EXPECT_THAT(result.out, HasSubstr("130  interrupted"));
  }
}

TEST(Help, OfDemoAndServeSaysWhatTheirOwnCodesMean) {
  const std::string demo = draftproof({"demo", "--help"}).out;
  EXPECT_THAT(demo, HasSubstr("0    it came out as it should"));
  EXPECT_THAT(demo, HasSubstr("1    our own kernel is violated"));
  EXPECT_THAT(demo, HasSubstr("2    a fault that these audits cannot see"));
  const std::string serve = draftproof({"serve", "--help"}).out;
  EXPECT_THAT(serve, HasSubstr("0    stopped by SIGTERM"));
  EXPECT_THAT(serve, HasSubstr("130  stopped by SIGINT"));
  for (const std::string& text : {demo, serve}) {
    EXPECT_THAT(text, testing::Not(HasSubstr("a claim is violated")));
    EXPECT_EQ(text.find("Exit codes:"), text.rfind("Exit codes:")) << "one table is enough";
  }
}

TEST(Version, IsPrinted) { EXPECT_EQ(draftproof({"--version"}).out, "draftproof 0.1.0\n"); }

constexpr const char* kPtx = R"(.version 8.0
.target sm_80
.address_size 64

.visible .entry first(
	.param .u64 .ptr .align 4 first_param_0,
	.param .u32 first_param_1
)
.maxntid 256, 1, 1
{
	.reg .b32 %r<4>;
	.shared .align 4 .b8 scratch[64];
	ld.param.u32 %r1, [first_param_1];
	frobnicate.sync.b32 %r2, %r1;
	frobnicate.sync.b32 %r3, %r1;
	ret;
}
)";

TEST(Inspect, NamesEntriesParametersAndWhatTheEmulatorLacks) {
  const TemporaryFolder folder;
  const std::string file = folder.write("one.ptx", kPtx);
  const CommandResult result = draftproof({"inspect", file});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("entry first   line 5"));
  EXPECT_THAT(result.out, HasSubstr("parameters    2 (12 bytes): param_0 (8), param_1 (4)"));
  EXPECT_THAT(result.out, HasSubstr("at most 256 x 1 x 1 threads"));
  EXPECT_THAT(result.out, HasSubstr("shared        64 bytes"));
  EXPECT_THAT(result.out, HasSubstr("frobnicate.sync.b32   2 times, first in line 14"));

  const auto json = nlohmann::json::parse(draftproof({"inspect", file, "-o", "json"}).out);
  const auto& missing = json["files"][0]["functions"][0]["missing"];
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0]["form"], "frobnicate.sync.b32");
  EXPECT_EQ(missing[0]["count"], 2);
}

}  // namespace
}  // namespace draftproof::tests
