#include "tools/engines/runner.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <thread>

#include "reference/error.h"
#include "tools/engines/child_process.h"
#include "tools/engines/http.h"
#include "tools/engines/runner_programs.h"

namespace draftproof::tools::engines {
namespace {

using Clock = std::chrono::steady_clock;

struct ProgramName {
  std::string_view name, file_name;
};
constexpr ProgramName kProgramNames[] = {{"xllamacpp", "xllamacpp_server.py"},
                                         {"transformers", "transformers_lines.py"},
                                         {"openvino-genai", "openvino_genai_lines.py"},
                                         {"vllm", "vllm_lines.py"}};

constexpr std::string_view kLinesModule = "draftproof_lines.py";

const ProgramName& program_name(std::string_view name) {
  std::string known;
  for (const ProgramName& each : kProgramNames) {
    if (each.name == name) return each;
    known += (known.empty() ? "" : ", ") + std::string(each.name);
  }
  throw Error(ErrorKind::kInput,
              "is no runner of ours; they are " + known +
                  ". One of your own is a command line (tools/docs/runners.md)",
              std::string(name));
}

std::string with_port(std::string text, int port) {
  for (std::size_t at = text.find("{port}"); at != std::string::npos; at = text.find("{port}"))
    text.replace(at, 6, std::to_string(port));
  return text;
}

/// Where to ask whether it serves.
struct ReadyPlace {
  std::string host = "127.0.0.1";
  int port = 0;
  std::string path;  ///< empty: a connection is enough
};

ReadyPlace ready_place(const std::string& url, int port) {
  ReadyPlace place;
  place.port = port;
  if (url.empty()) return place;
  const std::string scheme = "http://";
  const std::size_t path = url.find('/', scheme.size());
  const std::string authority = url.substr(scheme.size(), path - scheme.size());
  const std::size_t colon = authority.rfind(':');
  const std::string digits = colon == std::string::npos ? "80" : authority.substr(colon + 1);
  if (url.rfind(scheme, 0) != 0 || authority.empty() || digits.empty() || digits.size() > 5 ||
      digits.find_first_not_of("0123456789") != std::string::npos)
    throw Error(ErrorKind::kInput,
                "should be http://HOST:PORT/PATH of a server on this machine, with {port} where "
                "the command has it",
                url);
  place.host = authority.substr(0, colon);
  place.port = std::stoi(digits);
  place.path = path == std::string::npos ? "/" : url.substr(path);
  return place;
}

bool takes_connections(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool is_taken =
      ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(socket);
  return is_taken;
}

bool is_ready(const ReadyPlace& place, std::string& last_answer) {
  if (place.path.empty()) return takes_connections(place.port);
  try {
    http::ClientOptions options;
    options.connect_seconds_max = 1;
    options.read_seconds_max = 5;
    const http::Reply reply = http::Client(place.host, place.port, options).get(place.path);
    last_answer = "; its last answer had status " + std::to_string(reply.status);
    return reply.status == 200;
  } catch (const Error&) {
    return false;  // not yet there
  }
}

void write_program(const std::filesystem::path& file, std::string_view text) {
  if (!(std::ofstream(file, std::ios::binary) << text).flush())
    throw Error(ErrorKind::kEnvironment, "cannot be written", file.string());
}

/// One argument of a shell command.
std::string shell_word(const std::string& text) {
  const bool is_plain = !text.empty() && text.find_first_not_of(
                                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789_-./=:,+@%{}") == std::string::npos;
  if (is_plain) return text;
  std::string result = "'";
  for (const char byte : text) result += byte == '\'' ? std::string("'\\''") : std::string(1, byte);
  return result + "'";
}

}  // namespace

class ArmProcess::Parts {
 public:
  Parts(const ProcessOptions& options, int port, const ChildOptions& child_options)
      : port(port), child(child_options) {
    const ReadyPlace place = ready_place(options.ready_url, port);
    const auto start = Clock::now();
    std::string last_answer;
    for (auto pause = std::chrono::milliseconds(10); !is_ready(place, last_answer);
         pause = std::min(2 * pause, std::chrono::milliseconds(200))) {
      if (const std::string ending = child.ending(); !ending.empty())
        throw Error(ErrorKind::kEnvironment,
                    "ended before it served (" + ending + "); the end of " + options.log.string() +
                        " says:" + said(),
                    options.command);
      if (std::chrono::duration<double>(Clock::now() - start).count() > options.ready_timeout_s)
        throw Error(ErrorKind::kEnvironment,
                    "does not serve after " + std::to_string(options.ready_timeout_s) + " s" +
                        last_answer + "; raise its ready_timeout_s, or see the end of " +
                        options.log.string() + ":" + said(),
                    options.command);
      std::this_thread::sleep_for(pause);
    }
  }

  std::string said() const {
    const std::string tail = child.log_tail();
    return tail.empty() ? " nothing" : tail;
  }

  int port;
  ChildProcess child;
};

ArmProcess::ArmProcess(const ProcessOptions& options) {
  const bool names_port = options.command.find("{port}") != std::string::npos;
  if (options.command.empty()) throw Error(ErrorKind::kInput, "is empty", "command");
  if (!names_port && options.ready_url.empty())
    throw Error(ErrorKind::kInput,
                "has no {port}, and there is no ready_url: nobody could tell when it serves",
                options.command);
  const int port = names_port ? free_port() : ready_place(options.ready_url, 0).port;
  ChildOptions child;
  child.command = with_port(options.command, port);
  child.environment = options.environment;
  child.log = options.log;
  child.stop_timeout_s = options.stop_timeout_s;
  ProcessOptions filled = options;
  filled.command = child.command;
  filled.ready_url = with_port(options.ready_url, port);
  // A server that is there already would answer in its place.
  if (!names_port && takes_connections(port))
    throw Error(ErrorKind::kEnvironment,
                "is taken already: stop what serves there, or write {port} into the command",
                "port " + std::to_string(port));
  parts_ = std::make_unique<Parts>(filled, port, child);
}

ArmProcess::~ArmProcess() = default;

int ArmProcess::port() const { return parts_->port; }

std::string ArmProcess::ending() const {
  const std::string ending = parts_->child.ending();
  return ending.empty() ? "" : ending + "; its log ends with:" + parts_->said();
}

void ArmProcess::stop() { parts_->child.stop(); }

std::string_view runner_program(std::string_view name) {
  const ProgramName& wanted = program_name(name);
  for (const RunnerProgram& each : runner_programs())
    if (each.file_name == wanted.file_name) return each.text;
  throw BrokenInvariant("every named program is embedded", __FILE__, __LINE__,
                        std::string(wanted.file_name));
}

std::string runner_command(std::string_view name, const std::map<std::string, std::string>& options,
                           const std::filesystem::path& folder) {
  const std::string_view text = runner_program(name);
  const std::filesystem::path file = folder / program_name(name).file_name;
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  write_program(file, text);
  for (const RunnerProgram& each : runner_programs())  // what programs of lines import
    if (each.file_name == kLinesModule) write_program(folder / each.file_name, each.text);
  std::string python = "python3";
  const std::string fetched = "build/engines/" + std::string(name) + "/venv/bin/python3";
  if (std::filesystem::exists(fetched)) python = fetched;
  if (const auto given = options.find("python"); given != options.end()) python = given->second;
  // The shell becomes the program: signals and the exit code are the program's.
  std::string command = "exec " + shell_word(python) + " " + shell_word(file.string());
  for (const auto& [option, value] : options) {
    if (option == "python") continue;
    command += " " + shell_word("--" + option);
    if (!value.empty()) command += " " + shell_word(value);
  }
  return command;
}

}  // namespace draftproof::tools::engines
