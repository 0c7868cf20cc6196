// Cases as JSON: they read back bit for bit, and what does not fit is refused with its place.
#include "properties/case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "properties/generators.h"
#include "properties/number_text.h"
#include "reference/error.h"

namespace draftproof::properties {
namespace {

using ::testing::HasSubstr;

/// The same case, floats by their bits (NaN included).
void expect_same(const Case& first, const Case& second) {
  EXPECT_EQ(to_json(first), to_json(second));
  ASSERT_EQ(first.batch.requests.size(), second.batch.requests.size());
  for (std::size_t r = 0; r < first.batch.requests.size(); ++r) {
    const auto& rows = first.batch.requests[r].target_rows;
    const auto& other = second.batch.requests[r].target_rows;
    ASSERT_EQ(rows.size(), other.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t v = 0; v < rows[i].size(); ++v)
        EXPECT_TRUE(std::bit_cast<std::uint32_t>(rows[i][v]) ==
                        std::bit_cast<std::uint32_t>(other[i][v]) ||
                    (std::isnan(rows[i][v]) && std::isnan(other[i][v])))
            << rows[i][v] << " " << other[i][v];
  }
  EXPECT_EQ(first.coins, second.coins);
  EXPECT_EQ(first.seed, second.seed);
}

TEST(Case, RoundTripsWhateverTheGeneratorsMake) {
  CaseShape shape;
  shape.property = "kernel_equals_reference";
  shape.with_unjudgeable = true;
  shape.vocab_size_max = 300;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Case value = nasty_case(shape, seed);
    value.execution = {64, 7, reference::ScheduleKind::kLastWarpFirst, ~std::uint64_t{0}};
    value.note = "a \"note\"";
    expect_same(value, case_from_json(to_json(value), "test"));
  }
}

TEST(Case, LongRowsWithACommonValueAreShortAndExact) {
  Case value;
  value.batch.vocab_size = 100000;
  value.batch.preset = reference::preset("default");
  reference::Request request;
  request.target_rows = {reference::Row(100000, -std::numeric_limits<float>::infinity())};
  request.target_rows[0][77] = 0.1f;
  value.batch.requests = {request};
  const std::string text = to_json(value);
  EXPECT_LT(text.size(), 2000u);
  EXPECT_THAT(text, HasSubstr("\"77\":0.1"));
  expect_same(value, case_from_json(text, "test"));
}

TEST(Case, TreesIterationsAndAcceptedNodesReadBack) {
  Case value;
  value.batch.vocab_size = 2;
  value.batch.preset = reference::preset("default");
  value.batch.draft_kind = reference::RowKind::kOneHot;
  reference::Request request;
  request.iteration = 77;
  request.proposal.tokens = {0, 1, 1};
  request.proposal.parents = {-1, -1, 0};
  request.target_rows.assign(4, {0, 1});
  value.batch.requests = {request};
  value.expected.resize(1);
  value.expected[0].accepted_nodes = {0, 2};
  const Case read = case_from_json(to_json(value), "test");
  EXPECT_EQ(read.batch, value.batch);
  EXPECT_EQ(read.expected, value.expected);
}

TEST(Case, APresetOfItsOwnIsWrittenInFull) {
  Case value = nasty_case(CaseShape(), 3);
  value.batch.preset = reference::preset("vllm");
  value.batch.preset.greedy_below = 0.25;
  const Case read = case_from_json(to_json(value), "test");
  EXPECT_EQ(read.batch.preset, value.batch.preset);
}

TEST(Case, CoinsComeFromTheSeedOrTheScript) {
  Case value;
  value.seed = 5;
  const reference::CoinAddress address{1, 2, reference::Purpose::kAccept, 0, 0};
  EXPECT_EQ(coins_of(value)->coin(address), reference::PhiloxCoins(5).coin(address));
  value.seed.reset();
  value.fallback_coin = 9;
  value.coins[address] = 7;
  EXPECT_EQ(coins_of(value)->coin(address), 7u);
  EXPECT_EQ(coins_of(value)->coin({}), 9u);
}

TEST(NumberText, EveryFloatReadsBackAsTheSameBits) {
  Random random(1);
  for (int i = 0; i < 200000; ++i) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random.bits()));
    const auto read = float_of(Json::parse(json_of(value).dump()));
    ASSERT_TRUE(read);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(*read));
      continue;
    }
    ASSERT_EQ(std::bit_cast<std::uint32_t>(*read), std::bit_cast<std::uint32_t>(value)) << value;
  }
  EXPECT_EQ(json_of(0.1f).dump(), "0.1");
  EXPECT_EQ(float_of(Json(1e300)), std::nullopt);
  EXPECT_EQ(float_of(Json("zero")), std::nullopt);
}

TEST(NumberText, CoinsAreHexadecimalAndReadInThreeWays) {
  EXPECT_EQ(json_of_coin(~std::uint64_t{0}), Json("0xffffffffffffffff"));
  EXPECT_EQ(coin_of(Json("0xffffffffffffffff")), ~std::uint64_t{0});
  EXPECT_EQ(coin_of(Json("17")), 17u);
  EXPECT_EQ(coin_of(Json(17u)), 17u);
  for (const char* wrong : {"", "0x", "0xg", "-1", "0x10000000000000000", "1 "})
    EXPECT_EQ(coin_of(Json(wrong)), std::nullopt) << wrong;
  EXPECT_EQ(coin_of(Json(-1)), std::nullopt);
}

/// A minimal case; `find` is replaced by `replacement` before reading.
std::string complaint(const std::string& find, const std::string& replacement) {
  std::string text = R"({"schema": "draftproof/case/1", "property": "x", "rule": "chain",
    "vocab_size": 2, "preset": "default", "draft_kind": "one-hot", "format": "float32",
    "coins": [], "requests": [{"id": 0, "draft_tokens": [], "target_rows": [[0, 1]]}]})";
  if (!find.empty()) text.replace(text.find(find), find.size(), replacement);
  try {
    case_from_json(text, "bad.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "read";
}

TEST(Case, AComplaintNamesPlaceFieldAndRemedy) {
  EXPECT_EQ(complaint("", ""), "read");
  EXPECT_THAT(complaint("[[0, 1]]", "[[0, true]]"),
              HasSubstr("bad.json: requests[0].target_rows[0][1] should be a number"));
  EXPECT_THAT(complaint("[[0, 1]]", "[[0]]"), HasSubstr("target_rows"));
  EXPECT_THAT(complaint("\"default\"", "\"vlm\""), HasSubstr("preset names an unknown preset"));
  EXPECT_THAT(complaint("\"float32\"", "\"fp8\""), HasSubstr("known: float32, bfloat16, float16"));
  EXPECT_THAT(complaint("\"id\": 0", "\"id\": -1"), HasSubstr("requests[0].id should be"));
  EXPECT_THAT(complaint("\"id\"", "\"ide\""), HasSubstr("unknown field 'ide'"));
  EXPECT_THAT(complaint("\"coins\": []", "\"seed\": \"0xz\""), HasSubstr("seed should be 64 bits"));
  EXPECT_THAT(complaint("\"coins\": [],", ""), HasSubstr("either 'seed' or 'coins'"));
  EXPECT_THAT(complaint("case/1", "case/9"), HasSubstr("reads draftproof/case/1"));
  EXPECT_THAT(complaint("{\"schema\"", "{{\"schema\""), HasSubstr("is not JSON"));
  EXPECT_THAT(complaint("[0, 1]", "{\"size\": 2, \"fill\": 0, \"at\": {\"2\": 1}}"),
              HasSubstr("no token id"));
  EXPECT_THAT(complaint("[0, 1]", "[0, 1e999]"), HasSubstr("is not JSON"));
}

}  // namespace
}  // namespace draftproof::properties
