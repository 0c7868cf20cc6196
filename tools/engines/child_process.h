// Child process: a shell command in a process group of its own, with its keeper: a small process
// between it and us that ends everything the command started when we say so, when the command ends,
// and when we are gone, however that came (a pipe that closes says it; SIGKILL of ours included).
// PR_SET_PDEATHSIG alone would not do: it speaks of the thread that forked (prctl(2)), reaches one
// process and no grandchild. The keeper is a subreaper, so that nothing escapes it by a session of
// its own.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace draftproof::tools::engines {

struct ChildOptions {
  std::string command;                                                ///< as for sh -c
  std::vector<std::pair<std::string, std::string>> environment = {};  ///< added to ours
  std::filesystem::path log;  ///< appended to: stderr, and stdout where lines are not spoken
  bool speaks_lines = false;  ///< stdin and stdout are ours
  double stop_timeout_s = 10;
};

class ChildProcess {
 public:
  /// Throws Error(kEnvironment) at the log or the command.
  explicit ChildProcess(const ChildOptions& options);
  ChildProcess(const ChildProcess&) = delete;
  ~ChildProcess();  ///< stop()

  /// "exit code 1", "signal 9 (Killed)"; empty while it runs.
  std::string ending();
  /// SIGTERM to the group, after the time SIGKILL to whatever the command started; returns when
  /// nothing of it is left.
  void stop();
  /// The last lines that this child wrote to its log, each behind a line break; empty for none.
  std::string log_tail() const;

  /// Of a child that speaks lines. False: it takes no more. One caller at a time.
  bool write_line(const std::string& line);
  /// The next line, without its line break; nullopt when `seconds` are over. "" at the end of its
  /// output, where is_at_end() is true. One caller at a time.
  std::optional<std::string> read_line(double seconds);
  bool is_at_end() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

/// A port of 127.0.0.1 that nobody had at this moment, another one at each call.
int free_port();

}  // namespace draftproof::tools::engines
