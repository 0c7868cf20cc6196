// Files that are either whole or absent: written beside their place and renamed into it, so that an
// interrupt or a full disk never leaves half a report.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace draftproof::tools::store {

/// Throws Error(kInput) naming the path when it is missing or unreadable.
std::string read_file(const std::filesystem::path& path);

/// Why nothing can be written into `folder`, which need not be there yet: the system's words, asked
/// without writing, so that a long run is not lost to a slip. Empty: nothing speaks against it.
std::string why_unwritable(const std::filesystem::path& folder);

/// What to do about a report folder that cannot be written.
inline constexpr std::string_view kAnotherReportDir = "choose another folder with --report-dir";

/// Throws Error(kEnvironment) with the remedy where why_unwritable() speaks.
void need_writable(const std::filesystem::path& report_dir);

/// Creates the folder when needed. Throws Error(kEnvironment) naming the path and the remedy.
void write_atomically(const std::filesystem::path& path, std::string_view content,
                      std::string_view remedy = kAnotherReportDir);

/// Points the symbolic link `link` at `target`, replacing an older link in one step.
void link_atomically(const std::filesystem::path& link, const std::filesystem::path& target);

}  // namespace draftproof::tools::store
