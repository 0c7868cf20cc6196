// Tree launches: laying out draft trees and selecting dynamic ones, as launches.
#pragma once

#include <cstdint>

#include "gpu/kernel_launch.h"
#include "gpu/kernels/arguments/result.h"
#include "gpu/kernels/arguments/tree.h"

namespace draftproof::gpu::launches {

/// The least mask_words for so many nodes.
constexpr std::uint32_t mask_words_for(std::uint32_t node_capacity) {
  return (node_capacity + 63) / 64;
}

/// Whether these arguments can be launched; the text names the field and the remedy. What lies in
/// device memory (counts, parents) is judged by the kernel, request by request.
draftproof_result check(const draftproof_tree_layout_arguments& arguments);

draftproof_result check(const draftproof_tree_selection_arguments& arguments);

/// Precondition: check(arguments) is good. `arguments` must outlive the launch.
KernelLaunch launch_of(const draftproof_tree_layout_arguments& arguments);
KernelLaunch launch_of(const draftproof_tree_selection_arguments& arguments);

}  // namespace draftproof::gpu::launches
