#include "tools/engines/child_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "reference/error.h"
#include "tools/engines/keeper.h"

namespace draftproof::tools::engines {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::streamoff kTailBytes = 2000;
constexpr std::size_t kTailLines = 8;
constexpr std::size_t kLineBytesMax = std::size_t{256} << 20;

[[noreturn]] void fail_to(const std::string& what, const std::string& place) {
  throw Error(ErrorKind::kEnvironment, "cannot " + what + ": " + std::strerror(errno), place);
}

/// A descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }
  int get() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_ = -1;
};

struct Pair {
  Descriptor read, write;
};

Pair pipe_of(const std::string& place) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_to("make a pipe", place);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// For lines to the child: a socket, as writing to a pipe without a reader is a signal.
Pair socket_of(const std::string& place) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    fail_to("make a socket", place);
  const timeval limit{60, 0};
  setsockopt(ends[1], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Descriptor open_log(const std::filesystem::path& log) {
  std::error_code ignored;
  if (log.has_parent_path()) std::filesystem::create_directories(log.parent_path(), ignored);
  Descriptor file(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (file.get() < 0) fail_to("write the log", log.string());
  return file;
}

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> list;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text = *each;
    const bool is_replaced = std::any_of(added.begin(), added.end(), [&](const auto& entry) {
      return text.substr(0, text.find('=')) == entry.first;
    });
    if (!is_replaced) list.emplace_back(text);
  }
  for (const auto& [name, value] : added) list.push_back(name + "=" + value);
  return list;
}

std::string ending_of(int status) {
  if (WIFSIGNALED(status))
    return "signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
  const int code = WEXITSTATUS(status);
  return "exit code " + std::to_string(code) + (code == 127 ? " (no such command)" : "");
}

std::string tail_of(const std::filesystem::path& log, std::streamoff start) {
  std::ifstream stream(log, std::ios::binary);
  stream.seekg(0, std::ios::end);
  const std::streamoff size = stream.tellg();
  const std::streamoff from = std::max(start, size - kTailBytes);
  if (!stream || from >= size) return "";
  std::string text(static_cast<std::size_t>(size - from), '\0');
  stream.seekg(from);
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::size_t begin = text.size();
  for (std::size_t i = 0; i < kTailLines && begin != std::string::npos && begin > 0; ++i)
    begin = text.rfind('\n', begin - 1);
  if (begin != std::string::npos) text.erase(0, begin);
  return text.empty() || text.front() == '\n' ? text : "\n" + text;
}

}  // namespace

class ChildProcess::Parts {
 public:
  explicit Parts(const ChildOptions& child) : options(child) {
    Descriptor log = open_log(options.log);
    log_start = lseek(log.get(), 0, SEEK_END);
    Pair control = pipe_of(options.command), report = pipe_of(options.command), in, out;
    if (options.speaks_lines) {
      in = socket_of(options.command);
      out = pipe_of(options.command);
    } else {
      in.read = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    }
    std::vector<std::string> texts = environment_with(options.environment);
    std::vector<char*> variables;
    for (std::string& text : texts) variables.push_back(text.data());
    variables.push_back(nullptr);
    const KeeperTask task{options.command.c_str(),
                          variables.data(),
                          in.read.get(),
                          options.speaks_lines ? out.write.get() : log.get(),
                          log.get(),
                          control.read.get(),
                          report.write.get()};
    keeper = fork();
    if (keeper < 0) fail_to("start a process", options.command);
    if (keeper == 0) run_keeper(task);
    orders = std::move(control.write);
    endings = std::move(report.read);
    lines_in = std::move(in.write);
    lines_out = std::move(out.read);
  }

  void look_for_ending(int wait_ms) {
    pollfd entry{endings.get(), POLLIN, 0};
    int status = 0;
    if (!ending.empty() || endings.get() < 0 || poll(&entry, 1, wait_ms) <= 0) return;
    const ssize_t count = ::read(endings.get(), &status, sizeof status);
    ending = count == static_cast<ssize_t>(sizeof status) ? ending_of(status) : "its keeper's end";
  }

  void stop() {
    const std::lock_guard lock(mutex);
    if (keeper < 0) return;
    lines_in.close();  // the end of its input: programs that speak lines end by it
    order('t');
    const auto until = Clock::now() + std::chrono::duration<double>(options.stop_timeout_s);
    while (!is_over()) {
      if (Clock::now() >= until) order('k');
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    keeper = -1;
    look_for_ending(0);
    orders.close();
    endings.close();
  }

  ChildOptions options;
  std::mutex mutex;
  std::streamoff log_start = 0;
  pid_t keeper = -1;
  Descriptor orders, endings, lines_in, lines_out;
  std::string ending;
  std::string rest;  ///< read, and not yet handed out
  bool is_at_end = false;

 private:
  void order(char byte) {
    if (is_killed) return;
    is_killed = byte == 'k';
    // Where the keeper is gone this is a broken pipe, so the signal is kept from us.
    sigset_t pipe_signal, old;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &old);
    if (::write(orders.get(), &byte, 1) < 0) {
      const timespec now{0, 0};
      sigtimedwait(&pipe_signal, nullptr, &now);
    }
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
  }

  bool is_over() {
    const pid_t ended = waitpid(keeper, nullptr, WNOHANG);
    return ended == keeper || (ended < 0 && errno != EINTR);
  }

  bool is_killed = false;
};

ChildProcess::ChildProcess(const ChildOptions& options)
    : parts_(std::make_unique<Parts>(options)) {}

ChildProcess::~ChildProcess() { stop(); }

std::string ChildProcess::ending() {
  const std::lock_guard lock(parts_->mutex);
  // Its output ends a moment before the keeper tells how it ended.
  parts_->look_for_ending(parts_->is_at_end ? 1000 : 0);
  return parts_->ending;
}

void ChildProcess::stop() { parts_->stop(); }

std::string ChildProcess::log_tail() const {
  return tail_of(parts_->options.log, parts_->log_start);
}

bool ChildProcess::write_line(const std::string& line) {
  const std::string text = line + '\n';
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count =
        ::send(parts_->lines_in.get(), text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

std::optional<std::string> ChildProcess::read_line(double seconds) {
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  std::size_t searched = 0;
  for (;;) {
    const std::size_t end = parts_->rest.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = parts_->rest.substr(0, end);
      parts_->rest.erase(0, end + 1);
      return line;
    }
    searched = parts_->rest.size();
    if (parts_->is_at_end || searched > kLineBytesMax) {
      parts_->is_at_end = true;
      return "";
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd entry{parts_->lines_out.get(), POLLIN, 0};
    const int count = poll(&entry, 1, static_cast<int>(std::clamp<long long>(left, 0, 1000)));
    if (count < 0 && errno != EINTR) parts_->is_at_end = true;
    if (count > 0) {
      std::array<char, 65536> bytes;
      const ssize_t size = ::read(parts_->lines_out.get(), bytes.data(), bytes.size());
      if (size > 0) parts_->rest.append(bytes.data(), static_cast<std::size_t>(size));
      if (size == 0 || (size < 0 && errno != EINTR)) parts_->is_at_end = true;
    } else if (left <= 0) {
      return std::nullopt;
    }
  }
}

bool ChildProcess::is_at_end() const { return parts_->is_at_end; }

int free_port() {
  static std::mutex mutex;
  static std::set<int> given;
  const std::lock_guard lock(mutex);
  for (int attempt = 0; attempt < 100; ++attempt) {
    const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
      fail_to("find a free port", "127.0.0.1");
    if (given.insert(ntohs(address.sin_port)).second) return ntohs(address.sin_port);
  }
  throw Error(ErrorKind::kEnvironment, "has no port left that was not given out", "127.0.0.1");
}

}  // namespace draftproof::tools::engines
