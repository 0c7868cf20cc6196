// The observations of a run on disk. Goal: what was appended is there for good, whole batches at a
// time, whatever happens to the process, the file or the disk; and every way that a file is not
// usable is said with its path and what to do.
#include "tools/store/observation_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>

#include "reference/error.h"

namespace draftproof::tools::store {
namespace {

namespace fs = std::filesystem;
using properties::Arm;
using properties::Transcript;
using testing::HasSubstr;
using Mode = ObservationStore::Mode;

Transcript transcript(std::uint64_t trial, reference::Token token = 7, Arm arm = Arm::kBaseline) {
  Transcript result;
  result.key = {.arm = arm, .case_id = "t1/first", .trial = trial};
  result.request.prompt = {1, 2, 3};
  result.request.seed = trial * 3 + 1;
  result.completion.token_ids = {token, 5};
  return result;
}

std::vector<Transcript> batch(std::uint64_t first, std::uint64_t count) {
  std::vector<Transcript> result;
  for (std::uint64_t i = 0; i < count; ++i) result.push_back(transcript(first + i));
  return result;
}

class Observations : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// What opening, or using, says.
  static std::string complaint_of(const std::function<void()>& use) {
    try {
      use();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  std::string complaint(Mode mode) const {
    return complaint_of([&] { ObservationStore(file_, mode).read(); });
  }
  void keep(const std::vector<Transcript>& transcripts) const {
    ObservationStore(file_, fs::exists(file_) ? Mode::kAppend : Mode::kCreate).append(transcripts);
  }
  std::size_t rows() const { return ObservationStore(file_, Mode::kRead).read().size(); }

  /// What SQLite says of a statement that draftproof would never send.
  std::string sql(const char* statement) const {
    sqlite3* database = nullptr;
    sqlite3_open(file_.c_str(), &database);
    const int code = sqlite3_exec(database, statement, nullptr, nullptr, nullptr);
    std::string words = code == SQLITE_OK ? "done" : sqlite3_errmsg(database);
    sqlite3_close(database);
    return words;
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("draftproof-observations-" + std::to_string(::getpid()));
  const fs::path file_ = folder_ / "run" / "run.sqlite";
};

/// The status of a child that ran `work`; 0 unless it says otherwise.
int child(const std::function<int()>& work) {
  const pid_t process = ::fork();
  if (process == 0) ::_exit(work());
  int status = 0;
  ::waitpid(process, &status, 0);
  return status;
}

TEST_F(Observations, ComeBackAsTheyWereKept) {
  keep({transcript(0), transcript(0, 9, Arm::kSpeculative)});
  keep({transcript(1)});
  const auto evidence = ObservationStore(file_, Mode::kRead).read();
  EXPECT_EQ(evidence.size(), 3u);
  EXPECT_EQ(evidence.of("t1/first", Arm::kBaseline).at(1), transcript(1));
  EXPECT_EQ(evidence.of("t1/first", Arm::kSpeculative).at(0), transcript(0, 9, Arm::kSpeculative));
}

TEST_F(Observations, TheSameRowTwiceIsOneAndAnotherOneInItsPlaceIsRefusedWithItsBatch) {
  keep(batch(0, 2));
  keep(batch(0, 3));
  EXPECT_EQ(rows(), 3u);
  const std::string words = complaint_of([&] {
    keep({transcript(3), transcript(1, 8), transcript(4)});
  });
  EXPECT_THAT(words, HasSubstr("another answer to trial 1 of t1/first"));
  EXPECT_THAT(words, HasSubstr(file_.string()));
  EXPECT_EQ(rows(), 3u) << "part of a refused batch was kept";
}

TEST_F(Observations, FactsOfARunNeverChange) {
  ObservationStore store(file_, Mode::kCreate);
  EXPECT_EQ(store.get("matrix"), "");
  store.set("matrix", "{\"seed\":1}");
  store.set("matrix", "{\"seed\":1}");
  EXPECT_EQ(store.get("matrix"), "{\"seed\":1}");
  EXPECT_THAT(complaint_of([&] { store.set("matrix", "{\"seed\":2}"); }),
              HasSubstr("its matrix differs"));
  EXPECT_EQ(store.get("matrix"), "{\"seed\":1}");
}

TEST_F(Observations, NoStatementAltersThem) {
  keep(batch(0, 2));
  ObservationStore(file_, Mode::kAppend).set("seed", "1");
  for (const char* statement : {"UPDATE transcripts SET line = ''", "DELETE FROM transcripts",
                                "INSERT OR REPLACE INTO transcripts SELECT case_id, arm, repeat, "
                                "trial, '' FROM transcripts",
                                "UPDATE facts SET value = '2'", "DELETE FROM facts",
                                "INSERT OR REPLACE INTO facts VALUES ('seed', '2')"})
    EXPECT_THAT(sql(statement), testing::AnyOf(HasSubstr("never change"), HasSubstr("stay")))
        << statement;
  EXPECT_EQ(sql("INSERT INTO facts VALUES ('other', '2')"), "done") << "nothing can be said";
  EXPECT_EQ(rows(), 2u);
}

TEST_F(Observations, ARunHasOneWriterAndAnyNumberOfReaders) {
  {
    ObservationStore writer(file_, Mode::kCreate);
    writer.append(batch(0, 4));
    EXPECT_THAT(complaint(Mode::kAppend), HasSubstr("a running audit writes to it"));
    EXPECT_EQ(rows(), 4u);
  }
  EXPECT_EQ(complaint(Mode::kAppend), "");
  EXPECT_THAT(complaint(Mode::kCreate), HasSubstr("is there already"));
}

TEST_F(Observations, AWriterThatIsKilledLeavesWholeBatches) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  constexpr std::uint64_t kBatch = 50;
  const pid_t writer = ::fork();
  if (writer == 0) {
    ObservationStore store(file_, Mode::kCreate);
    for (std::uint64_t trial = 0;; trial += kBatch) {
      store.append(batch(trial, kBatch));
      if (::write(pipe[1], "x", 1) != 1) ::_exit(1);
    }
  }
  ::close(pipe[1]);
  std::size_t told = 0;
  for (char c = 0; told < 20 && ::read(pipe[0], &c, 1) == 1;) ++told;
  ::kill(writer, SIGKILL);
  for (char c = 0; ::read(pipe[0], &c, 1) == 1;) ++told;
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(writer, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << "it was not in the middle of its work";
  const auto evidence = ObservationStore(file_, Mode::kRead).read();
  EXPECT_GE(evidence.size(), told * kBatch) << "a batch that was committed is gone";
  EXPECT_EQ(evidence.size() % kBatch, 0u) << "half a batch";
  for (const auto& [trial, each] : evidence.of("t1/first", Arm::kBaseline))
    EXPECT_EQ(each, transcript(trial));
  keep(batch(evidence.size(), kBatch));
  EXPECT_EQ(rows(), evidence.size() + kBatch) << "the lock outlived its process";
}

TEST_F(Observations, WhatIsNoRunStoreIsNamed) {
  EXPECT_THAT(complaint(Mode::kRead), HasSubstr("no such file"));
  EXPECT_THAT(complaint(Mode::kAppend), HasSubstr("no such file"));
  fs::create_directories(file_.parent_path());
  EXPECT_THAT(complaint_of([&] { ObservationStore(folder_, Mode::kRead); }),
              HasSubstr("is a folder"));
  std::ofstream(file_) << std::string(4096, 'x');
  EXPECT_THAT(complaint(Mode::kRead), HasSubstr("no run store"));
  fs::remove(file_);
  EXPECT_EQ(sql("CREATE TABLE transcripts (a)"), "done");
  EXPECT_THAT(complaint(Mode::kRead), HasSubstr("database of another program"));
  EXPECT_THAT(complaint(Mode::kAppend), HasSubstr(file_.string()));
}

TEST_F(Observations, ARunThatEndedBeforeItBeganIsNamedAndGoesOn) {
  fs::create_directories(file_.parent_path());
  for (const bool has_a_page : {false, true}) {
    fs::remove(file_);
    std::ofstream(file_).flush();
    if (has_a_page) {
      EXPECT_EQ(sql("PRAGMA journal_mode = WAL"), "done");
    }
    EXPECT_THAT(complaint(Mode::kRead), HasSubstr("the run ended before it began"));
    keep(batch(0, 2));
    EXPECT_EQ(rows(), 2u);
  }
}

TEST_F(Observations, AFileThatWasRemovedOrReplacedIsSaidAndNotWrittenTo) {
  for (const bool is_replaced : {false, true}) {
    fs::remove_all(file_.parent_path());
    ObservationStore store(file_, Mode::kCreate);
    store.append(batch(0, 1));
    fs::rename(file_, folder_ / "away.sqlite");
    if (is_replaced) fs::copy_file(folder_ / "away.sqlite", file_);
    EXPECT_THAT(complaint_of([&] { store.append(batch(1, 1)); }), HasSubstr("removed or replaced"));
    fs::rename(folder_ / "away.sqlite", file_);
    store.append(batch(1, 1));
    EXPECT_EQ(store.read().size(), 2u);
  }
}

TEST_F(Observations, AnotherSchemaIsNamed) {
  keep(batch(0, 1));
  EXPECT_EQ(sql("PRAGMA user_version = 2"), "done");
  EXPECT_THAT(complaint(Mode::kRead), HasSubstr("has schema 2"));
}

TEST_F(Observations, ADamagedFileIsNamedAndNothingIsMadeUp) {
  keep(batch(0, 400));
  const auto size = fs::file_size(file_);
  std::fstream bytes(file_, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(static_cast<std::streamoff>(size / 2));
  for (int i = 0; i < 8192; ++i) bytes.put('\xa5');
  bytes.close();
  EXPECT_THAT(complaint(Mode::kRead),
              testing::AnyOf(HasSubstr("is damaged"), HasSubstr("of t1/first")));
  fs::resize_file(file_, size / 2);
  EXPECT_THAT(complaint(Mode::kRead), HasSubstr("is damaged"));
}

TEST_F(Observations, ARowThatWasAlteredIsNamed) {
  keep(batch(0, 2));
  EXPECT_EQ(sql("DROP TRIGGER transcripts_never_change; UPDATE transcripts SET trial = 5 WHERE "
                "trial = 1"),
            "done");
  EXPECT_THAT(complaint(Mode::kRead), HasSubstr("the row and its line do not agree"));
}

TEST_F(Observations, AreReadWhereNothingCanBeWritten) {
  keep(batch(0, 3));
  fs::permissions(folder_, fs::perms(0755));
  fs::permissions(file_.parent_path(), fs::perms(0555));
  fs::permissions(file_, fs::perms(0444));
  const int status = child([&] {
    if (::getuid() == 0 && ::setuid(65534) != 0) return 9;
    if (rows() != 3) return 1;
    const std::string words = complaint(Mode::kAppend);
    if (words.find("cannot") == std::string::npos) return 2;
    return complaint_of([&] {
             ObservationStore(file_.parent_path() / "b.sqlite", Mode::kCreate);
           }).find("--report-dir") == std::string::npos
               ? 3
               : 0;
  });
  fs::permissions(file_.parent_path(), fs::perms(0755));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(Observations, AFullDiskIsSaidAndWhatWasCommittedStays) {
  keep(batch(0, 3));
  const int status = child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 256 << 10, .rlim_max = 256 << 10};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::string words = complaint_of([&] { keep(batch(3, 20000)); });
    return words.find(file_.string()) != std::string::npos &&
                   words.find("what was committed is kept") != std::string::npos
               ? 0
               : 1;
  });
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(rows(), 3u);
}

}  // namespace
}  // namespace draftproof::tools::store
