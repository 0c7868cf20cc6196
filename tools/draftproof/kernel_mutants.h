// Kernel mutants: our kernels with a fault planted in their PTX, by name.
#pragma once

#include <string_view>
#include <vector>

#include "gpu/ptx_patch.h"

namespace draftproof::tools {

/// All of them, by file name. Throws Error(kInput) with FILE:LINE for a malformed patch.
const std::vector<gpu::PtxPatch>& kernel_mutants();

/// Null when there is none of that name.
const gpu::PtxPatch* find_kernel_mutant(std::string_view name);

}  // namespace draftproof::tools
