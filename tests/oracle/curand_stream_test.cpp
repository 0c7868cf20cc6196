// The stream against published answers and its own definition.
#include "oracle/curand_stream.h"

#include <Random123/philox.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace draftproof::oracle {
namespace {

TEST(CurandStream, AnswersThePublishedVector) {
  // Random123's kat_vectors: counter and key zero.
  const CurandStream zero(0, 0, 0);
  EXPECT_EQ(zero.word(0), 0x6627e8d5u);
  EXPECT_EQ(zero.word(1), 0xe169c58du);
  EXPECT_EQ(zero.word(2), 0xbc57ac4cu);
  EXPECT_EQ(zero.word(3), 0x9b00dbd8u);
}

TEST(CurandStream, EqualsAnotherImplementationAtAnyAddress) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 1000; ++trial) {
    const std::uint64_t seed = random();
    const std::uint64_t subsequence = random() >> (trial % 60);
    const std::uint64_t offset = random() >> (trial % 60);
    const std::uint64_t block = offset / 4;
    const r123::Philox4x32::ctr_type counter = {
        {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
         static_cast<std::uint32_t>(subsequence), static_cast<std::uint32_t>(subsequence >> 32)}};
    const r123::Philox4x32::key_type key = {
        {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
    EXPECT_EQ(CurandStream(seed, subsequence, offset).word(0),
              r123::Philox4x32()(counter, key)[offset % 4]);
  }
}

TEST(CurandStream, OffsetSkipsNumbersOneByOne) {
  const CurandStream start(7, 3, 0);
  for (std::uint64_t offset = 0; offset < 9; ++offset)
    for (std::uint64_t index = 0; index < 9; ++index)
      EXPECT_EQ(CurandStream(7, 3, offset).word(index), start.word(offset + index));
  EXPECT_NE(CurandStream(7, 2, 0).word(0), start.word(0));
  EXPECT_NE(CurandStream(8, 3, 0).word(0), start.word(0));
}

TEST(CurandStream, CoinsLieAboveZeroAndReachOne) {
  EXPECT_EQ(CurandStream::coin_of(0), 0x1p-33f);
  EXPECT_EQ(CurandStream::coin_of(0xffffffffu), 1.0f);
  EXPECT_EQ(CurandStream::coin_of(0xffffff80u), 1.0f);
  EXPECT_EQ(CurandStream::coin_of(0xffffff7fu), std::nextafter(1.0f, 0.0f));
  EXPECT_EQ(CurandStream::coin_of(0x80000000u), 0.5f);
}

TEST(CurandStream, FindsTheFirstWordInARange) {
  const CurandStream stream(5, 1, 6);
  const std::uint32_t wanted = stream.word(1001);
  EXPECT_EQ(stream.find(wanted, wanted, 5000), 1001u);
  EXPECT_EQ(stream.find(wanted, wanted, 1001), std::nullopt);
  const auto largest = stream.find(0xffff0000u, 0xffffffffu, 1u << 20);
  ASSERT_TRUE(largest.has_value());
  EXPECT_GE(stream.word(*largest), 0xffff0000u);
}

}  // namespace
}  // namespace draftproof::oracle
