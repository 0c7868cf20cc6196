// ConstantPool: immediates laid out like registers, one copy a lane, so that a handler knows one
// kind of operand only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "gpu/emulator/code/program.h"

namespace draftproof::gpu::emulator {

class ConstantPool {
 public:
  /// `bytes` as in Operand: 4, 8, or 0 for a predicate (bits 0 or 1).
  Operand intern(std::uint64_t bits, std::uint8_t bytes) {
    const auto [found, is_first] = known_.try_emplace({bits, bytes}, 0);
    if (is_first) found->second = append(bits, bytes);
    return operand(found->second, bytes);
  }
  /// A place of its own, to be filled when an address is known.
  Operand reserve(std::uint8_t bytes) { return operand(append(0, bytes), bytes); }

  static void fill(std::vector<std::byte>& area, std::size_t at, std::uint64_t bits,
                   std::uint8_t bytes);
  std::vector<std::byte>& area() { return area_; }

 private:
  std::uint32_t append(std::uint64_t bits, std::uint8_t bytes);
  static Operand operand(std::uint32_t offset, std::uint8_t bytes) {
    Operand result;
    result.offset = offset;
    result.area = 1;
    result.bytes = bytes;
    result.present = true;
    return result;
  }

  std::vector<std::byte> area_;
  std::map<std::pair<std::uint64_t, std::uint8_t>, std::uint32_t> known_;
};

}  // namespace draftproof::gpu::emulator
