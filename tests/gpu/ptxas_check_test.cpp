// Goal: ptxas_check.sh says no when it must. Method: in place of ptxas a script that prints the
// text that it is handed, so that a test writes down what ptxas "says" of an entry.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace draftproof::gpu {
namespace {

class PtxasCheck : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("ptxas_check_" + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    write("ptxas",
          "#!/bin/bash\ncase $1 in\n"
          "  --version) echo \"Cuda compilation tools, release 1.2, V${VERSION:-1.2.3}\" ;;\n"
          "  *) echo $1 >> \"$(dirname \"$0\")/calls\"; cat \"${@: -1}\"; ! grep -q REFUSED \"${@: "
          "-1}\" ;;\nesac\n");
    std::filesystem::permissions(folder_ / "ptxas", std::filesystem::perms::owner_all);
    write("a.ptx", said("one", 40, 0, 128) + said("two", 32, 0, 0));
    EXPECT_EQ(check("DRAFTPROOF_UPDATE_GOLDENS=1"), 0) << output();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string said(const std::string& entry, int registers, int spilled, int shared) {
    return "ptxas info    : Compiling entry function '" + entry + "' for 'sm'\n" +
           "ptxas info    : Function properties for " + entry + "\n    0 bytes stack frame, " +
           std::to_string(spilled) + " bytes spill stores, 0 bytes spill loads\n" +
           "ptxas info    : Used " + std::to_string(registers) + " registers, used 1 barriers" +
           (shared == 0 ? std::string() : ", " + std::to_string(shared) + " bytes smem") + "\n";
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  std::string read(const std::string& name) {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  std::string output() { return read("output"); }
  /// The exit code of the check over a.ptx.
  int check(const std::string& environment = "") {
    const std::string folder = "'" + folder_.string() + "'/";
    const std::string command = "env -u DRAFTPROOF_UPDATE_GOLDENS " + environment + " " +
                                DRAFTPROOF_SOURCE_DIR "/gpu/kernels/ptxas_check.sh " + folder +
                                "ptxas " + folder + "table.csv " + folder + "a.ptx > " + folder +
                                "output 2>&1";
    const int status = std::system(command.c_str());
    return WEXITSTATUS(status);
  }
  void expect_refused(const std::string& why) {
    EXPECT_EQ(check(), 1) << output();
    EXPECT_NE(output().find(why), std::string::npos) << output();
  }

  std::filesystem::path folder_;
};

TEST_F(PtxasCheck, WritesALineForEachEntryAndArchitecture) {
  std::string table = read("table.csv");
  const std::size_t text = table.find("# text a ");
  ASSERT_NE(text, std::string::npos);
  table.erase(text, table.find('\n', text) + 1 - text);
  EXPECT_EQ(table,
            "# ptxas 1.2.3\n"
            "module,entry,architecture,registers,spilled_bytes,stack_bytes,shared_bytes\n"
            "a,one,sm_100,40,0,0,128\na,one,sm_80,40,0,0,128\na,one,sm_90,40,0,0,128\n"
            "a,two,sm_100,32,0,0,0\na,two,sm_80,32,0,0,0\na,two,sm_90,32,0,0,0\n");
}

TEST_F(PtxasCheck, PassesWhatTheTableSaysAndLess) {
  EXPECT_EQ(check(), 0) << output();
  write("a.ptx", said("one", 39, 0, 64) + said("two", 32, 0, 0));
  EXPECT_EQ(check(), 0) << output();
}

TEST_F(PtxasCheck, AssemblesATextThatIsAsItWasForOneArchitectureOnly) {
  const auto calls = [&] {
    const std::string said = read("calls");
    write("calls", "");
    return std::count(said.begin(), said.end(), '\n');
  };
  calls();
  EXPECT_EQ(check(), 0) << output();
  EXPECT_EQ(calls(), 1);
  // A comment, a line number and a debug string are no change, an instruction is one.
  const std::string text = read("a.ptx");
  write("a.ptx", "// a comment\n\t.loc 1 2 3\n.b8 95,90,78\n" + text);
  EXPECT_EQ(check(), 0) << output();
  EXPECT_EQ(calls(), 1);
  write("a.ptx", text + "ret;\n");
  EXPECT_EQ(check(), 0) << output();
  EXPECT_EQ(calls(), 3);
}

TEST_F(PtxasCheck, HoldsTheOneArchitectureToTheTableThoughTheTextIsAsItWas) {
  std::string table = read("table.csv");
  const std::string line = "a,one,sm_90,40,";
  table.replace(table.find(line), line.size(), "a,one,sm_90,39,");
  write("table.csv", table);
  expect_refused("one for sm_90: 40 registers, not 39");
}

TEST_F(PtxasCheck, RefusesOneRegisterMore) {
  write("a.ptx", said("one", 41, 0, 128) + said("two", 32, 0, 0));
  expect_refused("one for sm_90: 41 registers, not 40");
}

TEST_F(PtxasCheck, RefusesMoreSharedMemory) {
  write("a.ptx", said("one", 40, 0, 132) + said("two", 32, 0, 0));
  expect_refused("one for sm_80: 132 bytes of shared memory, not 128");
}

TEST_F(PtxasCheck, RefusesASpillAlsoWhenItShallWriteTheTable) {
  write("a.ptx", said("one", 40, 8, 128) + said("two", 32, 0, 0));
  expect_refused("one for sm_100: 8 bytes");
  EXPECT_EQ(check("DRAFTPROOF_UPDATE_GOLDENS=1"), 1);
}

TEST_F(PtxasCheck, RefusesAnEntryWithoutALine) {
  write("a.ptx", said("one", 40, 0, 128) + said("two", 32, 0, 0) + said("three", 8, 0, 0));
  expect_refused("three for sm_80 is not in the table");
}

TEST_F(PtxasCheck, RefusesALineWithoutAnEntry) {
  write("a.ptx", said("one", 40, 0, 128));
  expect_refused("two for sm_90 is in the table and nowhere else");
}

TEST_F(PtxasCheck, RefusesATextThatDoesNotAssembleOrHasNoEntry) {
  write("a.ptx", "REFUSED: no such opcode\n");
  expect_refused("a.ptx does not assemble for sm_");
  write("a.ptx", "");
  expect_refused("no entry for sm_");
}

TEST_F(PtxasCheck, ComparesNoRegistersWithAnotherVersionsTable) {
  write("a.ptx", said("one", 50, 0, 128) + said("two", 32, 0, 0));
  EXPECT_EQ(check("VERSION=9.9.9"), 0);
  EXPECT_NE(output().find("registers are not compared"), std::string::npos) << output();
  write("a.ptx", said("one", 50, 4, 128) + said("two", 32, 0, 0));
  EXPECT_EQ(check("VERSION=9.9.9"), 1);
}

}  // namespace
}  // namespace draftproof::gpu
