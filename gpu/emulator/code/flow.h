// Flow: basic blocks of a decoded program and their post-dominators.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/emulator/code/program.h"

namespace draftproof::gpu::emulator {

struct Block {
  std::uint32_t begin = 0;  ///< instruction indices [begin, end)
  std::uint32_t end = 0;
  std::vector<std::uint32_t> successors;
};

/// Splits at branch targets and behind branches, exits and traps. Guarded exits fall through: the
/// lanes that leave need no place to meet again.
std::vector<Block> find_blocks(const std::vector<Instruction>& instructions);

/// Fills Instruction::reconvergence of every branch.
void set_reconvergence(std::vector<Instruction>& instructions, const std::vector<Block>& blocks);

}  // namespace draftproof::gpu::emulator
