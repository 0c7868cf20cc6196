// Goal: no argument that cannot be launched passes for one that can. Method: the edges of overlaps
// and of 64-bit products.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>

#include "gpu/launches/checks.h"

namespace draftproof::gpu::launches {
namespace {

constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

bool overlap_of(const Extent& a, const Extent& b) { return overlap(std::array{a, b}); }

TEST(LaunchChecks, SeesEveryByteThatIsShared) {
  EXPECT_TRUE(overlap_of({16, 8, true}, {23, 1, false}));
  EXPECT_TRUE(overlap_of({23, 1, false}, {16, 8, true}));
  EXPECT_TRUE(overlap_of({16, 8, true}, {16, 8, true}));
  EXPECT_FALSE(overlap_of({16, 8, true}, {24, 8, true}));
  EXPECT_FALSE(overlap_of({24, 8, true}, {16, 8, true}));
}

TEST(LaunchChecks, LetsReadersShareAndEmptyBuffersLieAnywhere) {
  EXPECT_FALSE(overlap_of({16, 8, false}, {16, 8, false}));
  EXPECT_FALSE(overlap_of({16, 0, true}, {16, 8, true}));
  EXPECT_FALSE(overlap_of({0, 8, true}, {0, 8, true}));
}

TEST(LaunchChecks, SeesAnOverlapAtTheEndOfTheAddressSpace) {
  EXPECT_TRUE(overlap_of({kLargest - 8, kLargest, true}, {kLargest - 1, 1, false}));
}

TEST(LaunchChecks, MultipliesAndAddsUpToTheLargestNumber) {
  std::uint64_t result = 7;
  EXPECT_TRUE(multiply(kLargest, 1, result));
  EXPECT_EQ(result, kLargest);
  EXPECT_FALSE(multiply(std::uint64_t{1} << 32, std::uint64_t{1} << 32, result));
  EXPECT_FALSE(add(kLargest, 1, result));
  EXPECT_EQ(result, kLargest);
}

TEST(LaunchChecks, CountsBytesOfStridedRows) {
  std::uint64_t bytes = 7;
  EXPECT_TRUE(strided_bytes(3, 10, 4, 2, bytes));
  EXPECT_EQ(bytes, 48u);
  EXPECT_TRUE(strided_bytes(0, 10, 4, 2, bytes));
  EXPECT_EQ(bytes, 0u);
  EXPECT_FALSE(strided_bytes(2, std::uint64_t{1} << 62, 1, 2, bytes));
  EXPECT_FALSE(strided_bytes(kLargest, kLargest, 1, 1, bytes));
}

TEST(LaunchChecks, KnowsAlignment) {
  EXPECT_TRUE(is_aligned(64, 16));
  EXPECT_FALSE(is_aligned(72, 16));
  EXPECT_TRUE(is_aligned(72, 1));
}

}  // namespace
}  // namespace draftproof::gpu::launches
