// The judge against a kernel in fp32 written here, and against faults planted in it.
#include "oracle/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "oracle/curand_stream.h"

namespace draftproof::oracle {
namespace {

using reference::Token;

enum class Planted {
  kNothing,
  kInclusiveAccept,
  kRatioSwapped,
  kOneCoinEarly,
  kResidualIsTarget,
  kInclusivePick,
  kCountsRejected
};

struct Asked {
  std::size_t vocab_size;
  std::vector<Token> draft;
  std::vector<float> draft_rows, target_rows;
  std::uint64_t seed, subsequence = 2, offset = 5;

  ReplayRequest request() const {
    return {vocab_size, draft, draft_rows, target_rows, seed, subsequence, offset};
  }
};

struct Answered {
  std::vector<Token> tokens;
  std::int64_t accept_count = 0, emit_count = 0;
  ReplayAnswer answer() const { return {tokens, accept_count, emit_count}; }
};

bool accepts(Planted fault, float coin, float draft, float target) {
  if (fault == Planted::kInclusiveAccept) return coin * draft <= target;
  if (fault == Planted::kRatioSwapped) return coin * target < draft;
  return coin * draft < target;
}

/// The chain rule in fp32, sums from left to right; draws accept, recount, final.
Answered sample(const Asked& asked, Planted fault) {
  const int draft_count = static_cast<int>(asked.draft.size());
  const CurandStream stream(asked.seed, asked.subsequence, asked.offset);
  std::uint64_t draw = fault == Planted::kOneCoinEarly ? 1 : 0;
  const auto target = [&](int i) { return asked.target_rows.data() + i * asked.vocab_size; };
  const auto draft = [&](int i) { return asked.draft_rows.data() + i * asked.vocab_size; };
  const auto passes = [&](int i) {
    return accepts(fault, stream.coin(draw++), draft(i)[asked.draft[i]], target(i)[asked.draft[i]]);
  };
  Answered out;
  int accepted = 0;
  while (accepted < draft_count && passes(accepted)) ++accepted;
  out.emit_count = out.accept_count = accepted;
  for (int i = accepted; i < draft_count; ++i) {
    const bool counts = passes(i);
    if (counts && (i != accepted || fault == Planted::kCountsRejected)) ++out.accept_count;
  }
  std::vector<float> masses(asked.vocab_size);
  float total = 0;
  for (std::size_t token = 0; token < asked.vocab_size; ++token) {
    const bool residual = accepted < draft_count && fault != Planted::kResidualIsTarget;
    masses[token] =
        std::max(target(accepted)[token] - (residual ? draft(accepted)[token] : 0), 0.f);
    total += masses[token];
  }
  const float threshold = stream.coin(draw) * total;
  Token picked = -1;
  Token last = -1;
  float sum = 0;
  for (std::size_t token = 0; token < asked.vocab_size && picked < 0; ++token) {
    sum += masses[token];
    const bool is_past = fault == Planted::kInclusivePick ? sum >= threshold : sum > threshold;
    if (masses[token] > 0) last = static_cast<Token>(token);
    if (is_past && masses[token] > 0) picked = static_cast<Token>(token);
  }
  out.tokens.assign(asked.draft.begin(), asked.draft.begin() + accepted);
  out.tokens.push_back(picked < 0 ? last : picked);
  out.tokens.resize(asked.draft.size() + 1, -1);
  return out;
}

ReplayRule rule_of(std::size_t vocab_size) {
  ReplayRule rule;
  const auto depth = static_cast<std::int64_t>(vocab_size);
  rule.rounding = {depth + 2, depth + 1, false};
  rule.order = {DrawStep::kAccept, DrawStep::kRecount, DrawStep::kFinal};
  return rule;
}

Asked random_case(std::mt19937_64& random) {
  Asked asked;
  asked.vocab_size = 2 + random() % 12;
  asked.seed = random();
  const std::size_t draft_count = random() % 5;
  const auto fill = [&](std::vector<float>& rows, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<double> row(asked.vocab_size);
      double total = 0;
      for (double& each : row) total += each = random() % 4 == 0 ? 0 : double(1 + random() % 1000);
      if (total == 0) total = row[0] = 1;
      for (const double each : row) rows.push_back(static_cast<float>(each / total));
    }
  };
  fill(asked.draft_rows, draft_count);
  fill(asked.target_rows, draft_count + 1);
  for (std::size_t i = 0; i < draft_count; ++i) {
    std::size_t token = random() % asked.vocab_size;
    while (asked.draft_rows[i * asked.vocab_size + token] == 0)
      token = (token + 1) % asked.vocab_size;
    asked.draft.push_back(static_cast<Token>(token));
  }
  return asked;
}

TEST(Replay, UpholdsACorrectKernel) {
  std::mt19937_64 random(1);
  std::uint64_t decisions = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const Asked asked = random_case(random);
    const Answered answered = sample(asked, Planted::kNothing);
    const ReplayJudgement judgement =
        replay(rule_of(asked.vocab_size), asked.request(), answered.answer());
    ASSERT_TRUE(judgement.findings.empty())
        << trial << ": " << judgement.findings[0].expected << " / "
        << judgement.findings[0].observed << " / " << judgement.findings[0].because;
    decisions += judgement.decisions;
  }
  EXPECT_GT(decisions, 8000u);
}

/// How many of 4,000 random cases have a finding of `fault`.
int findings(Planted planted, ReplayFault fault) {
  std::mt19937_64 random(1);
  int found = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const Asked asked = random_case(random);
    const ReplayJudgement judgement =
        replay(rule_of(asked.vocab_size), asked.request(), sample(asked, planted).answer());
    found += std::any_of(judgement.findings.begin(), judgement.findings.end(),
                         [&](const ReplayFinding& each) { return each.fault == fault; });
  }
  return found;
}

TEST(Replay, FlagsFaultsThatShowOften) {
  EXPECT_GT(findings(Planted::kRatioSwapped, ReplayFault::kDecision), 400);
  EXPECT_GT(findings(Planted::kOneCoinEarly, ReplayFault::kDecision), 400);
  EXPECT_GT(findings(Planted::kResidualIsTarget, ReplayFault::kDecision), 100);
  EXPECT_GT(findings(Planted::kCountsRejected, ReplayFault::kCounter), 100);
}

TEST(Replay, FlagsTheWrongComparisonAtEqualityOnly) {
  Asked asked{2, {0}, {1.0f, 0.0f}, {}, 11};
  const float coin = CurandStream(asked.seed, asked.subsequence, asked.offset).coin(0);
  asked.target_rows = {coin, 1 - coin, 0.5f, 0.5f};
  EXPECT_TRUE(replay(rule_of(2), asked.request(), sample(asked, Planted::kNothing).answer())
                  .findings.empty());
  const ReplayJudgement judgement =
      replay(rule_of(2), asked.request(), sample(asked, Planted::kInclusiveAccept).answer());
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].fault, ReplayFault::kDecision);
  ReplayRule inclusive = rule_of(2);
  inclusive.accept = AcceptRule::kLessOrEqual;
  EXPECT_TRUE(replay(inclusive, asked.request(), sample(asked, Planted::kInclusiveAccept).answer())
                  .findings.empty());
  EXPECT_FALSE(replay(inclusive, asked.request(), sample(asked, Planted::kNothing).answer())
                   .findings.empty());
}

TEST(Replay, AllowsBothAnswersWhereTheProductRoundsOntoTheTarget) {
  // coin * draft lies just below target and rounds onto it: fp32 rejects what is exactly accepted.
  Asked asked{2, {0}, {}, {}, 0};
  bool found = false;
  for (asked.seed = 1; asked.seed < 200 && !found; ++asked.seed) {
    const float coin = CurandStream(asked.seed, asked.subsequence, asked.offset).coin(0);
    const float draft = 0.7f;
    const float product = coin * draft;
    if (double{coin} * draft >= product) continue;
    found = true;
    asked.draft_rows = {draft, 0.3f};
    asked.target_rows = {product, 1 - product, 0.5f, 0.5f};
    const Answered rejected = sample(asked, Planted::kNothing);
    EXPECT_EQ(rejected.emit_count, 0);
    const ReplayJudgement one = replay(rule_of(2), asked.request(), rejected.answer());
    EXPECT_TRUE(one.findings.empty());
    EXPECT_GE(one.near, 1u);
    EXPECT_EQ(one.near_moved, 1u);
    const Answered accepted = sample(asked, Planted::kInclusiveAccept);
    EXPECT_EQ(accepted.emit_count, 1);
    const ReplayJudgement other = replay(rule_of(2), asked.request(), accepted.answer());
    EXPECT_TRUE(other.findings.empty());
    EXPECT_EQ(other.near_moved, 0u);
  }
  EXPECT_TRUE(found);
}

TEST(Replay, FlagsATokenThatIsMissingWhereNoMassIsLeft) {
  // The largest coin rejects a drafted token of equal probability, and the residual is empty.
  Asked asked{3, {0}, {1, 0, 0}, {1, 0, 0, 0.5f, 0.5f, 0}, 1, 0, 0};
  const auto index = CurandStream(asked.seed, 0, 0).find(0xffffff80u, 0xffffffffu, 1u << 30);
  ASSERT_TRUE(index.has_value());
  asked.offset = *index;
  const Answered answered = sample(asked, Planted::kNothing);
  const ReplayJudgement judgement = replay(rule_of(3), asked.request(), answered.answer());
  ASSERT_EQ(judgement.findings.size(), 2u);
  EXPECT_EQ(judgement.findings[0].fault, ReplayFault::kNoToken);
  EXPECT_EQ(judgement.findings[1].fault, ReplayFault::kCertainRejected);
  EXPECT_EQ(judgement.findings[1].coin, 1.0f);
  EXPECT_EQ(judgement.undefined, 1u);
}

TEST(Replay, FlagsTokensOutsideTheSupport) {
  const Asked asked{3, {}, {}, {0.5f, 0, 0.5f}, 3};
  const Answered wrong{{1}, 0, 0};
  const ReplayJudgement judgement = replay(rule_of(3), asked.request(), wrong.answer());
  ASSERT_EQ(judgement.findings.size(), 2u);
  EXPECT_EQ(judgement.findings[0].fault, ReplayFault::kDecision);
  EXPECT_EQ(judgement.findings[1].fault, ReplayFault::kOutsideSupport);
}

TEST(Replay, FlagsACounterThatIsOff) {
  std::mt19937_64 random(4);
  Asked asked = random_case(random);
  while (asked.draft.empty()) asked = random_case(random);
  Answered answered = sample(asked, Planted::kNothing);
  ++answered.emit_count;
  const ReplayJudgement judgement =
      replay(rule_of(asked.vocab_size), asked.request(), answered.answer());
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].fault, ReplayFault::kCounter);
}

TEST(Replay, FindsTheCoinOfTheFinalDraw) {
  const ReplayRule recounting = rule_of(4);
  EXPECT_EQ(final_draw(recounting, 4, 4), 4u);
  EXPECT_EQ(final_draw(recounting, 4, 1), 5u);
  EXPECT_EQ(final_draw(recounting, 4, 0), 5u);
  EXPECT_EQ(final_draw(recounting, 0, 0), 0u);
  ReplayRule plain = recounting;
  plain.order = {DrawStep::kAccept, DrawStep::kFinal};
  EXPECT_EQ(final_draw(plain, 4, 1), 2u);
}

}  // namespace
}  // namespace draftproof::oracle
