// vLLM's Triton acceptance kernels (v1 sampler) on the emulated device against a plain computation
// of their rule: draft tokens are accepted while target / draft >= coin; the first that is not
// gives way to the recovered token, argmax of max(target - draft, 0) * 1/race; else a bonus
// follows. The quotients and products of the inputs are exact, so that results must be equal. Needs
// tools/kernels/fetch.sh vllm; skipped without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "tests/gpu/third_party_run.h"

namespace draftproof::gpu {
namespace {

using test::kUnwrittenId;
using test::ThirdPartyRun;
using testing::Each;
using testing::ElementsAre;
using Ids = std::vector<std::int32_t>;
using Arguments = std::map<std::string, Argument>;

/// Requests of 2, 0 and 1 draft tokens, up to G = 2 each: rows follow each other without gaps.
struct Ragged {
  std::size_t longest = 2;
  Ids ends = {2, 2, 3};
  std::size_t vocabulary = 3;
  Ids draft_ids;
  std::vector<float> draft, target;  ///< [tokens][vocabulary]
  std::vector<double> coins;         ///< [tokens]
  Ids recovered;                     ///< [tokens]
  std::vector<std::int64_t> bonus = {100, 101, 102};
  std::vector<std::uint8_t> is_greedy = {0, 0, 0};

  std::size_t requests() const { return ends.size(); }
  std::size_t tokens() const { return static_cast<std::size_t>(ends.back()); }
  std::size_t begin(std::size_t request) const {
    return request == 0 ? 0 : static_cast<std::size_t>(ends[request - 1]);
  }
  std::size_t end(std::size_t request) const { return static_cast<std::size_t>(ends[request]); }
};

/// Masses are powers of two over a power of two, so that quotients are exact.
Ragged random_ragged(std::size_t vocabulary, std::uint64_t seed) {
  std::mt19937_64 mix(seed);
  Ragged batch;
  batch.vocabulary = vocabulary;
  const auto mass = [&] {
    return mix() % 5 == 0 ? 0.0f : 1.0f / static_cast<float>(1u << mix() % 6);
  };
  for (std::size_t token = 0; token < batch.tokens(); ++token) {
    batch.draft_ids.push_back(static_cast<std::int32_t>(mix() % vocabulary));
    // Quotients are powers of two: coins of few bits often equal one.
    batch.coins.push_back(static_cast<double>(mix() % 17) / 16);
    batch.recovered.push_back(static_cast<std::int32_t>(1000 + token));
    for (std::size_t id = 0; id < vocabulary; ++id) {
      batch.draft.push_back(mass());
      batch.target.push_back(mass());
    }
    if (mix() % 8 == 0) batch.draft_ids.back() = -1;
  }
  return batch;
}

/// Emitted tokens by request and place; kUnwrittenId where nothing is.
template <class Accept>
Ids verify(const Ragged& batch, bool greedy, const Ids& instead, const Accept& accept) {
  Ids result(batch.requests() * (batch.longest + 1), kUnwrittenId);
  for (std::size_t request = 0; request < batch.requests(); ++request) {
    if ((batch.is_greedy[request] != 0) != greedy) continue;
    auto* row = result.data() + request * (batch.longest + 1);
    bool all = true;
    for (std::size_t at = batch.begin(request); all && at < batch.end(request); ++at) {
      all = accept(at);
      *row++ = all ? batch.draft_ids[at] : instead[at];
    }
    if (all) *row = static_cast<std::int32_t>(batch.bonus[request]);
  }
  return result;
}

Ids plain_random(const Ragged& batch, bool without_draft) {
  return verify(batch, false, batch.recovered, [&](std::size_t at) {
    if (batch.draft_ids[at] < 0) return false;
    const std::size_t cell = at * batch.vocabulary + static_cast<std::size_t>(batch.draft_ids[at]);
    const double draft = without_draft ? 1.0 : static_cast<double>(batch.draft[cell]);
    return draft > 0 && static_cast<double>(batch.target[cell]) >= batch.coins[at] * draft;
  });
}

/// By token; the first of equal scores, and of rows without residual the first token.
template <class Race>
Ids plain_recovered(const Ragged& batch, const std::vector<Race>& inverse, bool without_draft) {
  Ids result;
  for (std::size_t request = 0; request < batch.requests(); ++request) {
    for (std::size_t at = batch.begin(request); at < batch.end(request); ++at) {
      std::size_t best = 0;
      double highest = -1;
      for (std::size_t id = 0; id < batch.vocabulary; ++id) {
        const std::size_t cell = at * batch.vocabulary + id;
        double left = static_cast<double>(batch.target[cell]);
        if (!without_draft) left = std::max(0.0, left - static_cast<double>(batch.draft[cell]));
        if (without_draft && batch.draft_ids[at] == static_cast<std::int32_t>(id)) left = 0;
        const double score = left * static_cast<double>(inverse[request * batch.vocabulary + id]);
        if (score > highest) best = id;
        highest = std::max(highest, score);
      }
      result.push_back(static_cast<std::int32_t>(best));
    }
  }
  return result;
}

class VllmAcceptance : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::is_fetched("vllm")) GTEST_SKIP() << "run tools/kernels/fetch.sh vllm";
  }

  /// The variant's kernel, changed as `change_` says.
  ThirdPartyRun& load(const std::string& variant) {
    const auto file = test::third_party_folder("vllm") / variant;
    description_ = nlohmann::json::parse(test::text_of(file.string() + ".json"));
    std::string text = test::text_of(file.string() + ".ptx");
    if (!change_.from.empty()) text = test::mutated(text, change_.from, change_.to, change_.count);
    kernel_ = std::make_unique<ThirdPartyRun>(text, variant + ".ptx",
                                              description_["entry"].get<std::string>());
    return *kernel_;
  }
  /// Takes of the arguments what is a parameter of this variant.
  void launch(Dim3 grid, const Arguments& arguments) {
    LaunchOptions options;
    options.grid = grid;
    options.block.x = 32 * description_["num_warps"].get<std::uint32_t>();
    options.dynamic_shared_bytes = description_["shared"].get<std::uint32_t>();
    std::vector<Argument> taken;
    for (const auto& parameter : description_["parameters"]) {
      const auto found = arguments.find(parameter["name"].get<std::string>());
      ASSERT_NE(found, arguments.end()) << parameter;
      taken.push_back(found->second);
    }
    kernel_->launch(options, std::move(taken));
    EXPECT_TRUE(!expects_safety_ || kernel_->unsafe().empty()) << kernel_->unsafe();
  }

  Ids run_random(const std::string& variant, const Ragged& batch,
                 const std::vector<float>& rates = {}) {
    ThirdPartyRun& kernel = load(variant);
    launch({static_cast<std::uint32_t>(batch.requests())},
           {{"output_token_ids_ptr",
             kernel.out<std::int32_t>("output", batch.requests() * (batch.longest + 1))},
            {"cu_num_draft_tokens_ptr", kernel.in("ends", batch.ends)},
            {"draft_token_ids_ptr", kernel.in("draft_ids", batch.draft_ids)},
            {"draft_probs_ptr", kernel.in("draft_probs", batch.draft)},
            {"target_probs_ptr", kernel.in("target_probs", batch.target)},
            {"bonus_token_ids_ptr", kernel.in("bonus", batch.bonus)},
            {"recovered_token_ids_ptr", kernel.in("recovered", batch.recovered)},
            {"uniform_probs_ptr", kernel.in("coins", batch.coins)},
            {"is_greedy_ptr", kernel.in("is_greedy", batch.is_greedy)},
            {"max_spec_len", Argument(static_cast<std::int32_t>(batch.longest))},
            {"vocab_size", Argument(static_cast<std::int32_t>(batch.vocabulary))},
            {"synthetic_conditional_rates_ptr", kernel.in("rates", rates)}});
    return kernel.read<std::int32_t>("output");
  }

  Ids run_greedy(const std::string& variant, const Ragged& batch,
                 const std::vector<std::int64_t>& choices, const std::vector<float>& rates = {}) {
    ThirdPartyRun& kernel = load(variant);
    launch({static_cast<std::uint32_t>(batch.requests())},
           {{"output_token_ids_ptr",
             kernel.out<std::int32_t>("output", batch.requests() * (batch.longest + 1))},
            {"cu_num_draft_tokens_ptr", kernel.in("ends", batch.ends)},
            {"draft_token_ids_ptr", kernel.in("draft_ids", batch.draft_ids)},
            {"target_argmax_ptr", kernel.in("choices", choices)},
            {"bonus_token_ids_ptr", kernel.in("bonus", batch.bonus)},
            {"is_greedy_ptr", kernel.in("is_greedy", batch.is_greedy)},
            {"max_spec_len", Argument(static_cast<std::int32_t>(batch.longest))},
            {"uniform_probs_ptr", kernel.in("coins", batch.coins)},
            {"synthetic_conditional_rates_ptr", kernel.in("rates", rates)}});
    return kernel.read<std::int32_t>("output");
  }

  template <class Race>
  Ids run_recovered(const std::string& variant, const Ragged& batch,
                    const std::vector<Race>& inverse) {
    ThirdPartyRun& kernel = load(variant);
    launch(
        {static_cast<std::uint32_t>(batch.requests()), static_cast<std::uint32_t>(batch.longest)},
        {{"output_token_ids_ptr", kernel.out<std::int32_t>("output", batch.tokens())},
         {"cu_num_draft_tokens_ptr", kernel.in("ends", batch.ends)},
         {"draft_token_ids_ptr", kernel.in("draft_ids", batch.draft_ids)},
         {"draft_probs_ptr", kernel.in("draft_probs", batch.draft)},
         {"target_probs_ptr", kernel.in("target_probs", batch.target)},
         {"inv_q_ptr", kernel.in("race", inverse)},
         {"vocab_size", Argument(static_cast<std::int32_t>(batch.vocabulary))}});
    return kernel.read<std::int32_t>("output");
  }

  struct Change {
    std::string from, to;
    std::size_t count = 0;
  } change_;
  bool expects_safety_ = true;
  nlohmann::json description_;
  std::unique_ptr<ThirdPartyRun> kernel_;
};

TEST_F(VllmAcceptance, RandomEqualsThePlainRule) {
  std::size_t bonus = 0, recovered = 0;
  for (const std::size_t vocabulary : {3, 1000}) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      Ragged batch = random_ragged(vocabulary, seed);
      batch.is_greedy[seed % 3] = seed % 4 == 0;
      const Ids expected = plain_random(batch, false);
      EXPECT_EQ(run_random("random", batch), expected) << vocabulary << ' ' << seed;
      EXPECT_EQ(run_random("random_no_draft", batch), plain_random(batch, true)) << seed;
      bonus += std::count_if(expected.begin(), expected.end(),
                             [](std::int32_t id) { return id >= 100 && id < 103; });
      recovered += std::count_if(expected.begin(), expected.end(),
                                 [](std::int32_t id) { return id >= 1000 && id != kUnwrittenId; });
    }
  }
  EXPECT_GT(bonus, 80u);
  EXPECT_GT(recovered, 20u);
}

TEST_F(VllmAcceptance, RandomAcceptsAtEqualityAndRejectsPadding) {
  Ragged batch;
  batch.draft_ids = {1, 2, -1};
  batch.draft = {0.25f, 0.5f, 0.25f, 0.25f, 0.25f, 0.5f, 0, 0, 1};
  batch.target = {0.5f, 0.25f, 0.25f, 0.5f, 0.25f, 0.25f, 0, 0, 1};
  batch.coins = {0.5, 0.5, 0};
  batch.recovered = {7, 8, 9};
  EXPECT_THAT(run_random("random", batch), ElementsAre(1, 2, 100, 101, kUnwrittenId, kUnwrittenId,
                                                       9, kUnwrittenId, kUnwrittenId));
  batch.coins[1] = std::nextafter(0.5, 1.0);
  EXPECT_THAT(run_random("random", batch),
              ElementsAre(1, 8, kUnwrittenId, 101, kUnwrittenId, kUnwrittenId, 9, kUnwrittenId,
                          kUnwrittenId));
}

TEST_F(VllmAcceptance, RandomAcceptsWhatTheTargetNeverSaysWhenTheCoinIsZero) {
  // 0 / draft >= 0: with a coin of 53 bits, once in 2^53 draws. What 0.32.0 does.
  Ragged batch = random_ragged(3, 1);
  batch.draft_ids = {0, 1, 2};
  batch.draft.assign(9, 0.25f);
  batch.target.assign(9, 0.0f);
  batch.coins = {0, 0, 0};
  EXPECT_THAT(run_random("random", batch),
              ElementsAre(0, 1, 100, 101, kUnwrittenId, kUnwrittenId, 2, 102, kUnwrittenId));
}

TEST_F(VllmAcceptance, AnExclusiveAcceptanceIsSeen) {
  Ragged batch = random_ragged(3, 1);
  batch.draft_ids = {0, 1, 2};
  batch.draft.assign(9, 0.5f);
  batch.target.assign(9, 0.25f);
  batch.coins = {0.5, 0.25, 0.25};
  EXPECT_EQ(run_random("random", batch), plain_random(batch, false));
  change_ = {"setp.ge.f64", "setp.gt.f64", 1};
  EXPECT_NE(run_random("random", batch), plain_random(batch, false));
}

TEST_F(VllmAcceptance, SyntheticRatesReplaceTheRatio) {
  const std::vector<float> rates = {0.75f, 0.25f};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Ragged batch = random_ragged(3, seed);
    const auto accept = [&](std::size_t at) {
      const std::size_t place = at == 1 ? 1 : 0;
      return batch.draft_ids[at] >= 0 && batch.coins[at] < static_cast<double>(rates[place]);
    };
    EXPECT_EQ(run_random("random_synthetic_no_draft", batch, rates),
              verify(batch, false, batch.recovered, accept));
    EXPECT_EQ(run_random("random_synthetic", batch, rates),
              verify(batch, false, batch.recovered, accept));
    batch.is_greedy = {1, 1, 1};
    const std::vector<std::int64_t> choices = {4, 5, 6};
    EXPECT_EQ(run_greedy("greedy_synthetic", batch, choices, rates),
              verify(batch, true, {4, 5, 6}, accept));
  }
}

TEST_F(VllmAcceptance, GreedyFollowsTheTargetsChoices) {
  std::mt19937_64 mix(3);
  for (int trial = 0; trial < 40; ++trial) {
    Ragged batch = random_ragged(3, mix());
    for (auto& each : batch.is_greedy) each = mix() % 3 != 0;
    Ids choices(batch.tokens());
    for (auto& each : choices) each = static_cast<std::int32_t>(mix() % 3);
    const std::vector<std::int64_t> wide(choices.begin(), choices.end());
    const auto accept = [&](std::size_t at) { return batch.draft_ids[at] == choices[at]; };
    EXPECT_EQ(run_greedy("greedy", batch, wide), verify(batch, true, choices, accept));
    batch.is_greedy = {1, 1, 1};
    EXPECT_EQ(run_greedy("greedy_all", batch, wide), verify(batch, true, choices, accept));
  }
}

/// Scores of few bits, hence ties within a warp, between warps and between tiles of 8,192.
template <class Race>
std::vector<Race> races(const Ragged& batch, std::uint64_t seed, std::size_t values) {
  std::mt19937_64 mix(seed);
  std::vector<Race> result(batch.requests() * batch.vocabulary);
  for (Race& each : result) each = static_cast<Race>(1 + mix() % values) / 8;
  return result;
}

TEST_F(VllmAcceptance, RecoveredIsTheFirstOfTheHighestScores) {
  for (const std::size_t vocabulary : {3, 1000, 8192 + 9}) {
    const std::uint64_t rounds = vocabulary > 1000 ? 2 : 6;
    for (std::uint64_t seed = 1; seed <= rounds; ++seed) {
      const Ragged batch = random_ragged(vocabulary, seed);
      const auto single = races<float>(batch, seed, seed % 2 == 0 ? 3 : 4096);
      const std::vector<double> twice(single.begin(), single.end());
      for (const bool without : {false, true}) {
        const std::string name = without ? "recovered_no_draft" : "recovered";
        const Ids expected = plain_recovered(batch, single, without);
        EXPECT_EQ(run_recovered(name, batch, single), expected) << vocabulary << ' ' << seed;
        EXPECT_EQ(run_recovered(name + "_fp64", batch, twice), expected) << vocabulary;
      }
    }
  }
}

TEST_F(VllmAcceptance, RecoveredWithVectorsWhereTheVocabularyAllows) {
  for (const std::size_t vocabulary : {16, 1008, 8192 + 16}) {
    const Ragged batch = random_ragged(vocabulary, vocabulary);
    const auto single = races<float>(batch, vocabulary, 3);
    const std::vector<double> twice(single.begin(), single.end());
    for (const bool without : {false, true}) {
      const std::string name = without ? "recovered_no_draft" : "recovered";
      const Ids expected = plain_recovered(batch, single, without);
      EXPECT_EQ(run_recovered(name + "_aligned", batch, single), expected) << vocabulary;
      EXPECT_EQ(run_recovered(name + "_fp64_aligned", batch, twice), expected) << vocabulary;
    }
  }
}

TEST_F(VllmAcceptance, RecoveredOfEqualRowsIsTheFirstToken) {
  Ragged batch = random_ragged(1000, 5);
  batch.draft = batch.target;
  EXPECT_THAT(run_recovered("recovered", batch, races<float>(batch, 5, 9)), Each(0));
}

TEST_F(VllmAcceptance, AWrongResidualIsSeen) {
  const Ragged batch = random_ragged(1000, 2);
  const auto inverse = races<float>(batch, 2, 9);
  change_ = {"sub.f32", "add.f32", 64};
  EXPECT_NE(run_recovered("recovered", batch, inverse), plain_recovered(batch, inverse, false));
}

TEST_F(VllmAcceptance, MissingBarriersAreSeen) {
  const Ragged batch = random_ragged(1000, 2);
  change_ = {"bar.sync", "//bar.sync", 3};
  expects_safety_ = false;
  run_recovered("recovered", batch, races<float>(batch, 2, 9));
  EXPECT_NE(kernel_->unsafe(), "");
}

TEST_F(VllmAcceptance, AVocabularyLargerThanTheRowsIsSeen) {
  Ragged batch = random_ragged(1000, 2);
  const auto inverse = races<float>(batch, 2, 9);
  batch.vocabulary += 1;
  expects_safety_ = false;
  run_recovered("recovered", batch, inverse);
  EXPECT_GT(kernel_->count("bounds"), 0u);
}

TEST_F(VllmAcceptance, ExpandRepeatsAndReplaces) {
  const auto run = [&](const std::string& variant, auto zero) {
    using T = decltype(zero);
    ThirdPartyRun& kernel = load(variant);
    launch({3}, {{"output_ptr", kernel.out<T>("output", 133)},
                 {"input_ptr", kernel.in("input", std::vector<T>{5, 0, 7})},
                 {"cu_num_tokens_ptr", kernel.in("ends", Ids{2, 130, 131})},
                 {"replace_from", Argument(std::int32_t{0})},
                 {"replace_to", Argument(std::int32_t{9})}});
    std::vector<T> result = kernel.read<T>("output");
    EXPECT_EQ(std::count(result.begin(), result.begin() + 2, T{5}), 2) << variant;
    EXPECT_EQ(std::count(result.begin() + 2, result.begin() + 130, T{9}), 128) << variant;
    EXPECT_EQ(result[130], T{7}) << variant;
    EXPECT_NE(result[131], T{7}) << variant;
  };
  run("expand_fp32", float{});
  run("expand_i32", std::int32_t{});
  run("expand_i64", std::int64_t{});
}

}  // namespace
}  // namespace draftproof::gpu
