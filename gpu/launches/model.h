// Launches of the model's kernels: whether arguments will do, and the launch that they make.
#pragma once

#include <cstdint>

#include "gpu/kernel_launch.h"
#include "gpu/kernels/arguments/model.h"

namespace draftproof::gpu::launches {

/// Whether a launch with these arguments is sound, as far as the host can see.
draftproof_result check(const draftproof_embed_arguments& arguments);
draftproof_result check(const draftproof_rms_norm_arguments& arguments);
draftproof_result check(const draftproof_gemm_arguments& arguments);
draftproof_result check(const draftproof_rope_scatter_arguments& arguments);
draftproof_result check(const draftproof_attention_arguments& arguments);
draftproof_result check(const draftproof_swiglu_arguments& arguments);
draftproof_result check(const draftproof_residual_add_arguments& arguments);

inline constexpr std::uint32_t kModelBlockThreads = 128;

/// Precondition: check() passes; `arguments` outlives the launch; `threads`, of a block, is a
/// multiple of 32 up to 1,024.
KernelLaunch launch_of(const draftproof_embed_arguments& arguments,
                       std::uint32_t threads = kModelBlockThreads);
KernelLaunch launch_of(const draftproof_rms_norm_arguments& arguments,
                       std::uint32_t threads = kModelBlockThreads);
KernelLaunch launch_of(const draftproof_gemm_arguments& arguments,
                       std::uint32_t threads = kModelBlockThreads);
KernelLaunch launch_of(const draftproof_rope_scatter_arguments& arguments,
                       std::uint32_t threads = kModelBlockThreads);
KernelLaunch launch_of(const draftproof_attention_arguments& arguments,
                       std::uint32_t threads = kModelBlockThreads);
KernelLaunch launch_of(const draftproof_swiglu_arguments& arguments,
                       std::uint32_t threads = kModelBlockThreads);
KernelLaunch launch_of(const draftproof_residual_add_arguments& arguments,
                       std::uint32_t threads = kModelBlockThreads);

}  // namespace draftproof::gpu::launches
