// Launch: the special registers a program reads, filled once when a warp starts. One block occupies
// one multiprocessor, as the scheduler is free to do.
#include "gpu/emulator/machine/launch.h"

namespace draftproof::gpu::emulator {

namespace {

struct ThreadPosition {
  std::uint32_t x, y, z;
};

ThreadPosition position_of(std::uint32_t thread, const Dim3& block) {
  return {thread % block.x, thread / block.x % block.y, thread / block.x / block.y};
}

}  // namespace

std::uint64_t Launch::special_value(const SpecialOperand& special, const ThreadBlock& block,
                                    std::uint32_t warp, std::uint32_t lane) const {
  const ThreadPosition thread = position_of(warp * kLanes + lane, options.block);
  const LaneMask bit = LaneMask{1} << lane;
  switch (special.which) {
    case SpecialRegister::kTidX:
      return thread.x;
    case SpecialRegister::kTidY:
      return thread.y;
    case SpecialRegister::kTidZ:
      return thread.z;
    case SpecialRegister::kNtidX:
      return options.block.x;
    case SpecialRegister::kNtidY:
      return options.block.y;
    case SpecialRegister::kNtidZ:
      return options.block.z;
    case SpecialRegister::kCtaidX:
      return block.position.x;
    case SpecialRegister::kCtaidY:
      return block.position.y;
    case SpecialRegister::kCtaidZ:
      return block.position.z;
    case SpecialRegister::kNctaidX:
      return options.grid.x;
    case SpecialRegister::kNctaidY:
      return options.grid.y;
    case SpecialRegister::kNctaidZ:
      return options.grid.z;
    case SpecialRegister::kLaneId:
      return lane;
    case SpecialRegister::kWarpId:
      return warp;
    case SpecialRegister::kNwarpId:
      return kWarpsMax;
    case SpecialRegister::kLanemaskEq:
      return bit;
    case SpecialRegister::kLanemaskLe:
      return bit | (bit - 1);
    case SpecialRegister::kLanemaskLt:
      return bit - 1;
    case SpecialRegister::kLanemaskGe:
      return static_cast<LaneMask>(~(bit - 1));
    case SpecialRegister::kLanemaskGt:
      return static_cast<LaneMask>(~(bit | (bit - 1)));
    case SpecialRegister::kSmId:
      return block.index;
    case SpecialRegister::kNsmId:
      return options.grid.count();
    case SpecialRegister::kGridId:
      return 1;
    case SpecialRegister::kDynamicSmemSize:
      return options.dynamic_shared_bytes;
    case SpecialRegister::kTotalSmemSize:
      return block.shared_bytes;
    case SpecialRegister::kClusterCtaRank:
      return 0;
    case SpecialRegister::kClusterNctaRank:
      return 1;
    case SpecialRegister::kEnvReg:
    case SpecialRegister::kZero:
      return 0;
  }
  return 0;
}

void Launch::fill_specials(const ThreadBlock& block, Warp& warp) {
  for (const SpecialOperand& special : program.specials) {
    const Operand& to = special.operand;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t value = special_value(special, block, warp.index, lane);
      if (to.bytes == 8) {
        warp.frame.lanes<std::uint64_t>(to)[lane] = value;
      } else {
        warp.frame.lanes<std::uint32_t>(to)[lane] = static_cast<std::uint32_t>(value);
      }
    }
    warp.frame.valid(to) = ~LaneMask{0};
  }
}

}  // namespace draftproof::gpu::emulator
