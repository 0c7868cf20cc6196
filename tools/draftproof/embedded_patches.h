// Embedded patches: the texts of fixtures/mutants/kernels/*.ptxpatch, as they were at build time.
#pragma once

#include <span>
#include <string_view>

namespace draftproof::tools {

struct EmbeddedPatch {
  std::string_view file_name;
  std::string_view text;
};

std::span<const EmbeddedPatch> embedded_patches();

}  // namespace draftproof::tools
