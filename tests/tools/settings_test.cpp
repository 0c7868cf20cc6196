// Texts of the command line as values, and exit codes.
#include "tools/draftproof/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "reference/error.h"
#include "tools/draftproof/exit_code.h"
#include "tools/draftproof/version.h"

namespace draftproof::tools {
namespace {

TEST(Duration, IsReadWithItsUnits) {
  EXPECT_EQ(seconds_from("90s", "--time-limit"), 90);
  EXPECT_EQ(seconds_from("2m", "--time-limit"), 120);
  EXPECT_EQ(seconds_from("1h30m", "--time-limit"), 5400);
  EXPECT_EQ(seconds_from("0.5s", "--time-limit"), 0.5);
}

TEST(Duration, IsRefusedWithoutUnitsSignOrSize) {
  for (const char* text :
       {"", "90", "m", "-2m", "2x", "2m3", "1e400s", "0s", "nan", "2 m", "infs"}) {
    try {
      seconds_from(text, "--time-limit");
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("--time-limit: ")) << text;
    }
  }
}

TEST(Seed, IsAWholeNumberOfSixtyFourBits) {
  EXPECT_EQ(seed_from("0", "--seed"), 0u);
  EXPECT_EQ(seed_from("18446744073709551615", "--seed"), ~std::uint64_t{0});
  EXPECT_EQ(seed_from("0xff", "--seed"), 255u);
  for (const char* text : {"", "-1", "18446744073709551616", "7x", "0x", "1.5", " 1"}) {
    EXPECT_THROW(seed_from(text, "--seed"), Error) << text;
  }
}

TEST(Battery, HasThreeNames) {
  for (const char* name : {"smoke", "standard", "deep"}) {
    EXPECT_EQ(to_string(battery_from(name)), name);
  }
  EXPECT_THROW(battery_from("huge"), Error);
}

TEST(ExitCode, FollowsTheVerdict) {
  using oracle::VerdictKind;
  EXPECT_EQ(exit_code_of(VerdictKind::kUpheld, false), ExitCode::kUpheld);
  EXPECT_EQ(exit_code_of(VerdictKind::kInconclusive, false), ExitCode::kInconclusive);
  EXPECT_EQ(exit_code_of(VerdictKind::kInconclusive, true), ExitCode::kUpheld);
  EXPECT_EQ(exit_code_of(VerdictKind::kViolated, true), ExitCode::kViolated);
}

TEST(ExitCode, IsExplainedInFull) {
  const std::string table = exit_code_table();
  for (const char* line : {"    0  ", "    1  ", "    2  ", "    3  ", "    4  ", "  130  "}) {
    EXPECT_THAT(table, testing::HasSubstr(line));
  }
}

TEST(Version, IsTheBuildsOwn) {
  std::ifstream file(DRAFTPROOF_SOURCE_DIR "/CMakeLists.txt");
  std::stringstream content;
  content << file.rdbuf();
  const std::string text = content.str();
  std::smatch match;
  ASSERT_TRUE(std::regex_search(text, match, std::regex("project\\(draftproof VERSION ([0-9.]+)")));
  EXPECT_EQ(match[1], kVersion);
}

}  // namespace
}  // namespace draftproof::tools
