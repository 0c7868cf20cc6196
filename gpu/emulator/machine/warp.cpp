// Warp: see the header.
#include "gpu/emulator/machine/warp.h"

namespace draftproof::gpu::emulator {

void Warp::merge() {
  for (std::size_t i = 0; i + 1 < strands.size(); ++i) {
    for (std::size_t j = strands.size() - 1; j > i; --j) {
      Strand& kept = strands[i];
      const Strand& other = strands[j];
      if (kept.pc != other.pc) continue;
      // A strand that has arrived at a barrier is counted there; it may not gain lanes.
      if (kept.wait == Wait::kBarrier || other.wait == Wait::kBarrier) continue;
      kept.mask |= other.mask;
      kept.wait = Wait::kNothing;
      kept.alone = kept.alone && other.alone;
      strands.erase(strands.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
}

void Warp::ask_again() {
  for (Strand& strand : strands) {
    if (strand.wait == Wait::kLanes || strand.wait == Wait::kWarp) strand.wait = Wait::kNothing;
  }
}

}  // namespace draftproof::gpu::emulator
