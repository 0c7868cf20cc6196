// Slots: registers that are never live together share a place of the warp's register file. A
// program of thousands of virtual registers then fits in a first-level cache.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/emulator/code/flow.h"
#include "gpu/emulator/code/program.h"

namespace draftproof::gpu::emulator {

/// A register before it has a place; Operand::offset holds its index until assign_slots.
struct VirtualRegister {
  std::uint8_t bytes = 4;           ///< 4, 8, or 0 for a predicate
  std::uint8_t declared_bytes = 4;  ///< 1, 2, 4, 8, or 0
  bool is_pinned = false;           ///< the machine fills it: it keeps its place throughout
};

/// Gives every register a place and rewrites the operands of the program.
void assign_slots(Program& program, const std::vector<Block>& blocks,
                  const std::vector<VirtualRegister>& registers);

}  // namespace draftproof::gpu::emulator
