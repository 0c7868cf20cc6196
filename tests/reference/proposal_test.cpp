// Proposals: rounding to storage formats, names, and complaints about sizes that do not fit.
#include "reference/proposal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <set>

#include "reference/error.h"
#include "reference/outcome.h"
#include "tests/reference/batches.h"

namespace draftproof::reference {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Nearest-even by the bits: the carry of half a unit minus one, plus the unit's parity.
float bfloat16_by_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000U);
}

TEST(RoundedTo, Bfloat16AgreesWithTheBitsOfManyNumbers) {
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 9973) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(rounded_to(LogitFormat::kBfloat16, value)),
              std::bit_cast<std::uint32_t>(bfloat16_by_bits(value)))
        << value;
  }
}

TEST(RoundedTo, Float16AgreesWithTheCompilersOwnType) {
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 99991) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(rounded_to(LogitFormat::kFloat16, value)),
              std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<_Float16>(value))))
        << value;
  }
}

TEST(RoundedTo, TiesGoToEvenAndOverflowGoesToInfinity) {
  EXPECT_EQ(rounded_to(LogitFormat::kFloat16, 2049), 2048);
  EXPECT_EQ(rounded_to(LogitFormat::kFloat16, 2051), 2052);
  EXPECT_EQ(rounded_to(LogitFormat::kFloat16, 65519), 65504);
  EXPECT_EQ(rounded_to(LogitFormat::kFloat16, -65520), -kInfinity);
  EXPECT_EQ(rounded_to(LogitFormat::kFloat16, 0x1p-25F), 0);
  EXPECT_EQ(rounded_to(LogitFormat::kFloat16, 0x1.8p-25F), 0x1p-24F);
  EXPECT_EQ(rounded_to(LogitFormat::kBfloat16, std::numeric_limits<float>::max()), kInfinity);
  EXPECT_TRUE(std::isnan(rounded_to(LogitFormat::kFloat16, std::nanf(""))));
  EXPECT_TRUE(std::signbit(rounded_to(LogitFormat::kFloat16, -0.0F)));
  EXPECT_EQ(rounded_to(LogitFormat::kFloat32, 0.1F), 0.1F);
}

TEST(Names, OfStatusesAndReasonsAreDistinct) {
  std::set<std::string_view> names;
  for (std::uint32_t word = 0; word < 9; ++word) names.insert(to_string(Status{word}));
  EXPECT_EQ(names.size(), 9U);
  EXPECT_EQ(to_string(Status{9}), "unknown-status");
  EXPECT_EQ(to_string(Reason::kRecovered), "recovered");
}

std::string complaint(const std::function<void(Batch&)>& spoil) {
  const Row row = {0, 1, 2};
  Batch batch = one_request({0, 1}, {row, row, row}, {row, row});
  batch.requests.push_back(batch.requests[0]);
  spoil(batch);
  try {
    validate(batch);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "";
}

TEST(Validate, AcceptsWhatFits) {
  EXPECT_EQ(complaint([](Batch&) {}), "");
  EXPECT_EQ(complaint([](Batch& batch) { batch.requests[1].proposal.parents = {-1, 0}; }), "");
  EXPECT_EQ(complaint([](Batch& batch) { batch.requests.clear(); }), "");
  EXPECT_EQ(complaint([](Batch& batch) {
              batch.draft_kind = RowKind::kOneHot;
              for (Request& request : batch.requests) request.proposal.rows.clear();
            }),
            "");
  EXPECT_EQ(complaint([](Batch& batch) { batch.requests[0].proposal.tokens[0] = 99; }), "")
      << "an id out of range is the subject's to report, as a status";
}

TEST(Validate, NamesRequestAndField) {
  using testing::StartsWith;
  const auto in_second = [](const std::function<void(Request&)>& spoil) {
    return complaint([&](Batch& batch) { spoil(batch.requests[1]); });
  };
  EXPECT_THAT(in_second([](Request& r) { r.target_rows.pop_back(); }),
              StartsWith("requests[1].target_rows: has 2 entries, needs 3"));
  EXPECT_THAT(in_second([](Request& r) { r.target_rows[2].push_back(0); }),
              StartsWith("requests[1].target_rows[2]: "));
  EXPECT_THAT(in_second([](Request& r) { r.proposal.rows.pop_back(); }),
              StartsWith("requests[1].proposal.rows: "));
  EXPECT_THAT(in_second([](Request& r) { r.proposal.rows[0].clear(); }),
              StartsWith("requests[1].proposal.rows[0]: "));
  EXPECT_THAT(in_second([](Request& r) { r.proposal.parents = {0}; }),
              StartsWith("requests[1].proposal.parents: "));
  EXPECT_THAT(in_second([](Request& r) {
                r.proposal.parents = {-1, 1};
              }),
              StartsWith("requests[1].proposal.parents[1]: "));
  EXPECT_THAT(in_second([](Request& r) {
                r.proposal.parents = {-2, 0};
              }),
              StartsWith("requests[1].proposal.parents[0]: must name an earlier token"));
  EXPECT_THAT(in_second([](Request& r) {
                r.proposal.parents = {1, 0};  // a cycle
              }),
              StartsWith("requests[1].proposal.parents[0]: "));
  EXPECT_THAT(in_second([](Request& r) { r.iteration = 1U << 24; }),
              StartsWith("requests[1].iteration: must stay below 2^24"));
  EXPECT_THAT(in_second([](Request& r) { r.sampling.top_p = std::nan(""); }),
              StartsWith("requests[1].sampling: top_p"));
  EXPECT_THAT(in_second([](Request& r) { r.position = 0xfffffffe; }),
              StartsWith("requests[1].position: "));
}

TEST(Validate, TakesTreesWithEqualSiblingsUpToTheLimit) {
  const auto complaint_of = [](std::size_t tokens) {
    return complaint([&](Batch& batch) {
      batch.vocab_size = 1;
      batch.draft_kind = RowKind::kOneHot;
      batch.requests.resize(1);
      Request& request = batch.requests[0];
      request.proposal = {std::vector<Token>(tokens, 0), {}, std::vector<int>(tokens, -1)};
      request.target_rows.assign(tokens + 1, {0});
    });
  };
  EXPECT_EQ(complaint_of(2), "");
  EXPECT_EQ(complaint_of(65536), "");
  EXPECT_THAT(complaint_of(65537),
              testing::StartsWith("requests[0].proposal.tokens: has 65537 entries; draft at most "
                                  "65536"));
}

TEST(Validate, LooksAtTheBatchItself) {
  EXPECT_THAT(complaint([](Batch& batch) { batch.vocab_size = 0; }),
              testing::HasSubstr("vocab_size is 0"));
  EXPECT_THAT(complaint([](Batch& batch) { batch.target_kind = RowKind::kOneHot; }),
              testing::HasSubstr("target_kind"));
  EXPECT_THAT(complaint([](Batch& batch) {
                batch.format = LogitFormat::kBfloat16;
                batch.requests[0].target_rows[1][1] = 0.1F;
              }),
              testing::HasSubstr("bfloat16 cannot represent"));
}

}  // namespace
}  // namespace draftproof::reference
