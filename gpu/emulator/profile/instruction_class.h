// Instruction classes: which unit of a machine an opcode keeps busy, told from its text.
#pragma once

#include <string_view>

#include "gpu/launch_profile.h"

namespace draftproof::gpu::emulator {

/// `form` is an opcode with all its suffixes: "ld.global.v4.u32", "fma.rn.f32".
InstructionClass class_of(std::string_view form);

}  // namespace draftproof::gpu::emulator
