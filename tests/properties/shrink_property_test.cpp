// Shrinking: the least case still fails, nothing simpler does, and generated cases cover the edges.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "properties/generators.h"
#include "properties/laws.h"
#include "properties/shrink.h"
#include "reference/error.h"
#include "reference/verify/verifiers.h"

namespace draftproof::properties {
namespace {

Case large_case(std::uint64_t seed) {
  CaseShape shape;
  shape.property = "x";
  shape.vocab_size = 40;
  shape.request_count = 6;
  shape.draft_count_max = 5;
  return nasty_case(shape, seed);
}

bool has_token_17_drafted(const Case& value) {
  for (const reference::Request& request : value.batch.requests)
    for (reference::Token token : request.proposal.tokens)
      if (token >= 2) return true;
  return false;
}

TEST(Shrink, ReachesOneRequestOneTokenAndPlainNumbers) {
  Case value = large_case(4);
  value.batch.requests[0].proposal.tokens.assign(value.batch.requests[0].proposal.tokens.size(),
                                                 17);
  ASSERT_TRUE(has_token_17_drafted(value));
  const Shrunk least = shrink(value, has_token_17_drafted, 5000);
  EXPECT_TRUE(least.is_least);
  EXPECT_LT(least.tries, 5000u);
  ASSERT_EQ(least.value.batch.requests.size(), 1u);
  EXPECT_EQ(least.value.batch.vocab_size, 3u);
  const reference::Request& request = least.value.batch.requests[0];
  EXPECT_EQ(request.proposal.tokens, std::vector<reference::Token>{2});
  EXPECT_EQ(request.sampling, reference::Sampling{});
  EXPECT_EQ(least.value.batch.preset.name, "default");
  EXPECT_EQ(request.target_rows[0], reference::Row(3, 0.0f));
  EXPECT_FALSE(least.value.seed.has_value());
  EXPECT_TRUE(least.value.coins.empty());
}

TEST(Shrink, KeepsWhatTheFailureNeeds) {
  const auto needs_a_negative_logit_and_a_large_coin = [](const Case& value) {
    const auto coins = coins_of(value);
    for (const reference::Request& request : value.batch.requests)
      for (float logit : request.target_rows[0])
        if (logit < -1 && std::isfinite(logit) &&
            coins->coin({request.id, request.position, reference::Purpose::kBonus, 0, 0}) >> 62 ==
                3)
          return true;
    return false;
  };
  std::uint64_t seed = 1;
  while (!needs_a_negative_logit_and_a_large_coin(large_case(seed))) ++seed;
  const Shrunk least = shrink(large_case(seed), needs_a_negative_logit_and_a_large_coin, 5000);
  EXPECT_TRUE(least.is_least);
  EXPECT_TRUE(needs_a_negative_logit_and_a_large_coin(least.value));
  EXPECT_EQ(least.value.batch.vocab_size, 1u);
  EXPECT_EQ(least.value.coins.size(), 1u);
  EXPECT_EQ(least.value.coins.begin()->second, ~std::uint64_t{0});
}

TEST(Shrink, StopsWhenItsTriesAreUsedUp) {
  const Shrunk least = shrink(
      large_case(4), [](const Case&) { return true; }, 3);
  EXPECT_FALSE(least.is_least);
}

TEST(Shrink, EveryCandidateIsACaseThatFitsTogether) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Case value = large_case(seed);
    for (std::size_t first = 0; first < 40; first += 7)
      EXPECT_NO_THROW(reference::validate(without_tokens(value, first, 5).batch));
    for (std::size_t r = 0; r < value.batch.requests.size(); ++r)
      for (std::size_t i = 0; i < value.batch.requests[r].proposal.tokens.size(); ++i)
        EXPECT_NO_THROW(reference::validate(without_draft_token(value, r, i).batch));
  }
}

TEST(Shrink, CoinsWrittenDownGiveTheSameOutcome) {
  const auto reference = reference::verify::make_verifier("chain");
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Case value = large_case(seed);
    Case written = with_written_coins(value);
    EXPECT_FALSE(written.seed.has_value());
    reference::Batch first = value.batch, second = written.batch;
    EXPECT_EQ(reference->verify(first, *coins_of(value), {}).requests,
              reference->verify(second, *coins_of(written), {}).requests);
  }
}

TEST(Generators, TheSameSeedGivesTheSameCaseAndAnotherSeedAnother) {
  EXPECT_EQ(to_json(large_case(5)), to_json(large_case(5)));
  EXPECT_NE(to_json(large_case(5)), to_json(large_case(6)));
}

TEST(Generators, ReachEveryReasonStatusKindAndEdge) {
  std::map<std::string, int> seen;
  const auto reference = reference::verify::make_verifier("chain");
  CaseShape shape;
  shape.property = "x";
  shape.with_unjudgeable = true;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Case value = nasty_case(shape, seed);
    reference::validate(value.batch);
    ++seen["kind " + std::string(to_string(value.batch.draft_kind))];
    ++seen["format " + std::string(to_string(value.batch.format))];
    ++seen["preset " + value.batch.preset.name];
    const auto outcome = reference->verify(value.batch, *coins_of(value), {});
    for (const auto& out : outcome.requests) {
      ++seen["status " + std::string(to_string(out.status))];
      for (const auto& token : out.emitted)
        ++seen["reason " + std::string(to_string(token.reason))];
      if (out.accepted_count == 0) ++seen["accepted none"];
      if (out.accepted_count >= 3) ++seen["accepted three"];
    }
    for (const auto& request : value.batch.requests)
      if (request.proposal.tokens.empty()) ++seen["draft empty"];
  }
  EXPECT_EQ(seen.size(), 3 + 3 + reference::presets().size() + 8 + 3 + 3);
  for (const auto& [name, count] : seen) EXPECT_GE(count, 5) << name;
}

TEST(Generators, RowsFitTheirFormatAndCanBeJudged) {
  Random random(1);
  for (auto format : {reference::LogitFormat::kFloat32, reference::LogitFormat::kBfloat16,
                      reference::LogitFormat::kFloat16})
    for (int i = 0; i < 500; ++i) {
      const reference::Row row = nasty_logits(random, 1 + random.below(50), format);
      const reference::Row draft = related_logits(random, row, format);
      for (const reference::Row& each : {row, draft}) {
        for (float value : each) ASSERT_EQ(reference::rounded_to(format, value), value);
        const auto law = reference::shape(each, {}, reference::preset("default"));
        ASSERT_EQ(law.status, reference::Status::kOk);
      }
    }
}

}  // namespace
}  // namespace draftproof::properties
