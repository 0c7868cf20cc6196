// Keeper: the process that stands between a command and us (child_process.h). It is forked and not
// executed, out of a program with threads, so it calls what is async-signal-safe only (POSIX.1,
// 2.4.3): no allocation, no locks, no streams.
#pragma once

namespace draftproof::tools::engines {

struct KeeperTask {
  const char* shell_command = nullptr;
  char* const* environment = nullptr;
  int input = -1, output = -1, errors = -1;  ///< of the command
  int control = -1;  ///< one byte: SIGTERM; a second: SIGKILL; closed: both, a moment between
  int report = -1;   ///< an int goes there when the command has ended: its wait status
};

/// Never returns; exits when nothing that the command started is left.
[[noreturn]] void run_keeper(const KeeperTask& task);

}  // namespace draftproof::tools::engines
