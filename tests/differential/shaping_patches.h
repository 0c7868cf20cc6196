// The broken shaping kernels of fixtures/mutants/kernels/shaping.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "gpu/kernel_modules.h"
#include "gpu/ptx_patch.h"

namespace draftproof::tests {

/// Those of the modules whose names begin with `prefix`.
inline std::vector<gpu::PtxPatch> shaping_patches(std::string_view prefix) {
  std::vector<gpu::PtxPatch> list;
  for (const auto& file : std::filesystem::directory_iterator(
           DRAFTPROOF_SOURCE_DIR "/fixtures/mutants/kernels/shaping")) {
    if (file.path().extension() != ".ptxpatch") continue;
    std::ostringstream text;
    text << std::ifstream(file.path()).rdbuf();
    gpu::PtxPatch patch = gpu::parse_ptx_patch(text.str(), file.path().filename().string());
    if (patch.module.starts_with(prefix)) list.push_back(std::move(patch));
  }
  return list;
}

}  // namespace draftproof::tests
