// The broken shaping kernels of fixtures/mutants/kernels/shaping.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
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

/// True when a patch names what found it: the device's check ("race: ..." is a race), or else
/// `compared`, what the test compares.
inline bool is_killed_by_what_it_names(const gpu::PtxPatch& patch, const std::string& found,
                                       std::string_view compared) {
  const std::string check = found.substr(0, found.find(':'));
  const bool is_seen_by_the_device = check.find(' ') == std::string::npos;
  return patch.kills.find(is_seen_by_the_device ? check : std::string(compared)) !=
         std::string::npos;
}

}  // namespace draftproof::tests
