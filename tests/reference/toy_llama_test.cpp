// Goal: the float64 model is the Llama it claims to be, and forgetting, moving or showing a wrong
// cell shows in its logits. Method: a second implementation, and the same sequence cut into steps,
// grown as trees and committed in every way.
#include "reference/model/toy_llama.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "reference/error.h"
#include "tests/reference/rounded_llama.h"

namespace draftproof::reference::model {
namespace {

constexpr double kFloat64 = 1e-11;  ///< logits are below 100, and some thousand roundings deep

double distance(const CertifiedRow& one, const CertifiedRow& other) {
  double largest = 0.0;
  for (std::size_t i = 0; i < one.logits.size(); ++i)
    largest = std::max(largest, std::abs(one.logits[i] - other.logits[i]));
  return largest;
}

std::vector<Token> tokens_of(int count, std::uint64_t seed) {
  std::mt19937_64 source(seed);
  std::vector<Token> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(static_cast<Token>(source() % 97));
  return tokens;
}

TEST(ToyLlama, IsTheModelOfASecondImplementation) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    ToyLlamaConfig config;
    config.kv_heads = seed % 3 == 0 ? 1 : seed % 3 == 1 ? 2 : 4;
    config.format = seed % 2 == 0 ? WeightFormat::kFloat32 : WeightFormat::kBfloat16;
    const ToyLlamaWeights weights = make_toy_llama_weights(config, seed);
    const std::vector<Token> tokens = tokens_of(7, seed);
    const auto rows = ToyLlama(weights, std::nullopt).forward_sequence(tokens);
    const auto again = tests::RoundedLlama<double>(weights, nullptr).forward(chain_rows(tokens, 0));
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t t = 0; t < rows[i].logits.size(); ++t)
        ASSERT_NEAR(rows[i].logits[t], again[i][t], kFloat64) << seed << " row " << i;
  }
}

TEST(ToyLlama, ComputesTheSameLogitsWhereverASequenceIsCut) {
  const ToyLlama model(make_toy_llama_weights({}, 3), std::nullopt);
  const std::vector<Token> tokens = tokens_of(9, 3);
  const auto whole = model.forward_sequence(tokens);
  for (std::size_t cut = 1; cut < tokens.size(); ++cut) {
    LlamaCache cache;
    const std::span<const Token> all(tokens);
    model.forward(chain_rows(all.first(cut), 0), cache);
    const auto rest = model.forward(chain_rows(all.subspan(cut), cache.cell_count()), cache);
    EXPECT_EQ(cache.cell_count(), 9);
    for (std::size_t i = 0; i < rest.size(); ++i)
      EXPECT_LT(distance(rest[i], whole[cut + i]), kFloat64) << cut;
  }
}

/// A tree behind three tokens, two paths of which share their first token:
///   0 - 1 - 3,  0 - 2,  4
struct Tree {
  std::vector<Token> prefix{5, 17, 60}, tokens{8, 9, 10, 11, 12};
  std::vector<int> parents{-1, 0, 0, 1, -1};
  ToyLlama model{make_toy_llama_weights({}, 4), std::nullopt};
  LlamaCache cache;
  std::vector<CertifiedRow> rows;

  Tree() {
    model.forward(chain_rows(prefix, 0), cache);
    rows = model.forward(tree_rows(tokens, parents, 3), cache);
  }
  CertifiedRow behind(std::vector<Token> path) const {
    path.insert(path.begin(), prefix.begin(), prefix.end());
    return model.forward_sequence(path).back();
  }
};

TEST(ToyLlama, GivesEachNodeOfATreeTheLogitsOfItsPath) {
  const Tree tree;
  EXPECT_LT(distance(tree.rows[0], tree.behind({8})), kFloat64);
  EXPECT_LT(distance(tree.rows[1], tree.behind({8, 9})), kFloat64);
  EXPECT_LT(distance(tree.rows[2], tree.behind({8, 10})), kFloat64);
  EXPECT_LT(distance(tree.rows[3], tree.behind({8, 9, 11})), kFloat64);
  EXPECT_LT(distance(tree.rows[4], tree.behind({12})), kFloat64);
  EXPECT_GT(distance(tree.rows[2], tree.behind({8, 9, 10})), 1e-3) << "a sibling is no ancestor";
}

TEST(ToyLlama, GoesOnFromCommittedNodesAsIfItHadNeverDrafted) {
  Tree tree;
  const std::vector<int> kept{0, 1, 2, 3, 5};
  tree.cache.keep(kept);
  const std::vector<Token> next{20};
  const auto row = tree.model.forward(chain_rows(next, 5), tree.cache);
  EXPECT_LT(distance(row[0], tree.behind({8, 10, 20})), kFloat64);
}

TEST(ToyLlama, ShowsARejectedCellAWrongPositionAndAWrongOrder) {
  Tree tree;
  const std::vector<int> wrong{0, 1, 2, 3, 4};
  LlamaCache with_rejected = tree.cache;
  with_rejected.keep(wrong);
  const std::vector<Token> next{20};
  const CertifiedRow truth = tree.behind({8, 10, 20});
  EXPECT_GT(distance(tree.model.forward(chain_rows(next, 5), with_rejected)[0], truth), 1e-3);
  const std::vector<int> kept{0, 1, 2, 3, 5};
  tree.cache.keep(kept);
  auto moved = chain_rows(next, 5);
  moved[0].position = 6;
  EXPECT_GT(distance(tree.model.forward(moved, tree.cache)[0], truth), 1e-3);
}

TEST(ToyLlama, HasWeightsThatItsFormatHoldsExactly) {
  const ToyLlamaWeights weights = make_toy_llama_weights({}, 9);
  std::set<float> seen;
  for (const float weight : weights.layers[0].qkv) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(weight) & 0xffffu, 0u) << weight;
    seen.insert(weight);
  }
  EXPECT_GT(seen.size(), 100u);
  EXPECT_NE(weights.lm_head, make_toy_llama_weights({}, 10).lm_head);
  EXPECT_EQ(weights.lm_head, make_toy_llama_weights({}, 9).lm_head);
  EXPECT_EQ(weights.lm_head.size(), 97u * 32u);
}

std::string refusal(const ToyLlamaConfig& config) {
  try {
    make_toy_llama_weights(config, 1);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ToyLlama, RefusesSizesThatMakeNoModel) {
  ToyLlamaConfig config;
  config.kv_heads = 3;
  EXPECT_EQ(refusal(config), "toy_llama.kv_heads: must divide heads");
  config = {};
  config.head_dim = 7;
  EXPECT_NE(refusal(config).find("toy_llama.head_dim: must be even"), std::string::npos);
  config = {};
  config.vocab = 0;
  EXPECT_EQ(refusal(config), "toy_llama.vocab: is 0; take 1 to 65536");
  config = {};
  config.hidden = 65536, config.intermediate = 65536;
  EXPECT_NE(refusal(config).find("more than 2^26 weights"), std::string::npos);
  config = {};
  config.rms_epsilon = 0.0f;
  EXPECT_NE(refusal(config).find("toy_llama.rms_epsilon"), std::string::npos);
  config = {};
  config.rope_base = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(refusal(config).find("toy_llama.rope_base"), std::string::npos);
}

}  // namespace
}  // namespace draftproof::reference::model
