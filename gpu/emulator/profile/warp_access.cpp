#include "gpu/emulator/profile/warp_access.h"

#include <algorithm>

#include "gpu/emulator/profile/sector_set.h"

namespace draftproof::gpu::emulator {

namespace {

constexpr std::uint64_t kBanks = 32;
constexpr std::uint64_t kBankBytes = 4;

/// Collects values that mostly ascend already.
class Collector {
 public:
  void add(std::uint64_t value) {
    if (result_.count != 0) {
      const std::uint64_t last = result_.values[result_.count - 1];
      if (value == last) return;
      is_sorted_ = is_sorted_ && value > last;
    }
    result_.values[result_.count++] = value;
  }
  const DistinctValues& take() {
    if (!is_sorted_) {
      const auto begin = result_.values.begin();
      const auto end = begin + static_cast<std::ptrdiff_t>(result_.count);
      std::sort(begin, end);
      result_.count = static_cast<std::size_t>(std::unique(begin, end) - begin);
    }
    return result_;
  }

 private:
  DistinctValues result_;
  bool is_sorted_ = true;
};

DistinctValues distinct_addresses(const WarpAccess& access) {
  Collector collector;
  for (std::size_t i = 0; i < access.count; ++i) collector.add(access.addresses[i]);
  return collector.take();
}

}  // namespace

DistinctValues sectors_of(const WarpAccess& access) {
  Collector collector;
  for (std::size_t i = 0; i < access.count; ++i) {
    const std::uint64_t first = access.addresses[i] / kSectorBytes;
    const std::uint64_t last = (access.addresses[i] + access.width - 1) / kSectorBytes;
    collector.add(first);
    if (last != first) collector.add(last);
  }
  return collector.take();
}

std::uint64_t ideal_sectors_of(const WarpAccess& access) {
  const std::uint64_t bytes = distinct_addresses(access).count * access.width;
  return (bytes + kSectorBytes - 1) / kSectorBytes;
}

Wavefronts wavefronts_of(const WarpAccess& access) {
  const std::size_t group_lanes = access.width <= 4 ? 32 : access.width <= 8 ? 16 : 8;
  Wavefronts result;
  for (std::size_t i = 0; i < access.count;) {
    const std::size_t group = access.lanes[i] / group_lanes;
    Collector words;
    for (; i < access.count && access.lanes[i] / group_lanes == group; ++i) {
      const std::uint64_t last = (access.addresses[i] + access.width - 1) / kBankBytes;
      for (std::uint64_t word = access.addresses[i] / kBankBytes; word <= last; ++word)
        words.add(word);
    }
    std::array<std::uint8_t, kBanks> turns{};
    const DistinctValues& distinct = words.take();
    for (std::size_t each = 0; each < distinct.count; ++each)
      ++turns[distinct.values[each] % kBanks];
    result.needed += *std::max_element(turns.begin(), turns.end());
    ++result.ideal;
  }
  return result;
}

std::uint64_t most_on_one_address(const WarpAccess& access) {
  std::array<std::uint64_t, kLanes> sorted = access.addresses;
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(access.count);
  std::sort(sorted.begin(), end);
  std::uint64_t most = 0;
  for (auto begin = sorted.begin(); begin != end;) {
    const auto next = std::upper_bound(begin, end, *begin);
    most = std::max(most, static_cast<std::uint64_t>(next - begin));
    begin = next;
  }
  return most;
}

}  // namespace draftproof::gpu::emulator
