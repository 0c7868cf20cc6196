// SectorSet: which 32-byte sectors of global memory a block has touched.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <unordered_map>

namespace draftproof::gpu::emulator {

inline constexpr std::uint64_t kSectorBytes = 32;

class SectorSet {
 public:
  /// `sector` is an address divided by kSectorBytes.
  void add(std::uint64_t sector) {
    const std::uint64_t page = sector / kPageSectors;
    if (last_ == nullptr || page != last_page_) {
      last_ = &pages_[page];
      last_page_ = page;
    }
    (*last_)[sector % kPageSectors / 64] |= std::uint64_t{1} << sector % 64;
  }
  std::uint64_t count() const {
    std::uint64_t result = 0;
    for (const auto& [number, page] : pages_) {
      for (const std::uint64_t word : page) result += static_cast<unsigned>(std::popcount(word));
    }
    return result;
  }

 private:
  static constexpr std::uint64_t kPageSectors = 4096;
  using Page = std::array<std::uint64_t, kPageSectors / 64>;
  std::unordered_map<std::uint64_t, Page> pages_;  ///< whose elements stay where they are
  Page* last_ = nullptr;
  std::uint64_t last_page_ = 0;
};

}  // namespace draftproof::gpu::emulator
