#include "tests/end_to_end/command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace draftproof::tests {
namespace {

namespace fs = std::filesystem;

/// The child's side: never returns.
[[noreturn]] void become(const std::vector<std::string>& arguments, const CommandOptions& options,
                         const std::string& folder, const TemporaryFolder& streams) {
  const auto redirect = [&](const char* name, int descriptor) {
    const std::string path = streams.path() + "/" + name;
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || ::dup2(file, descriptor) < 0) ::_exit(126);
  };
  redirect("out", STDOUT_FILENO);
  redirect("err", STDERR_FILENO);
  if (::chdir(folder.c_str()) != 0) ::_exit(126);
  for (const std::string& entry : options.environment) {
    const std::size_t equals = entry.find('=');
    ::setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
  }
  std::string program = DRAFTPROOF_EXECUTABLE;
  std::vector<char*> words = {program.data()};
  std::vector<std::string> copies = arguments;
  for (std::string& word : copies) words.push_back(word.data());
  words.push_back(nullptr);
  ::execv(program.c_str(), words.data());
  ::_exit(127);
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "draftproof-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& content) const {
  const std::string path = path_ + "/" + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string TemporaryFolder::read(const std::string& name) const {
  std::ifstream file(path_ + "/" + name, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

CommandResult draftproof(const std::vector<std::string>& arguments, const CommandOptions& options) {
  const TemporaryFolder streams;
  const TemporaryFolder work;
  const std::string folder = options.folder.empty() ? work.path() : options.folder;
  const pid_t child = ::fork();
  if (child == 0) become(arguments, options, folder, streams);
  CommandResult result;
  EXPECT_GT(child, 0);
  if (options.interrupt_after_ms > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(options.interrupt_after_ms));
    ::kill(child, SIGINT);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  result.out = streams.read("out");
  result.err = streams.read("err");
  return result;
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace draftproof::tests
