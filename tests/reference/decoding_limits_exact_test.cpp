// Requests that end: by a token, a stop sequence, a cap. The law of a lossless decoding is then the
// target's law cut at the same place, wherever the borders of iterations fall.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/error.h"
#include "tests/reference/naive_decoding.h"
#include "tests/reference/tiny_families.h"

namespace draftproof::reference::law {
namespace {

Limits by_eos(Token eos) { return {eos, {}, {}}; }
Limits by_stop(std::vector<Token> stop) { return {{}, {std::move(stop)}, {}}; }
Limits by_cap(int cap) { return {{}, {}, cap}; }

std::vector<Limits> all_limits() {
  Limits all = by_eos(0);
  all.stops = {{1, 1}, {2, 1, 2}};
  all.token_count_max = 3;
  return {by_eos(1), by_stop({0}), by_stop({1, 0}), by_stop({0, 1, 0}), by_cap(1), by_cap(3), all};
}

Decoding limited(int vocab_size, int draft_count, RuleFunction rule, const Limits& limits) {
  Decoding decoding =
      decoding_of(family_case(Family::kFullMemory, vocab_size, draft_count, 6), std::move(rule));
  decoding.limits = limits;
  return decoding;
}

TEST(Limits, OfTheTargetAreItsSequencesCutByHand) {
  const auto target = model::position_model({distribution_from_text("1/4,3/4")});
  EXPECT_EQ(target_law(*target, 2, {}, by_eos(1)),
            (SequenceLaw{{{1}, Exact(3, 4)}, {{0, 1}, Exact(3, 16)}, {{0, 0}, Exact(1, 16)}}));
  EXPECT_EQ(target_law(*target, 3, {}, by_stop({0, 1})), (SequenceLaw{{{0, 1}, Exact(3, 16)},
                                                                      {{1, 0, 1}, Exact(9, 64)},
                                                                      {{0, 0, 1}, Exact(3, 64)},
                                                                      {{0, 0, 0}, Exact(1, 64)},
                                                                      {{1, 0, 0}, Exact(3, 64)},
                                                                      {{1, 1, 0}, Exact(9, 64)},
                                                                      {{1, 1, 1}, Exact(27, 64)}}));
  EXPECT_EQ(target_law(*target, 3, {}, by_cap(1)),
            (SequenceLaw{{{0}, Exact(1, 4)}, {{1}, Exact(3, 4)}}));
}

TEST(Limits, OfALosslessDecodingCutTheTargetsLaw) {
  for (const Limits& limits : all_limits()) {
    for (int draft_count : {0, 1, 2}) {
      const Decoding decoding = limited(3, draft_count, chain_rule(), limits);
      ASSERT_EQ(sequence_distance(decoding, 4), 0) << draft_count;
    }
  }
}

TEST(Limits, CutWhatTheWholeRunEmitsTokenByToken) {
  for (const Limits& limits : all_limits()) {
    for (const char* scheme : {"fresh", "position-keyed"}) {
      Decoding decoding = limited(2, 2, longest_passing, limits);
      decoding.coins = coin_scheme(scheme);
      ASSERT_EQ(batch_law({decoding}, 3), naive_batch_law({decoding}, 3)) << scheme;
    }
  }
}

TEST(Limits, FindAStopThatCrossesTheBorderOfIterations) {
  // Without drafts every token is an iteration of its own.
  const Decoding plain = limited(2, 0, chain_rule(), by_stop({1, 0}));
  const SequenceLaw law = sequence_law(plain, 3);
  for (const auto& [sequence, probability] : law) {
    const std::vector<Token> front(sequence.begin(), sequence.begin() + 2);
    ASSERT_EQ(sequence.size(), front == std::vector<Token>({1, 0}) ? 2u : 3u);
  }
  Decoding forgetful = plain;
  forgetful.end = [limits = plain.limits](const std::vector<Token>& tokens, int emitted_count) {
    return Limits::Cut{tokens.size(),
                       limits.cut({tokens.end() - emitted_count, tokens.end()}).is_end};
  };
  EXPECT_GT(sequence_distance(forgetful, 3), 0);
}

TEST(Limits, OfACapShortenTheDraft) {
  std::vector<int> asked;
  class Watching final : public draft::Drafter {
   public:
    explicit Watching(std::vector<int>& asked) : asked_(asked) {}
    DraftTree draft(const StepBegin& begin, Memory&, Memory&, Chooser&) const override {
      asked_.push_back(begin.draft_count);
      return {};
    }

   private:
    std::vector<int>& asked_;
  };
  Decoding decoding = limited(2, 2, chain_rule(), by_cap(4));
  decoding.target = model::position_model({point_mass(2, 0)});
  decoding.scorer = model_scorer(decoding.target);
  decoding.drafter = std::make_shared<Watching>(asked);
  EXPECT_EQ(sequence_law(decoding, 9), (SequenceLaw{{{0, 0, 0, 0}, 1}}));
  EXPECT_EQ(asked, (std::vector<int>{2, 2, 1, 0})) << "one token is emitted behind the draft";
}

TEST(Limits, OfNoTokenAreRefused) {
  EXPECT_THROW(sequence_law(limited(2, 1, chain_rule(), by_cap(0)), 2), BrokenInvariant);
}

TEST(Limits, ChangeTheLawWhenTheyAreLookedAtLate) {
  Decoding late = limited(3, 2, chain_rule(), by_eos(1));
  late.end = [](const std::vector<Token>& tokens, int) {
    return Limits::Cut{tokens.size(), tokens.back() == 1};
  };
  EXPECT_GT(sequence_distance(late, 3), 0);
}

}  // namespace
}  // namespace draftproof::reference::law
