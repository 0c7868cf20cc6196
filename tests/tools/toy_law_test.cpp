// Laws of toys. Goal: what known_target() says is what the stored weights say, read back and run by
// somebody else; traps are traps; integers stay integers whatever the order of summation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/error.h"
#include "tests/tools/stored_toy.h"
#include "tools/toys/integer_weights.h"
#include "tools/toys/toy_acceptance.h"
#include "tools/toys/toy_model_files.h"

namespace draftproof::tests {
namespace {

using properties::SamplingRequest;
using reference::Token;
using testing::DoubleNear;
using testing::Each;
using tools::toys::ToyKind;
using tools::toys::ToySpec;

using Law = std::vector<double>;

StoredToy stored_as_gguf(const ToySpec& spec) {
  return gguf_from(tools::toys::gguf_model(spec, tools::toys::weights_of(spec),
                                           tools::toys::TensorFormat::kF32, "llama")
                       .bytes);
}

StoredToy stored_as_safetensors(const ToySpec& spec) {
  const auto files = tools::toys::safetensors_model(spec, tools::toys::weights_of(spec),
                                                    tools::toys::TensorFormat::kBf16);
  return safetensors_from(files.back().bytes, files.front().bytes);
}

Law law_behind(const ToySpec& spec, const std::vector<Token>& prompt, double temperature = 1,
               const std::string& contract = "default") {
  SamplingRequest request;
  request.prompt = prompt;
  request.sampling.temperature = temperature;
  return tools::toys::known_target(spec, contract)->next(request, {});
}

Law softmax_of(const std::vector<double>& logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  Law law;
  for (const double logit : logits) law.push_back(std::exp(logit - largest));
  const double total = std::accumulate(law.begin(), law.end(), 0.0);
  for (double& each : law) each /= total;
  return law;
}

double largest_difference(const Law& first, const Law& second) {
  double largest = 0;
  for (std::size_t i = 0; i < first.size(); ++i)
    largest = std::max(largest, std::abs(first[i] - second[i]));
  return largest;
}

std::size_t top_of(const Law& law) {
  return static_cast<std::size_t>(std::max_element(law.begin(), law.end()) - law.begin());
}

/// Live tokens in a row without a period.
std::vector<Token> walk(int length, int live = 12) {
  std::vector<Token> tokens = {1};
  for (int i = 1; i < length; ++i) tokens.push_back(3 + (i * i * 5 + i / 3) % live);
  return tokens;
}

ToySpec toy_of(ToyKind kind) { return {.kind = kind}; }

class ToyLaws : public testing::TestWithParam<ToyKind> {};

INSTANTIATE_TEST_SUITE_P(OfEveryKind, ToyLaws,
                         testing::Values(ToyKind::kBigram, ToyKind::kAttention, ToyKind::kInteger),
                         [](const auto& kind) { return std::string(to_string(kind.param)); });

TEST_P(ToyLaws, AreThoseOfTheWeightsInTheGgufFile) {
  const StoredToy stored = stored_as_gguf(toy_of(GetParam()));
  const StoredForward<double> forward(stored);
  for (const int length : {1, 2, 7, 29}) {
    const auto tokens = walk(length);
    EXPECT_LT(
        largest_difference(law_behind(toy_of(GetParam()), tokens), softmax_of(forward(tokens))),
        1e-12);
  }
}

TEST_P(ToyLaws, AreThoseOfTheWeightsInTheSafetensorsFile) {
  const StoredToy stored = stored_as_safetensors(toy_of(GetParam()));
  const StoredForward<double> forward(stored);
  const auto tokens = walk(11);
  EXPECT_LT(largest_difference(law_behind(toy_of(GetParam()), tokens), softmax_of(forward(tokens))),
            1e-12);
}

TEST_P(ToyLaws, NeverReachSpecialsAndThePadding) {
  ToySpec spec = toy_of(GetParam());
  spec.unreachable_count = 3;
  const Law law = law_behind(spec, walk(9), 2);
  for (const int token : {0, 1, 2, 13, 14, 15}) EXPECT_EQ(law[static_cast<std::size_t>(token)], 0);
  for (int token = 3; token < 13; ++token) EXPECT_GT(law[static_cast<std::size_t>(token)], 1e-9);
}

TEST_P(ToyLaws, GiveTheEndTokenAShareInAnEndTrap) {
  ToySpec spec = toy_of(GetParam());
  EXPECT_EQ(law_behind(spec, walk(9))[2], 0);
  spec.has_end_trap = true;
  double most = 0;
  for (int length = 1; length < 12; ++length)
    most = std::max(most, law_behind(spec, walk(length))[2]);
  EXPECT_GT(most, 0.01);
}

TEST_P(ToyLaws, HaveTiesAndNearTiesOnTopWhereTheyWereAskedFor) {
  ToySpec spec = toy_of(GetParam());
  spec.tie_count = 3;
  ToySpec near = spec;
  near.near_tie = 0x1p-10;
  int on_top = 0;
  for (int length = 1; length < 16; ++length) {
    const Law law = law_behind(spec, walk(length));
    EXPECT_EQ(law[3], law[4]);
    EXPECT_EQ(law[3], law[5]);
    on_top += law[3] == law[top_of(law)] ? 1 : 0;
    EXPECT_EQ(law_behind(spec, walk(length), 0)[top_of(law)], 1) << "the lowest id of the tied";
    const Law apart = law_behind(near, walk(length));
    EXPECT_GT(apart[5], apart[4]);
    EXPECT_NEAR(std::log(apart[5] / apart[4]), 0x1p-10, 0.75 * 0x1p-10);
  }
  EXPECT_GE(on_top, 3);
}

TEST_P(ToyLaws, HaveNoTieOnTopWhereNoneWasAskedFor) {
  for (int length = 1; length < 30; ++length) {
    Law law = law_behind(toy_of(GetParam()), walk(length));
    std::nth_element(law.begin(), law.begin() + 1, law.end(), std::greater<>());
    EXPECT_GT(std::log(law[0] / law[1]), GetParam() == ToyKind::kAttention ? 0 : 0.0039);
  }
}

TEST_P(ToyLaws, FollowTheContractOfTheEngine) {
  SamplingRequest request;
  request.prompt = walk(6);
  request.sampling.top_k = 4;
  const Law all = law_behind(toy_of(GetParam()), request.prompt);
  const Law four = tools::toys::known_target(toy_of(GetParam()), "llama.cpp")->next(request, {});
  EXPECT_EQ(std::count_if(four.begin(), four.end(), [](double each) { return each > 0; }), 4);
  double kept = 0;
  for (std::size_t i = 0; i < all.size(); ++i) kept += four[i] > 0 ? all[i] : 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_NEAR(four[i], four[i] > 0 ? all[i] / kept : 0, 1e-12);
  request.sampling.top_k = 0;
  request.adjustments.logit_bias = {{static_cast<Token>(top_of(all)), -INFINITY}};
  EXPECT_EQ(tools::toys::known_target(toy_of(GetParam()), "vllm")->next(request, {})[top_of(all)],
            0);
}

TEST_P(ToyLaws, AreTheSameAskedInAnyOrder) {
  const auto target = tools::toys::known_target(toy_of(GetParam()), "default");
  const auto tokens = walk(12);
  SamplingRequest request;
  request.prompt = {tokens.begin(), tokens.begin() + 4};
  std::vector<Law> forwards;
  const auto ask = [&](std::size_t count) {
    return target->next(request, std::span(tokens).subspan(4, count));
  };
  for (std::size_t count = 0; count <= 8; ++count) forwards.push_back(ask(count));
  SamplingRequest other = request;
  other.prompt = {1, 9, 9};
  static_cast<void>(target->next(other, {}));
  const auto fresh = tools::toys::known_target(toy_of(GetParam()), "default");
  for (const std::size_t count : {8u, 3u, 5u, 0u}) {
    EXPECT_EQ(ask(count), forwards[count]);
    EXPECT_LT(largest_difference(fresh->next(request, std::span(tokens).subspan(4, count)),
                                 forwards[count]),
              1e-14);
  }
}

TEST_P(ToyLaws, OfDraftsAreAsFarAsTheirNamesSay) {
  const ToySpec spec = toy_of(GetParam());
  const auto kept = [&](const char* name) {
    double sum = 0;
    const auto target = tools::toys::known_target(spec, "default");
    const auto draft = tools::toys::known_draft(tools::toys::draft_of(spec, name), "default");
    for (int length = 1; length < 21; ++length) {
      SamplingRequest request;
      request.prompt = walk(length);
      sum += tools::toys::acceptance(*target, *draft, request, {}) / 20;
    }
    return sum;
  };
  EXPECT_THAT(kept("permuted"), DoubleNear(1, 1e-12));
  EXPECT_GT(kept("near"), 0.6);
  EXPECT_LT(kept("near"), 0.99);
  EXPECT_LT(kept("far"), 0.8);
  EXPECT_GT(kept("far"), 0.2);
  EXPECT_LT(kept("adversarial"), kept("far"));
}

TEST_P(ToyLaws, OfAPermutedDraftAreOthersUnderItsOwnIds) {
  const ToySpec draft = tools::toys::draft_of(toy_of(GetParam()), "permuted");
  const auto place = tools::toys::vocabulary_map(draft);
  std::vector<Token> own;
  for (const Token token : walk(5)) own.push_back(place[static_cast<std::size_t>(token)]);
  const Law target = law_behind(toy_of(GetParam()), walk(5)), law = law_behind(draft, own);
  for (std::size_t i = 0; i < target.size(); ++i)
    EXPECT_NEAR(law[static_cast<std::size_t>(place[i])], target[i], 1e-12);
  EXPECT_GT(largest_difference(law, target), 0.01);
}

TEST_P(ToyLaws, RefuseIdsThatAreNone) {
  EXPECT_THROW(law_behind(toy_of(GetParam()), {1, 16}), Error);
  EXPECT_THROW(law_behind(toy_of(GetParam()), {-1}), Error);
  EXPECT_THROW(law_behind(toy_of(GetParam()), {}), Error);
  EXPECT_THROW(law_behind(toy_of(GetParam()), {3}, 1, "no engine"), Error);
}

TEST(ToyLaw, OfABigramForgetsAllButTheLastToken) {
  EXPECT_EQ(law_behind(toy_of(ToyKind::kBigram), {1, 5, 9, 4}),
            law_behind(toy_of(ToyKind::kBigram), {4}));
}

TEST(ToyLaw, OfAttentionAndIntegersDependsOnTokensFarBack) {
  for (const ToyKind kind : {ToyKind::kAttention, ToyKind::kInteger}) {
    for (const std::size_t changed : {1u, 5u, 8u}) {
      auto tokens = walk(10), others = tokens;
      others[changed] = others[changed] == 7 ? 8 : 7;
      EXPECT_GT(
          largest_difference(law_behind(toy_of(kind), tokens), law_behind(toy_of(kind), others)), 0)
          << to_string(kind) << changed;
    }
  }
}

TEST(ToyLaw, OfALongVocabularyIsThatOfTheStoredWeights) {
  const ToySpec spec{.kind = ToyKind::kBigram, .vocab_size = 1500, .sharpness = 4};
  const StoredToy stored = stored_as_gguf(spec);
  EXPECT_LT(largest_difference(law_behind(spec, {1, 700}),
                               softmax_of(StoredForward<double>(stored)({1, 700}))),
            1e-12);
}

/// Logits of both orders of summation in fp32, of some contexts.
std::vector<std::vector<float>> summed(const StoredToy& stored, bool is_from_back) {
  const StoredForward<float> forward(stored, is_from_back);
  std::vector<std::vector<float>> rows;
  for (const int length : {1, 2, 3, 6, 16, 40}) rows.push_back(forward(walk(length)));
  return rows;
}

TEST(IntegerToy, HasTheSameLogitsInEveryOrderOfSummation) {
  const StoredToy stored = stored_as_gguf(toy_of(ToyKind::kInteger));
  EXPECT_EQ(summed(stored, false), summed(stored, true));
}

TEST(IntegerToy, HasLogitsInFp32ThatAreThoseOfFloat64) {
  const StoredToy stored = stored_as_gguf(toy_of(ToyKind::kInteger));
  for (const int length : {1, 5, 33}) {
    const auto single = StoredForward<float>(stored)(walk(length));
    const auto twice = StoredForward<double>(stored)(walk(length));
    for (std::size_t token = 0; token < single.size(); ++token)
      // The norm's epsilon of 1e-12 is nothing in fp32.
      EXPECT_NEAR(static_cast<double>(single[token]), twice[token], 1e-8);
  }
}

TEST(AttentionToy, HasOtherLogitsInAnotherOrderOfSummation) {
  const StoredToy stored = stored_as_gguf(toy_of(ToyKind::kAttention));
  EXPECT_NE(summed(stored, false), summed(stored, true)) << "then the test above could not fail";
}

/// Scores of a head by distance, of queries as they are stored: rounded, a constant and a channel.
std::vector<double> scores_of(const tools::toys::IntegerHead& head, bool is_plus) {
  std::vector<double> scores(4097);
  for (std::size_t pair = 0; pair < tools::toys::kLookAmplitudes.size(); ++pair) {
    const double angle = std::pow(10000.0, -static_cast<double>(pair) / 16);
    const double amplitude = tools::toys::kLookAmplitudes[pair];
    const auto part = [&](double plus, double minus) {
      const double constant = std::round(amplitude * (plus + minus) / 2);
      const double selected = std::round(amplitude * (plus - minus) / 2);
      return head.channel == 0 ? constant : constant + (is_plus ? selected : -selected);
    };
    const double plus = angle * head.back_if_plus, minus = angle * head.back_if_minus;
    const double cosine = part(std::cos(plus), std::cos(minus));
    const double sine = part(std::sin(plus), std::sin(minus));
    for (std::size_t distance = 0; distance < scores.size(); ++distance) {
      const double turned = angle * static_cast<double>(distance);
      scores[distance] +=
          amplitude * (cosine * std::cos(turned) + sine * std::sin(turned)) / std::sqrt(32.0);
    }
  }
  return scores;
}

/// How far the best of the first `count` distances is above all others.
double lead_of(const std::vector<double>& scores, std::size_t count, std::size_t best) {
  double rival = -1e9;
  for (std::size_t distance = 0; distance < count; ++distance)
    if (distance != best) rival = std::max(rival, scores[distance]);
  return scores[best] - rival;
}

TEST(IntegerToy, LooksAtOnePlaceWhoseRivalsUnderflow) {
  // exp(-104) is where fp32 ends.
  constexpr double kLead = 200;
  for (const auto& layer : tools::toys::integer_layers()) {
    for (const auto& head : layer.heads) {
      for (const bool is_plus : {true, false}) {
        const auto back =
            static_cast<std::size_t>(is_plus ? head.back_if_plus : head.back_if_minus);
        const auto scores = scores_of(head, is_plus);
        EXPECT_GT(lead_of(scores, scores.size(), back), kLead) << back;
        for (std::size_t position = 1; position < back; ++position)
          EXPECT_GT(lead_of(scores, position + 1, position), kLead) << back << " at " << position;
      }
    }
  }
}

TEST(ToyAcceptance, OfABigramDraftIsListedByLastToken) {
  const ToySpec draft = tools::toys::draft_of(toy_of(ToyKind::kBigram), "near");
  const auto listed = tools::toys::acceptance_by_last_token(draft);
  ASSERT_EQ(listed.size(), 16u);
  const Law target = law_behind(toy_of(ToyKind::kBigram), {1, 8}), own = law_behind(draft, {8});
  double kept = 0;
  for (std::size_t i = 0; i < 16; ++i) kept += std::min(target[i], own[i]);
  EXPECT_DOUBLE_EQ(listed[8], kept);
  EXPECT_THAT(tools::toys::acceptance_by_last_token(toy_of(ToyKind::kBigram)),
              Each(DoubleNear(1, 1e-12)));
}

}  // namespace
}  // namespace draftproof::tests
