// Runner: an arm that is a child process. Two kinds: a server that draftproof starts, watches and
// stops (ArmProcess; an HTTP client then speaks to it), and a program that speaks lines of JSON on
// its streams (line_client; runners/*.py for transformers and openvino-genai are such programs).
// A process group of its own, so that everything it started ends with it; its stderr (and stdout of
// a server) is kept in a log file.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/engines/client.h"

namespace draftproof::tools::engines {

struct ProcessOptions {
  std::string command;  ///< as for sh -c; "{port}" is replaced by a port that is free
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to ours
  std::filesystem::path log;                                     ///< appended to
  std::string ready_url = {};  ///< http; GET answers 200 once it serves. Empty: the port takes
                               ///< connections. "{port}" as above
  double ready_timeout_s = 300;
  double stop_timeout_s = 10;  ///< SIGTERM, then SIGKILL
};

class ArmProcess {
 public:
  /// Starts it and waits until it is ready. Throws Error(kEnvironment) with the last lines of its
  /// log when it ends, or is not ready in time.
  explicit ArmProcess(const ProcessOptions& options);
  ArmProcess(const ArmProcess&) = delete;
  ~ArmProcess();  ///< stops it

  int port() const;
  /// Why it ended ("exit code 1", "signal 9") and the last lines of its log; empty while it runs.
  std::string ending() const;
  void stop();

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

struct LineClientOptions {
  std::string command;
  std::vector<std::pair<std::string, std::string>> environment;
  std::filesystem::path log;
  double ready_timeout_s = 600;  ///< until its first line, which says what it is
  double answer_timeout_s = 300;
};
/// The protocol is in tools/docs/runners.md. Throws Error(kEnvironment) as ArmProcess. Several
/// requests may be under way; a program that takes them one by one answers in its own order.
std::unique_ptr<ArmClient> line_client(const LineClientOptions& options);

/// Our runners' programs by name ("xllamacpp", a server; "transformers", "openvino-genai", "vllm",
/// which speak lines), embedded in the command. Throws Error(kInput) that lists the names.
std::string_view runner_program(std::string_view name);

/// The command that runs such a program, whose text is written into `folder`, with each option as
/// "--NAME VALUE" (an empty value: the name alone). Option "python" is no option of the program but
/// the interpreter; without it that of build/engines/NAME (fetch.sh) below this folder where it
/// lies, else python3. Throws Error(kInput), Error(kEnvironment) at the folder.
std::string runner_command(std::string_view name, const std::map<std::string, std::string>& options,
                           const std::filesystem::path& folder);

}  // namespace draftproof::tools::engines
