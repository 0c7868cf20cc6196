// Distances between contracts: figures derived by hand from the filters' definitions, and the
// two-pass grammar against the process that it is the law of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/contract_distance.h"
#include "reference/error.h"
#include "tests/reference/contract_rows.h"

namespace draftproof::reference {
namespace {

/// At this temperature the scale is 1, so that whole logits weigh powers of two and every law below
/// is the rational that it looks like.
constexpr double kUnit = 0x1.71547652b82fep+0;

ContractDistance between(std::string_view first, std::string_view second,
                         const std::vector<float>& logits, const RowRequest& request,
                         const History& history = {}) {
  const ContractComparison all =
      compare({{&contract(first), request}, {&contract(second), request}}, logits, history);
  return all.distance[0][1].value();
}

double tv(std::string_view first, std::string_view second, const std::vector<float>& logits,
          const Sampling& sampling) {
  return between(first, second, logits, {sampling, {}}).total_variation.convert_to<double>();
}

RowRequest masked(const Sampling& sampling, std::vector<bool> mask) {
  return {sampling, {.grammar_mask = std::move(mask)}};
}

TEST(ContractDistance, OfJointAndSequentialFiltersIsExact) {
  // (8, 4, 2, 1) / 15. Top-k 2 first leaves (2/3, 1/3), of which top-p .6 keeps one token; jointly
  // 8/15 < .6 keeps two: (1, 0) against (2/3, 1/3).
  const ContractDistance distance =
      between("sglang", "sglang-spec", {0, -1, -2, -3}, {{kUnit, 2, .6}, {}});
  EXPECT_EQ(distance.total_variation, Exact(1, 3));
  EXPECT_EQ(distance.parting, Parameter::kTopP);
  EXPECT_EQ(distance.divergence, INFINITY);
  // The other way round everything has probability: 1 ln(1 / (2/3)).
  EXPECT_NEAR(between("sglang-spec", "sglang", {0, -1, -2, -3}, {{kUnit, 2, .6}, {}}).divergence,
              std::log(1.5), 1e-12);
}

TEST(ContractDistance, ReproducesThePublishedFigures) {
  // Joint against sequential: (.4, 1/3, 4/15) against (6/11, 5/11): 4/15 = .267.
  const auto five = logits_of({.3, .25, .2, .15, .1});
  EXPECT_NEAR(tv("sglang", "sglang-spec", five, {1, 3, .7}), 4.0 / 15, 1e-6);
  // Temperature 1/2 squares (.5, .3, .15, .05): (100, 36, 9, 1) / 146. Behind it top-p .85 keeps
  // two of them (136 / 146 = .93); before it, three (.95, of which .8 is too little). The third
  // weighs 9 / 145 = .06.
  EXPECT_NEAR(tv("llama.cpp", "default", logits_of({.5, .3, .15, .05}), {.5, 0, .85}), 9.0 / 145,
              1e-6);
  // (.55, .3, .15) squared: (121, 36, 9). Min-p 1/3 keeps one behind the temperature (36 < 40.3),
  // two before it (.3 > .183): 36 / 157 = .23.
  EXPECT_NEAR(tv("llama.cpp", "default", logits_of({.55, .3, .15}), {.5, 0, 1, 1.0 / 3}),
              36.0 / 157, 1e-6);
}

TEST(ContractDistance, OfTheTwoPassGrammarIsOneEighthOnATopThreeToy) {
  // (.3, .25, .2, .15, .1), top-k 3, the grammar allows {1, 3}. The chain draws (.4, 1/3, 4/15);
  // what it refuses (2/3) is drawn again from (5/8, 3/8): 3/4 and 1/4. Masked first: 5/8 and 3/8.
  const RowRequest request = masked({1, 3}, {false, true, false, true, false});
  const auto five = logits_of({.3, .25, .2, .15, .1});
  const ContractDistance distance = between("llama.cpp", "vllm", five, request);
  EXPECT_NEAR(distance.total_variation.convert_to<double>(), .125, 1e-6);
  EXPECT_EQ(distance.parting, Parameter::kGrammarMask);
  const Distribution law = law_of_row(contract("llama.cpp"), five, request, {});
  EXPECT_NEAR(law[1].convert_to<double>(), .75, 1e-6);
  EXPECT_NEAR(law[3].convert_to<double>(), .25, 1e-6);
}

TEST(ContractDistance, OfTheTwoPassGrammarIsZeroWithoutTruncation) {
  // With a temperature only, drawing again conditions on the grammar: p(t) + p(not G) p(t) / p(G)
  // = p(t) / p(G). Exactly.
  std::mt19937 random(9);
  for (int i = 0; i < 200; ++i) {
    std::vector<bool> mask;
    for (int token = 0; token < 5; ++token) mask.push_back(random() % 2 == 0);
    mask[random() % 5] = true;
    const RowRequest request = masked({random() % 2 == 0 ? 0.7 : kUnit}, mask);
    const std::vector<float> row = random_row(random);
    // Masses are relative to the maximum of their row: a mask that takes it away leaves the rest
    // with more bits. A maximum that stays makes both passes weigh alike.
    const std::size_t top = greedy_token(row);
    RowRequest with_top = request;
    (*with_top.adjustments.grammar_mask)[top] = true;
    ASSERT_EQ(between("llama.cpp", "vllm", row, with_top).total_variation, 0);
    ASSERT_LT(between("llama.cpp", "vllm", row, request).total_variation.convert_to<double>(),
              1e-12);
  }
}

/// What llama.cpp does, draw by draw: one draw from `chain`; if the grammar refuses it, one more
/// from `masked`.
std::vector<Exact> draw_then_check(const Distribution& chain, const Distribution& masked,
                                   const std::vector<bool>& mask) {
  std::vector<Exact> law(mask.size());
  for (std::size_t first = 0; first < mask.size(); ++first) {
    if (mask[first]) {
      law[first] += chain[first];
      continue;
    }
    for (std::size_t second = 0; second < mask.size(); ++second)
      law[second] += chain[first] * masked[second];
  }
  return law;
}

TEST(TwoPassGrammar, IsTheLawOfDrawingCheckingAndDrawingAgain) {
  std::mt19937 random(10);
  const Contract& llama = contract("llama.cpp");
  int redrawn = 0;
  for (int i = 0; i < 300; ++i) {
    RowRequest request = random_request(random, {Parameter::kLogitBias});
    if (!request.adjustments.grammar_mask) continue;
    const std::vector<float> row = random_row(random);
    const History history = random_history(random);
    const std::vector<bool> mask = *request.adjustments.grammar_mask;
    const RowRequest free = without(request, Parameter::kGrammarMask);
    const Distribution chain = law_of_row(llama, row, free, history);
    const Distribution masked = law_of_row(llama, apply_mask(row, mask), free, history);
    const Distribution law = law_of_row(llama, row, request, history);
    ASSERT_EQ(law.probabilities(), draw_then_check(chain, masked, mask));
    redrawn += law != chain;
  }
  EXPECT_GT(redrawn, 30);
}

TEST(ContractDistance, NamesTheParameterThatPartsTwoContracts) {
  const std::vector<float> row = kVisibleRow;
  const auto parting = [&](std::string_view first, std::string_view second,
                           const RowRequest& request) {
    return between(first, second, row, request, kVisibleHistory).parting;
  };
  RowRequest request{{.7, 3, .8}, {}};
  request.adjustments = visible_request(Parameter::kFrequency).adjustments;
  // llama.cpp counts the prompt for the frequency penalty, others do not.
  EXPECT_EQ(parting("vllm", "llama.cpp", request), Parameter::kFrequency);
  // Frozen counts part them only behind a drafted token that counts.
  EXPECT_EQ(parting("vllm", "sglang-spec", request), std::nullopt);
  EXPECT_EQ(
      between("vllm", "sglang-spec", row, request, behind(kVisibleHistory, std::vector<Token>{2}))
          .parting,
      Parameter::kFrequency);
  EXPECT_EQ(parting("vllm", "sglang-spec", {{1, 0, 1, .8}, {}}), Parameter::kMinP);
  // V1 is greedy below its cut-off, V2 spreads over the tie.
  EXPECT_EQ(between("vllm", "vllm-v2", {.5F, .5F, 0}, {{.99e-5}, {}}).parting,
            Parameter::kTemperature);
  EXPECT_EQ(parting("vllm", "vllm", request), std::nullopt);
}

TEST(ContractDistance, IsASymmetricDistanceThatIsZeroOnTheDiagonal) {
  std::mt19937 random(11);
  for (int i = 0; i < 30; ++i) {
    std::vector<ContractUse> uses;
    const RowRequest request = random_request(random, {});
    for (const Contract& entry : contracts()) uses.push_back({&entry, request});
    const ContractComparison all = compare(uses, random_row(random), random_history(random));
    for (std::size_t a = 0; a < uses.size(); ++a) {
      for (std::size_t b = 0; b < uses.size(); ++b) {
        const bool has_both = all.laws[a].has_law() && all.laws[b].has_law();
        ASSERT_EQ(all.distance[a][b].has_value(), has_both);
        if (!has_both) continue;
        const ContractDistance& there = *all.distance[a][b];
        ASSERT_EQ(there.total_variation, all.distance[b][a]->total_variation);
        ASSERT_EQ(there.total_variation == 0, *all.laws[a].row.law == *all.laws[b].row.law);
        ASSERT_EQ(there.parting.has_value(), there.total_variation != 0);
        // Pinsker's inequality.
        ASSERT_GE(there.divergence + 1e-12,
                  2 * std::pow(there.total_variation.convert_to<double>(), 2));
      }
    }
  }
}

TEST(ContractDistance, HasNoNumberWhereAnEngineRefuses) {
  const RowRequest request = visible_request(Parameter::kMinP);
  const ContractComparison all = compare(
      {{&contract("vllm-spec"), request}, {&contract("sglang-spec"), request}}, kVisibleRow, {});
  EXPECT_EQ(all.laws[0].refusal, "refuses the min-p");
  EXPECT_FALSE(all.distance[0][1] || all.distance[0][0]);
  EXPECT_TRUE(all.distance[1][1]);
  EXPECT_THAT(all.laws[1].ignored, testing::ElementsAre(Parameter::kMinP));
}

}  // namespace
}  // namespace draftproof::reference
