// Case store: failing cases on disk, named by their content, so that the same counterexample has
// the same id on every machine and is stored once.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "properties/case.h"

namespace draftproof::tools::store {

/// Twelve hexadecimal digits of the FNV-1a hash of `content`.
std::string content_id(std::string_view content);

struct StoredCase {
  std::string id;
  std::filesystem::path path;
};

/// Writes DIR/cases/ID.json. Storing the same content again changes nothing.
StoredCase save_case(const std::filesystem::path& report_dir, const std::string& case_json);

struct LoadedCase {
  properties::Case value;
  std::filesystem::path path;
};

/// `name` is a file, an id, or the beginning of exactly one id in REPORT_DIR/cases. Throws
/// Error(kInput) that says where was looked and what is there.
LoadedCase load_case(const std::filesystem::path& report_dir, const std::string& name);

}  // namespace draftproof::tools::store
