// Files on disk. Goal: whole or absent, the same content under the same name, and errors that name
// the path.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "reference/error.h"
#include "tests/tools/sample_run.h"
#include "tools/store/atomic_file.h"
#include "tools/store/case_store.h"
#include "tools/store/run_store.h"

namespace draftproof::tools::store {
namespace {

namespace fs = std::filesystem;

class Store : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      found.push_back(entry.path().filename().string());
    }
    return found;
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("draftproof-store-" + std::to_string(::getpid()));
};

TEST_F(Store, WritesAFileAndLeavesNothingBesideIt) {
  write_atomically(folder_ / "a.txt", "one");
  write_atomically(folder_ / "a.txt", "two");
  EXPECT_EQ(read_file(folder_ / "a.txt"), "two");
  EXPECT_THAT(names(), testing::ElementsAre("a.txt"));
}

TEST_F(Store, NamesThePathThatCannotBeWritten) {
  write_atomically(folder_ / "file", "");
  try {
    write_atomically(folder_ / "file" / "a.txt", "one");
    FAIL() << "a file took the part of a folder";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr((folder_ / "file" / "a.txt").string()));
    EXPECT_THAT(error.what(), testing::HasSubstr("--report-dir"));
  }
  EXPECT_THAT(names(), testing::ElementsAre("file"));
}

TEST_F(Store, NamesTheFileThatIsMissing) {
  try {
    read_file(folder_ / "absent.ptx");
    FAIL() << "a missing file was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), testing::HasSubstr("absent.ptx: no such file"));
  }
  EXPECT_THROW(read_file(folder_), Error);
}

TEST_F(Store, MovesALinkInOneStep) {
  link_atomically(folder_ / "latest", "first");
  link_atomically(folder_ / "latest", "second");
  EXPECT_EQ(fs::read_symlink(folder_ / "latest"), "second");
  EXPECT_THAT(names(), testing::ElementsAre("latest"));
}

TEST_F(Store, NamesACaseByItsContent) {
  const StoredCase first = save_case(folder_, "{\"a\":1}");
  const StoredCase again = save_case(folder_, "{\"a\":1}");
  const StoredCase other = save_case(folder_, "{\"a\":2}");
  EXPECT_EQ(first.id, again.id);
  EXPECT_NE(first.id, other.id);
  EXPECT_EQ(first.id.size(), 12u);
  EXPECT_EQ(read_file(folder_ / "cases" / (first.id + ".json")), "{\"a\":1}");
}

TEST(ContentId, IsTheSameOnEveryMachine) {
  // The published test vectors of FNV-1a, 64 bits, for "" and "foobar".
  EXPECT_EQ(content_id(""), "cbf29ce48422");
  EXPECT_EQ(content_id("foobar"), "85944171f739");
}

TEST_F(Store, SaysWhereItLookedForACase) {
  save_case(folder_, "{\"a\":1}");
  try {
    load_case(folder_, "0000");
    FAIL() << "a case was found that is not there";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr((folder_ / "cases").string()));
  }
  EXPECT_THROW(load_case(folder_, "no/such/file.json"), Error);
}

TEST_F(Store, KeepsARunAndPointsLatestAtIt) {
  const report::Run run = tests::sample_run();
  RunStore runs(folder_, run.started.run_id);
  runs.log("{}\n");
  for (const char* name : {"json", "junit", "jsonl", "md"}) runs.write(run, report_format(name));
  runs.point_latest();
  for (const char* name : {"report.json", "junit.xml", "log.jsonl", "report.md"}) {
    EXPECT_TRUE(fs::exists(folder_ / "latest" / name)) << name;
  }
}

TEST(ReportFormat, ListsWhatItKnows) {
  try {
    report_format("pdf");
    FAIL() << "an unknown format was taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("--report: unknown format \"pdf\"; known: json"));
  }
}

TEST(RunId, KeepsRunsOfOneSecondApart) { EXPECT_NE(make_run_id(), make_run_id()); }

}  // namespace
}  // namespace draftproof::tools::store
