#include "tools/draftproof/kernel_mutants.h"

#include "tools/draftproof/embedded_patches.h"

namespace draftproof::tools {

const std::vector<gpu::PtxPatch>& kernel_mutants() {
  static const std::vector<gpu::PtxPatch> list = [] {
    std::vector<gpu::PtxPatch> patches;
    for (const EmbeddedPatch& embedded : embedded_patches()) {
      patches.push_back(gpu::parse_ptx_patch(embedded.text, embedded.file_name));
    }
    return patches;
  }();
  return list;
}

const gpu::PtxPatch* find_kernel_mutant(std::string_view name) {
  for (const gpu::PtxPatch& patch : kernel_mutants()) {
    if (patch.name == name) return &patch;
  }
  return nullptr;
}

}  // namespace draftproof::tools
