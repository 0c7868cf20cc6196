// Server process: `draftproof serve` as a user runs it, in another process.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <regex>
#include <string>
#include <vector>

namespace draftproof::tests {

/// A server in another process, up when this is made.
class ServerProcess {
 public:
  /// The words behind `draftproof serve`.
  explicit ServerProcess(std::vector<std::string> words) {
    std::array<int, 2> pipe{};
    EXPECT_EQ(::pipe(pipe.data()), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(pipe[1], STDOUT_FILENO);
      ::close(pipe[0]);
      ::close(pipe[1]);
      words.insert(words.begin(), {DRAFTPROOF_EXECUTABLE, "serve"});
      std::vector<char*> arguments;
      for (std::string& word : words) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      ::execv(DRAFTPROOF_EXECUTABLE, arguments.data());
      ::_exit(127);
    }
    ::close(pipe[1]);
    for (char c = 0; ::read(pipe[0], &c, 1) == 1 && c != '\n';) line_ += c;
    ::close(pipe[0]);
  }
  ServerProcess(const ServerProcess&) = delete;
  ~ServerProcess() {
    if (child_ > 0) stop(SIGKILL);
  }

  const std::string& line() const { return line_; }

  int port() const {
    std::smatch match;
    return std::regex_search(line_, match, std::regex(R"(:(\d+) )")) ? std::stoi(match[1]) : 0;
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port()); }

  /// The exit code, or -1.
  int stop(int signal) {
    ::kill(child_, signal);
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t child_ = 0;
  std::string line_;
};

}  // namespace draftproof::tests
