#include "tools/engines/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <initializer_list>

namespace draftproof::tools::engines {
namespace {

constexpr int kPollMs = 20;
/// Between SIGTERM and SIGKILL when nobody is left who could say.
constexpr int kOrphanedMs = 2000;

std::int64_t now_ms() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1000 + time.tv_nsec / 1000000;
}

/// Everything inherited but standard streams and the two ends that are the keeper's.
void close_others(int low, int high) {
  if (low > high) {
    const int swap = low;
    low = high;
    high = swap;
  }
  close_range(3, static_cast<unsigned>(low) - 1, 0);
  if (high > low + 1)
    close_range(static_cast<unsigned>(low) + 1, static_cast<unsigned>(high) - 1, 0);
  close_range(static_cast<unsigned>(high) + 1, ~0U, 0);
}

void reset_signals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGCHLD})
    signal(number, SIG_DFL);
}

[[noreturn]] void run_command(const KeeperTask& task, pid_t keeper) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // of one thread, the keeper's only one
  if (getppid() != keeper) _exit(127);
  reset_signals();
  dup2(task.input, 0);
  dup2(task.output, 1);
  dup2(task.errors, 2);
  close_range(3, ~0U, 0);
  const char* const arguments[] = {"sh", "-c", task.shell_command, nullptr};
  execve("/bin/sh", const_cast<char* const*>(arguments), task.environment);
  _exit(127);
}

/// SIGKILL to every child of ours, the orphans that a subreaper inherits among them.
void kill_children() {
  const int file = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char text[4096];
  pid_t process = 0;
  for (ssize_t count = read(file, text, sizeof text); count > 0;
       count = read(file, text, sizeof text)) {
    for (ssize_t i = 0; i < count; ++i) {
      if (text[i] >= '0' && text[i] <= '9') {
        process = process * 10 + (text[i] - '0');
      } else if (process > 0) {
        kill(process, SIGKILL);
        process = 0;
      }
    }
  }
  if (process > 0) kill(process, SIGKILL);
  close(file);
}

/// Reaps what has ended; true when there is no child any more.
bool reap(const KeeperTask& task, pid_t command, bool& has_ended) {
  for (;;) {
    int status = 0;
    const pid_t process = waitpid(-1, &status, WNOHANG);
    if (process == 0 || (process < 0 && errno == EINTR)) return false;
    if (process < 0) return true;
    if (process != command) continue;
    has_ended = true;
    if (write(task.report, &status, sizeof status) < 0) {
      // We are gone: nobody reads it.
    }
  }
}

}  // namespace

void run_keeper(const KeeperTask& task) {
  setpgid(0, 0);  // keys of the terminal are for us, who stop the command in order
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) signal(number, SIG_IGN);
  signal(SIGCHLD, SIG_DFL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t keeper = getpid();
  const pid_t command = fork();
  if (command == 0) run_command(task, keeper);
  const int nothing = open("/dev/null", O_RDWR);
  for (const int stream : {0, 1, 2}) dup2(nothing, stream);
  close_others(task.control, task.report);
  if (command < 0) _exit(1);
  setpgid(command, command);

  std::int64_t kill_at = -1;  // -1: not asked to end
  bool has_ended = false;
  pollfd control{task.control, POLLIN, 0};
  for (;;) {
    if (reap(task, command, has_ended)) _exit(0);
    if (has_ended && kill_at < 0) {  // what it started does not outlive it
      kill(-command, SIGTERM);
      kill_at = now_ms() + kOrphanedMs;
    }
    if (kill_at >= 0 && now_ms() >= kill_at) {
      kill(-command, SIGKILL);
      kill_children();
    }
    if (poll(&control, 1, kPollMs) <= 0 || control.revents == 0) continue;
    char order = 0;
    const ssize_t count = read(task.control, &order, 1);
    if (count == 0 || order == 't') kill(-command, SIGTERM);
    if (count == 0) {
      kill_at = kill_at < 0 ? now_ms() + kOrphanedMs : kill_at;
      control.fd = -1;
    } else if (order == 'k') {
      kill_at = now_ms();
    }
  }
}

}  // namespace draftproof::tools::engines
