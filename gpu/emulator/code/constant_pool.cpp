#include "gpu/emulator/code/constant_pool.h"

#include <cstring>

namespace draftproof::gpu::emulator {

void ConstantPool::fill(std::vector<std::byte>& area, std::size_t at, std::uint64_t bits,
                        std::uint8_t bytes) {
  if (bytes == 0) {
    const LaneMask word = bits != 0 ? ~LaneMask{0} : 0;
    std::memcpy(area.data() + at, &word, sizeof(word));
    return;
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    std::memcpy(area.data() + at + static_cast<std::size_t>(lane) * bytes, &bits, bytes);
  }
}

std::uint32_t ConstantPool::append(std::uint64_t bits, std::uint8_t bytes) {
  // A predicate takes a whole row too, which keeps the rows aligned.
  const std::size_t at = area_.size();
  area_.resize(at + (bytes == 8 ? 256 : 128));
  fill(area_, at, bits, bytes);
  return static_cast<std::uint32_t>(at);
}

}  // namespace draftproof::gpu::emulator
