// Goal: no fp32 evaluation leaves the certified error, and the error is worth something: it decides
// most rows, and an error beyond it is called real. Method: thousands of small models, each
// computed in fp32 in drawn orders, with roundings moved to the ends of what is allowed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "reference/model/toy_llama.h"
#include "tests/reference/rounded_llama.h"

namespace draftproof::reference::model {
namespace {

ToyLlamaConfig drawn_config(std::mt19937_64& source) {
  const auto among = [&](std::initializer_list<int> values) {
    return *(values.begin() + source() % values.size());
  };
  ToyLlamaConfig config;
  config.layers = among({1, 1, 2});
  config.kv_heads = among({1, 2});
  config.heads = config.kv_heads * among({1, 2});
  config.head_dim = among({2, 4, 8});
  config.hidden = among({4, 8, 12});
  config.intermediate = among({4, 16});
  config.vocab = among({5, 11});
  config.format = source() % 2 == 0 ? WeightFormat::kFloat32 : WeightFormat::kBfloat16;
  config.rope_base = source() % 2 == 0 ? 10000.0 : 10.0;
  return config;
}

struct Evaluations {
  double share_max = 0.0;      ///< of the bound that an evaluation used
  double typical_share = 0.0;  ///< median over models of the largest share in it
  double decided = 0.0;        ///< rows whose argmax no rounding can change
  int disagreements = 0;       ///< rows whose fp32 argmax is another one
  int real = 0;                ///< of these, called real
};

Evaluations evaluations_of(int models, const ErrorModel& error_model,
                           tests::EvaluationKind kind = {}) {
  std::mt19937_64 source(20);
  std::vector<double> shares;
  Evaluations found;
  int rows = 0, decided = 0;
  for (int model = 0; model < models; ++model) {
    const ToyLlamaWeights weights = make_toy_llama_weights(drawn_config(source), source());
    std::vector<Token> tokens;
    for (int i = 0; i < 4; ++i)
      tokens.push_back(static_cast<Token>(source() % static_cast<unsigned>(weights.config.vocab)));
    const std::vector<int> parents{-1, 0, 0, 2};
    const auto tree = tree_rows(tokens, parents, 0);
    LlamaCache cache;
    const auto truth = ToyLlama(weights, error_model).forward(tree, cache);
    double share = 0.0;
    const auto evaluated = tests::RoundedLlama<float>(weights, &source, kind).forward(tree);
    for (std::size_t i = 0; i < truth.size(); ++i) {
      share = std::max(share, share_of_bound(truth[i], evaluated[i]));
      const auto argmax = [](const auto& row) {
        return static_cast<Token>(std::max_element(row.begin(), row.end()) - row.begin());
      };
      const GreedyJudgement judged =
          judge_greedy(truth[i], argmax(truth[i].logits), argmax(evaluated[i]));
      ++rows;
      decided += is_decided(truth[i]) ? 1 : 0;
      found.disagreements += judged.parity == GreedyParity::kSame ? 0 : 1;
      found.real += judged.parity == GreedyParity::kReal ? 1 : 0;
    }
    shares.push_back(share);
  }
  std::nth_element(shares.begin(), shares.begin() + models / 2, shares.end());
  found.typical_share = shares[static_cast<std::size_t>(models / 2)];
  found.share_max = *std::max_element(shares.begin(), shares.end());
  found.decided = static_cast<double>(decided) / rows;
  return found;
}

TEST(CertifiedError, HoldsForEveryOrderOfEveryModelAndIsNotVacuous) {
  const Evaluations found = evaluations_of(2000, {});
  RecordProperty("share_max", std::to_string(found.share_max));
  RecordProperty("typical_share", std::to_string(found.typical_share));
  RecordProperty("decided", std::to_string(found.decided));
  EXPECT_LT(found.share_max, 1.0);
  EXPECT_GT(found.share_max, 0.02);
  EXPECT_GT(found.typical_share, 0.002);
  EXPECT_GT(found.decided, 0.99);
  EXPECT_EQ(found.real, 0) << found.disagreements;
}

/// Inputs rounded to bf16 and truncated sums: some thousand times the error, and a bound of its
/// own.
TEST(CertifiedError, HoldsForTensorCoresUnderTheirOwnModelOnly) {
  const tests::EvaluationKind kind{true, false};
  const Evaluations found = evaluations_of(300, kBfloat16TensorCores, kind);
  RecordProperty("share_max", std::to_string(found.share_max));
  EXPECT_LT(found.share_max, 1.0);
  EXPECT_EQ(found.real, 0);
  EXPECT_GT(evaluations_of(30, {}, kind).share_max, 1.0);
}

TEST(CertifiedError, HoldsForASoftmaxThatIsRescaledFromCellToCell) {
  ErrorModel online;
  online.softmax_rescales_max = 4;
  EXPECT_LT(evaluations_of(300, online, {false, true}).share_max, 1.0);
}

/// A hundredth of the unit is no bound, and the very same evaluations say so.
TEST(CertifiedError, IsBrokenByEvaluationsThatRoundMoreThanItAllows) {
  ErrorModel narrow;
  narrow.unit /= 100.0, narrow.exp_error /= 100.0;
  EXPECT_GT(evaluations_of(300, narrow).share_max, 1.0);
}

/// The last token's row of the head is the best one's, a little shorter, so that their margin is
/// three times the bound.
TEST(CertifiedError, CallsADeliberateErrorOfFourBoundsRealAndOneOfLessANearTie) {
  ToyLlamaConfig config;
  config.format = WeightFormat::kFloat32;
  const std::vector<Token> tokens{3, 1, 4, 1, 5};
  ToyLlamaWeights weights = make_toy_llama_weights(config, 12);
  const auto last_row = [&] { return ToyLlama(weights).forward_sequence(tokens).back(); };
  const auto best = static_cast<std::size_t>(judge_greedy(last_row(), 0, 0).best);
  const std::size_t width = 32, twin = best == 96 ? 95 : 96;
  const auto copied = [&](double share) {
    for (std::size_t i = 0; i < width; ++i)
      weights.lm_head[twin * width + i] =
          static_cast<float>(weights.lm_head[best * width + i] * (1.0 - share));
  };
  copied(0.0);
  const CertifiedRow tied = last_row();
  const double bound = tied.errors[best] + tied.errors[twin];
  copied(3.0 * bound / tied.logits[best]);
  const CertifiedRow row = last_row();
  const double margin = row.logits[best] - row.logits[twin];
  ASSERT_NEAR(margin / bound, 3.0, 0.1);

  std::mt19937_64 source(13);
  for (int i = 0; i < 20; ++i) {
    auto evaluated = tests::RoundedLlama<float>(weights, &source).forward(chain_rows(tokens, 0));
    const auto argmax = [&] {
      const auto& own = evaluated.back();
      return static_cast<Token>(std::max_element(own.begin(), own.end()) - own.begin());
    };
    const Token right = argmax();
    EXPECT_EQ(right, static_cast<Token>(best));
    EXPECT_LT(share_of_bound(row, evaluated.back()), 1.0);
    evaluated.back()[twin] += static_cast<float>(4.0 * bound);
    EXPECT_EQ(judge_greedy(row, right, argmax()).parity, GreedyParity::kReal);
    EXPECT_GT(share_of_bound(row, evaluated.back()), 1.0);
  }
  EXPECT_EQ(judge_greedy(tied, static_cast<Token>(best), static_cast<Token>(twin)).parity,
            GreedyParity::kNearTie);
}

TEST(NearTie, ComparesAMarginWithItsBoundStrictly) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(near_tie(2.0, 1.0));
  EXPECT_TRUE(near_tie(1.0, 1.0));
  EXPECT_TRUE(near_tie(0.5, 1.0));
  EXPECT_TRUE(near_tie(nan, 1.0));
  EXPECT_TRUE(near_tie(1.0, nan));
}

TEST(NearTie, JudgesTheWorseOfTwoArms) {
  const CertifiedRow row{{1.0, 3.0, 3.0, 2.9}, {0.1, 0.1, 0.1, 0.1}};
  EXPECT_EQ(judge_greedy(row, 1, 1).parity, GreedyParity::kSame);
  EXPECT_EQ(judge_greedy(row, 1, 2).parity, GreedyParity::kNearTie);
  EXPECT_EQ(judge_greedy(row, 3, 1).parity, GreedyParity::kNearTie);
  const GreedyJudgement real = judge_greedy(row, 1, 0);
  EXPECT_EQ(real.parity, GreedyParity::kReal);
  EXPECT_EQ(real.best, 1);
  EXPECT_EQ(real.suspect, 0);
  EXPECT_DOUBLE_EQ(real.margin, 2.0);
  EXPECT_DOUBLE_EQ(real.bound, 0.2);
  EXPECT_EQ(judge_greedy(row, 0, 0).parity, GreedyParity::kReal) << "both arms wrong alike";
  EXPECT_FALSE(is_decided(row));
  EXPECT_TRUE(is_decided({{1.0, 3.0}, {0.9, 0.9}}));
}

TEST(NearTie, TakesAValueThatIsNoNumberForInfinitelyFar) {
  const CertifiedRow row{{1.0, 2.0}, {0.5, 0.5}};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(share_of_bound(row, std::vector<float>{1.0f, 2.25f}), 0.5);
  EXPECT_TRUE(std::isinf(share_of_bound(row, std::vector<float>{nan, 2.0f})));
  EXPECT_TRUE(std::isinf(share_of_bound(row, std::vector<float>{nan, 3.0f})));
}

}  // namespace
}  // namespace draftproof::reference::model
