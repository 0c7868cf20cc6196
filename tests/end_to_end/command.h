// Command: runs the built executable as a user does and keeps what it wrote.
#pragma once

#include <string>
#include <vector>

namespace draftproof::tests {

struct CommandResult {
  int exit_code = -1;
  std::string out;
  std::string err;
};

struct CommandOptions {
  std::string folder;                    ///< working directory; empty: a temporary one
  std::vector<std::string> environment;  ///< "NAME=value", added
  int interrupt_after_ms = 0;            ///< send SIGINT; 0: never
};

/// `draftproof ARGUMENTS`. Fails the test when the process cannot be started or is killed.
CommandResult draftproof(const std::vector<std::string>& arguments,
                         const CommandOptions& options = {});

/// A folder of its own that vanishes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  const std::string& path() const { return path_; }
  std::string write(const std::string& name, const std::string& content) const;
  std::string read(const std::string& name) const;

 private:
  std::string path_;
};

std::size_t lines_in(const std::string& text);

}  // namespace draftproof::tests
