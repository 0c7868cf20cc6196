// ThreadBlock: the warps of a block, its shared memory and its barriers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/emulator/checks/defined_bytes.h"
#include "gpu/emulator/checks/happens_before.h"
#include "gpu/emulator/checks/observer.h"
#include "gpu/emulator/checks/race_shadow.h"
#include "gpu/emulator/machine/warp.h"

namespace draftproof::gpu::emulator {

/// One of the 16 named barriers. PTX ISA, "bar": counts threads, in warps; threads that exited
/// count where no thread count is given.
struct Barrier {
  std::uint32_t expected = 0;          ///< threads; 0: all of the block
  std::uint32_t arrived = 0;           ///< threads
  std::vector<std::uint32_t> waiters;  ///< warps
  KnowledgePointer released;           ///< with a count: what the warps knew when they arrived
  KnowledgePointer fenced;             ///< and what they had fenced
  Party first;                         ///< who arrived first, for messages
  std::uint32_t popc = 0;
  bool all = true, any = false, operands_valid = true;  ///< bar.red
  bool is_open() const { return arrived != 0; }
};

/// The named ones, and one for barrier.cluster: a cluster is one block.
inline constexpr std::uint32_t kBarriers = 17;
inline constexpr std::uint32_t kClusterBarrierNumber = 16;
inline constexpr std::uint32_t kWarpsMax = 32;

struct ThreadBlock {
  std::uint32_t index = 0;  ///< linear
  Dim3 position{0, 0, 0};
  std::uint32_t thread_count = 0;
  std::uint32_t exited = 0;  ///< threads
  std::vector<Warp> warps;
  std::vector<std::byte> shared;
  std::uint64_t shared_bytes = 0;
  DefinedBytes shared_defined;
  RaceShadow shared_race;
  std::array<Barrier, kBarriers> barriers;
  BlockClocks clocks;
  std::uint32_t runnable = 0;          ///< one bit a warp
  std::uint64_t fruitless_rounds = 0;  ///< rounds in which every warp only polled
  bool is_done() const { return exited == thread_count; }
};

}  // namespace draftproof::gpu::emulator
