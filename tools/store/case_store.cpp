#include "tools/store/case_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <vector>

#include "reference/error.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kIdDigits = 12;

std::vector<fs::path> cases_beginning_with(const fs::path& folder, const std::string& name) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".json") continue;
    if (entry.path().stem().string().starts_with(name)) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool looks_like_an_id(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](unsigned char c) { return std::isxdigit(c) != 0; });
}

}  // namespace

std::string content_id(std::string_view content) {
  // FNV-1a, 64 bits (Fowler, Noll, Vo). An id names a file; nothing secret rests on it.
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : content) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3u;
  }
  return fmt::format("{:016x}", hash).substr(0, kIdDigits);
}

StoredCase save_case(const fs::path& report_dir, const std::string& case_json) {
  const std::string id = content_id(case_json);
  const fs::path path = report_dir / "cases" / (id + ".json");
  write_atomically(path, case_json);
  return {id, path};
}

LoadedCase load_case(const fs::path& report_dir, const std::string& name) {
  std::error_code error;
  fs::path path = name;
  if (!fs::exists(path, error) && looks_like_an_id(name)) {
    const fs::path folder = report_dir / "cases";
    const auto found = cases_beginning_with(folder, name);
    if (found.empty()) {
      throw Error(ErrorKind::kInput,
                  fmt::format("no case {} in {}; name a file, or the folder with --report-dir",
                              name, folder.string()),
                  "replay");
    }
    if (found.size() > 1) {
      throw Error(ErrorKind::kInput,
                  fmt::format("{} cases in {} begin with {}; give more digits", found.size(),
                              folder.string(), name),
                  "replay");
    }
    path = found.front();
  }
  return {properties::case_from_json(read_file(path), path.string()), path};
}

}  // namespace draftproof::tools::store
