#include "tools/store/atomic_file.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "reference/error.h"

namespace draftproof::tools::store {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::string& reason, std::string_view remedy) {
  throw Error(ErrorKind::kEnvironment, "cannot write: " + reason + "; " + std::string(remedy),
              path.string());
}

/// A name beside `path` that no other process or thread uses.
fs::path temporary_beside(const fs::path& path) {
  static std::atomic<unsigned> next{0};
  fs::path temporary = path;
  temporary += "." + std::to_string(::getpid()) + "-" + std::to_string(next++) + ".part";
  return temporary;
}

}  // namespace

std::string read_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    throw Error(ErrorKind::kInput, "no such file; check the path", path.string());
  }
  if (fs::is_directory(status)) {
    throw Error(ErrorKind::kInput, "is a folder; name a file in it", path.string());
  }
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  if (in) content << in.rdbuf();
  if (!in) {
    const std::string reason = errno != 0 ? std::strerror(errno) : "read error";
    throw Error(ErrorKind::kInput, "cannot read: " + reason, path.string());
  }
  return content.str();
}

std::string why_unwritable(const fs::path& folder) {
  std::error_code error;
  fs::path nearest = fs::absolute(folder.empty() ? fs::path(".") : folder, error);
  while (!error && !fs::exists(nearest, error) && nearest.has_relative_path())
    nearest = nearest.parent_path();
  if (error) return error.message();
  if (!fs::is_directory(nearest, error)) return std::strerror(ENOTDIR);
  return ::access(nearest.c_str(), W_OK | X_OK) == 0 ? "" : std::strerror(errno);
}

void need_writable(const fs::path& report_dir) {
  const std::string reason = why_unwritable(report_dir);
  if (!reason.empty()) fail(report_dir, reason, kAnotherReportDir);
}

void write_atomically(const fs::path& path, std::string_view content, std::string_view remedy) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (error) fail(path, error.message(), remedy);
  const fs::path temporary = temporary_beside(path);
  {
    errno = 0;
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.flush();
    if (!out) {
      const std::string reason = errno != 0 ? std::strerror(errno) : "write error";
      fs::remove(temporary, error);
      fail(path, reason, remedy);
    }
  }
  fs::rename(temporary, path, error);
  if (error) {
    const std::string reason = error.message();
    fs::remove(temporary, error);
    fail(path, reason, remedy);
  }
}

void link_atomically(const fs::path& link, const fs::path& target) {
  std::error_code error;
  const fs::path temporary = temporary_beside(link);
  fs::create_symlink(target, temporary, error);
  if (error) fail(link, error.message(), kAnotherReportDir);
  fs::rename(temporary, link, error);
  if (error) {
    const std::string reason = error.message();
    fs::remove(temporary, error);
    fail(link, reason, kAnotherReportDir);
  }
}

}  // namespace draftproof::tools::store
