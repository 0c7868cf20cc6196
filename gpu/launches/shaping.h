// Shaping: launches of shape_rows in all its variants (gpu/kernels/arguments/shaping.h).
#pragma once

#include <cstdint>

#include "gpu/kernel_launch.h"
#include "gpu/kernels/arguments/result.h"
#include "gpu/kernels/arguments/shaping.h"

namespace draftproof::gpu::launches {

/// What is wrong with the arguments, as far as the host can see it; DRAFTPROOF_OK otherwise. A
/// DRAFTPROOF_UNSUPPORTED names the combination that no kernel serves.
draftproof_result check(const draftproof_shape_rows_arguments& arguments);

/// The variant that is launched, where the arguments leave the choice.
draftproof_shaping_variant variant_of(const draftproof_shape_rows_arguments& arguments);

/// Bytes of workspace that the arguments need; 0 where none is. Of the split variant only. Pointers
/// are not looked at. Precondition: sizes are in their documented ranges.
std::uint64_t workspace_bytes(const draftproof_shape_rows_arguments& arguments);

/// The fraction bits of a row of masses: 44 up to 2^18 tokens, else 62 - ceil(log2 vocab_size).
/// Precondition: 1 to 2^20 tokens.
std::uint32_t fraction_bits_of(std::uint32_t vocab_size);

/// The launch. `arguments` must outlive it. Precondition: check() says DRAFTPROOF_OK.
KernelLaunch launch_of(const draftproof_shape_rows_arguments& arguments);

}  // namespace draftproof::gpu::launches
