// Embedded modules: the PTX of our own kernels, as nvcc made it at build time (kernels.cmake).
// Empty in a build without nvcc that was not given PTX built elsewhere.
#pragma once

#include <span>
#include <string_view>

namespace draftproof::gpu::kernels {

struct EmbeddedModule {
  std::string_view name;  ///< "shaping", "chain", "greedy"
  std::string_view ptx;
};

std::span<const EmbeddedModule> embedded_modules();

/// registers.csv: what ptxas allots each entry, by module, entry and architecture.
std::string_view register_table();

}  // namespace draftproof::gpu::kernels
