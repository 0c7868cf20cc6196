// Every row of the contract's edge table that concerns one row of logits or probabilities.
#include "reference/shaping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/error.h"

namespace draftproof::reference {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();
constexpr Mass kOne = Mass{1} << 44;

MassRow shaped(const std::vector<float>& logits, const Sampling& sampling = {},
               const char* name = "default") {
  return shape(logits, sampling, preset(name));
}

/// A logit row whose masses are 2^44 and halvings of it, at temperature log2(e): scale exactly 1.
const double kUnitTemperature = 0x1.71547652b82fep+0;

TEST(Shaping, ScaleOfTheUnitTemperatureIsOne) { EXPECT_EQ(scale_of(kUnitTemperature), 1.0F); }

TEST(Shaping, StatusPriorityIsNanThenInfinityThenEmpty) {
  EXPECT_EQ(shaped({kInfinity, kNotANumber, 1}).status, Status::kNan);
  EXPECT_EQ(shaped({1, kInfinity, -kInfinity}).status, Status::kPositiveInfinity);
  EXPECT_EQ(shaped({-kInfinity, -kInfinity}).status, Status::kEmptyRow);
  EXPECT_EQ(shaped({}).status, Status::kEmptyRow);
  EXPECT_EQ(shaped({kNotANumber, 0}, {1e-9}).status, Status::kNan);
  const MassRow row = shaped({kNotANumber, 0});
  EXPECT_TRUE(row.mass.empty());
  EXPECT_EQ(row.total, 0U);
}

TEST(Shaping, ANanOutsideTheFilterStillCounts) {
  Sampling sampling;
  sampling.top_k = 1;
  EXPECT_EQ(shaped({5, kNotANumber}, sampling).status, Status::kNan);
}

TEST(Shaping, GreedyRowsHaveTheSameThreeStatusesAndNoRange) {
  const Sampling greedy{0};
  EXPECT_EQ(shaped({1, kNotANumber}, greedy).status, Status::kNan);
  EXPECT_EQ(shaped({1, kInfinity}, greedy).status, Status::kPositiveInfinity);
  EXPECT_EQ(shaped({-kInfinity}, greedy).status, Status::kEmptyRow);
  EXPECT_EQ(shaped({1e30F, -1e30F}, greedy).status, Status::kOk);
  EXPECT_EQ(shaped({1e30F, -1e30F}).status, Status::kRange);
  // Before the temperature step llama.cpp's top-p would read masses at scale log2 e; a greedy
  // request does not get that far.
  EXPECT_EQ(shaped({1e30F, -1e30F}, {0, 0, 0.5, 0}, "llama.cpp").status, Status::kOk);
}

TEST(Shaping, GreedyTakesTheLowestIdOfTheMaximum) {
  for (const Preset& entry : presets()) {
    const MassRow row = shape({-0.0F, 0.0F, -1}, {0, 2, 0.5, 0.5}, entry);
    EXPECT_THAT(row.mass, testing::ElementsAre(1, 0, 0)) << entry.name;
    EXPECT_EQ(row.total, 1U);
  }
}

TEST(Shaping, GreedyStartsBelowThePresetsCutOff) {
  EXPECT_TRUE(is_greedy({0}, preset("default")));
  EXPECT_FALSE(is_greedy({1e-9}, preset("default")));
  EXPECT_TRUE(is_greedy({0.99e-5}, preset("vllm")));
  EXPECT_FALSE(is_greedy({1e-5}, preset("vllm")));
  EXPECT_TRUE(is_greedy({0.99e-6}, preset("sglang")));
  EXPECT_FALSE(is_greedy({1e-6}, preset("sglang")));
}

TEST(Shaping, TinyTemperaturesWorkWhileTheMaximumResolves) {
  EXPECT_EQ(shaped({20, 19}, {1.4e-5}).status, Status::kOk);
  EXPECT_EQ(shaped({20, 19}, {1.3e-5}).status, Status::kRange);
  EXPECT_EQ(shaped({0, -1}, {1e-30}).status, Status::kOk);
  EXPECT_EQ(shaped({0, -1}, {1e-300}).status, Status::kRange);
}

TEST(Shaping, InfiniteTemperatureIsUniformOverFiniteLogits) {
  for (double temperature : {1e300, HUGE_VAL})
    EXPECT_THAT(shaped({3, -kInfinity, -1e30F}, {temperature}).mass,
                testing::ElementsAre(kOne, 0, kOne));
}

TEST(Shaping, EveryScaleInUseIsChecked) {
  const std::vector<float> logits = {3e6F, 2.9e6F};
  // The final scale is harmless at this temperature; the one before it is not.
  EXPECT_EQ(shaped(logits, {1e6}, "llama.cpp").status, Status::kOk);
  EXPECT_EQ(shaped(logits, {1e6, 1}, "llama.cpp").status, Status::kOk) << "top-k needs no masses";
  EXPECT_EQ(shaped(logits, {1e6, 0, 0.5}, "llama.cpp").status, Status::kRange);
  EXPECT_EQ(shaped(logits, {1e6, 0, 0.0}, "llama.cpp").status, Status::kRange);
  EXPECT_EQ(shaped(logits, {1e6, 0, 1, 0.1}, "llama.cpp").status, Status::kRange);
  EXPECT_EQ(shaped(logits, {1.0}, "llama.cpp").status, Status::kRange);
}

TEST(Shaping, TopKKeepsTokensThatWeighNothingYet) {
  // At scale log2 e the second logit has mass 0; at temperature 100 it has most of a half.
  const MassRow row = shaped({0, -40, -41}, {100, 2}, "llama.cpp");
  EXPECT_GT(row.mass[1], 0U);
  EXPECT_EQ(row.mass[2], 0U);
}

TEST(Shaping, ATemperatureAfterAFilterRecomputesTheSurvivors) {
  // Scale log2 e: masses about 1 : e^-1 : e^-2; top-p 0.9 keeps two of them ...
  const MassRow row = shaped({0, -1, -2}, {kUnitTemperature, 0, 0.9}, "llama.cpp");
  // ... and these weigh 1 : 1/2 at scale 1.
  EXPECT_THAT(row.mass, testing::ElementsAre(kOne, kOne / 2, 0));
  EXPECT_EQ(row.total, kOne + kOne / 2);
}

TEST(Shaping, OffValuesChangeNothing) {
  const std::vector<float> logits = {0, -1, -1, -3};
  const MassRow plain = shaped(logits, {kUnitTemperature});
  EXPECT_THAT(plain.mass, testing::ElementsAre(kOne, kOne / 2, kOne / 2, kOne / 8));
  for (const Sampling& off :
       {Sampling{kUnitTemperature, 0, 1, 0}, Sampling{kUnitTemperature, -1, 2, -3},
        Sampling{kUnitTemperature, 4, HUGE_VAL, -HUGE_VAL},
        Sampling{kUnitTemperature, std::numeric_limits<std::int64_t>::max(), 1, 0}})
    EXPECT_EQ(shaped(logits, off).mass, plain.mass);
}

TEST(Shaping, TopPNeedsExactlyItsShare) {
  // Masses 4 : 2 : 2 (of 8). need(0.5) is met by the first; one more ulp asks for the second.
  const std::vector<float> logits = {-1, 0, -1};
  const auto kept = [&](double top_p, const char* name) {
    return shaped(logits, {kUnitTemperature, 0, top_p, 0}, name).mass;
  };
  using testing::ElementsAre;
  EXPECT_THAT(kept(0.5, "default"), ElementsAre(0, kOne, 0));
  EXPECT_THAT(kept(std::nextafter(0.5, 1), "default"), ElementsAre(kOne / 2, kOne, 0));
  EXPECT_THAT(kept(std::nextafter(0.5, 1), "default-keep-ties"),
              ElementsAre(kOne / 2, kOne, kOne / 2));
  EXPECT_THAT(kept(0.75, "default"), ElementsAre(kOne / 2, kOne, 0));
  EXPECT_THAT(kept(0.0, "default"), ElementsAre(0, kOne, 0));
  EXPECT_THAT(kept(-HUGE_VAL, "default"), ElementsAre(0, kOne, 0));
  EXPECT_THAT(kept(1e-320, "default"), ElementsAre(0, kOne, 0));
}

TEST(Shaping, TiesKeepTheOrderOfIdsInLongRowsToo) {
  // 300 logits of two values, every third of them the higher one: a sort that is not stable would
  // mix them.
  std::vector<float> logits(300);
  for (std::size_t token = 0; token < logits.size(); token += 3) logits[token] = 1;
  const MassRow row = shaped(logits, {kUnitTemperature, 150}, "vllm-exactly-k");
  int lower_kept = 0;
  for (std::size_t token = 0; token < logits.size(); ++token) {
    const bool is_kept = token % 3 == 0 || lower_kept < 50;
    lower_kept += token % 3 != 0 && is_kept;
    EXPECT_EQ(row.mass[token] > 0, is_kept) << token;
  }
}

TEST(Shaping, MinPOneAndAboveKeepsTheMaxima) {
  for (double min_p : {1.0, 1.5, HUGE_VAL})
    EXPECT_THAT(shaped({0, -1, 0}, {kUnitTemperature, 0, 1, min_p}).mass,
                testing::ElementsAre(kOne, 0, kOne));
  EXPECT_THAT(shaped({0, -1, 0}, {kUnitTemperature, 0, 1, 0.5}).mass,
              testing::ElementsAre(kOne, kOne / 2, kOne));
}

TEST(Shaping, MaskedTokensAreAbsent) {
  const std::vector<float> masked = apply_mask({3, 2, 1}, {false, true, true});
  EXPECT_EQ(shaped(masked, {0}).mass[1], 1U);
  EXPECT_EQ(shaped(masked).mass[0], 0U);
  EXPECT_EQ(shaped(apply_mask({3}, {false})).status, Status::kEmptyRow);
}

TEST(Shaping, ParametersThatAreNoNumbersAreRefusedByName) {
  const auto message = [](const Sampling& sampling) -> std::string {
    try {
      validate(sampling);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message({}), "");
  EXPECT_EQ(message({HUGE_VAL, -5, -1, 7}), "");
  EXPECT_THAT(message({std::nan("")}), testing::HasSubstr("temperature"));
  EXPECT_THAT(message({-0.5}), testing::HasSubstr("temperature"));
  EXPECT_THAT(message({1, 0, std::nan("")}), testing::HasSubstr("top_p"));
  EXPECT_THAT(message({1, 0, 1, std::nan("")}), testing::HasSubstr("min_p"));
}

TEST(Probabilities, BecomeMassesRoundedToNearest) {
  EXPECT_THAT(from_probabilities({0.5F, 0.25F, 0.25F}).mass,
              testing::ElementsAre(kOne / 2, kOne / 4, kOne / 4));
  const float half_unit = 0x1p-45F;
  EXPECT_THAT(
      from_probabilities({half_unit, std::nextafter(half_unit, 0.0F), 1, 1e-45F, -0.0F}).mass,
      testing::ElementsAre(1, 0, kOne, 0, 0));
}

TEST(Probabilities, OutsideTheUnitIntervalAreAStatus) {
  EXPECT_EQ(from_probabilities({0.5F, kNotANumber}).status, Status::kBadProbability);
  EXPECT_EQ(from_probabilities({-1e-30F, 1}).status, Status::kBadProbability);
  EXPECT_EQ(from_probabilities({std::nextafter(1.0F, 2.0F)}).status, Status::kBadProbability);
  EXPECT_EQ(from_probabilities({0, kInfinity}).status, Status::kBadProbability);
  EXPECT_EQ(from_probabilities({0, 0}).status, Status::kEmptyRow);
  EXPECT_EQ(from_probabilities({}).status, Status::kEmptyRow);
  EXPECT_EQ(from_probabilities({0, 0, 1}).total, kOne);
}

TEST(Shaping, TotalsOfTheLargestVocabulariesStayBelowTwoToThe63) {
  for (std::size_t vocab_size : {std::size_t{1} << 18, (std::size_t{1} << 18) + 1}) {
    // The largest mass a maximum can have: a fraction just below 1.
    const std::vector<float> logits(vocab_size, std::nextafter(1.0F, 0.0F));
    const MassRow row = shaped(logits, {kUnitTemperature});
    EXPECT_LT(row.total, Mass{1} << 63);
    EXPECT_GT(row.total, Mass{1} << 61);
  }
}

}  // namespace
}  // namespace draftproof::reference
