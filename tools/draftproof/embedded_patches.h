// Embedded patches: the texts of fixtures/mutants/kernels/*.ptxpatch, as they were at build time,
// and the names of those in its folders, which tests judge and no property does.
#pragma once

#include <span>
#include <string_view>

namespace draftproof::tools {

struct EmbeddedPatch {
  std::string_view file_name;
  std::string_view text;
};

std::span<const EmbeddedPatch> embedded_patches();

struct PatchPlace {
  std::string_view name;
  std::string_view folder;  ///< below fixtures/mutants/kernels
};

std::span<const PatchPlace> patches_in_folders();

}  // namespace draftproof::tools
