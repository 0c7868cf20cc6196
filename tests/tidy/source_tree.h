// The tree as the tidy tests read it: every file that is committed or could be, line by line, and
// rules as functions from a file to complaints. Each rule has a test that feeds it what it must
// reject.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace draftproof::tests {

struct SourceFile {
  std::string path;  // relative to the root, with '/'
  std::vector<std::string> lines;
};
/// One sentence each, with the place.
using Complaints = std::vector<std::string>;

/// "FILE:LINE" of the line at `index`, for a complaint.
inline std::string at(const SourceFile& file, std::size_t index) {
  return file.path + ":" + std::to_string(index + 1);
}

inline bool has_extension(const std::string& path, const std::set<std::string>& extensions) {
  return extensions.contains(std::filesystem::path(path).extension().string());
}

inline bool is_code(const std::string& path) {
  return has_extension(path, {".h", ".cpp", ".cuh", ".cu"});
}

/// The top folder; the name itself for a file at the root.
inline std::string folder_of(const std::string& path) { return path.substr(0, path.find('/')); }

inline SourceFile read_file(const std::string& path, const std::filesystem::path& file) {
  SourceFile source{path, {}};
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) source.lines.push_back(line);
  return source;
}

/// The folders of the architecture; README.md says what each is.
inline const std::set<std::string>& top_folders() {
  static const std::set<std::string> folders = {"reference",  "gpu",   "oracle", "fixtures",
                                                "properties", "tools", "tests"};
  return folders;
}

/// Everything that is committed or could be: build outputs and reports are not ours to judge.
inline std::vector<SourceFile> read_tree() {
  namespace fs = std::filesystem;
  const fs::path root = DRAFTPROOF_SOURCE_DIR;
  std::vector<SourceFile> files;
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::end(entry); ++entry) {
    const std::string path = fs::relative(entry->path(), root).generic_string();
    const std::string name = entry->path().filename().string();
    if (entry->is_directory()) {
      const bool is_ours = entry.depth() > 0 || top_folders().contains(name) || name == ".ci";
      if (!is_ours || name == "__pycache__") entry.disable_recursion_pending();
    } else if (entry->is_regular_file()) {
      files.push_back(read_file(path, entry->path()));
    }
  }
  return files;
}

/// read_tree(), read once.
inline const std::vector<SourceFile>& all_files() {
  static const std::vector<SourceFile> files = read_tree();
  return files;
}

using Rule = Complaints (*)(const SourceFile&);

/// Fails once a complaint about any file of the tree.
inline void expect_clean(Rule rule) {
  for (const auto& file : all_files())
    for (const auto& complaint : rule(file)) ADD_FAILURE() << complaint;
}

}  // namespace draftproof::tests
