// Chains: what is drawn, from which row, by which coin, and what is left in the draft cache.
#include "reference/decode/draft_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/error.h"
#include "tests/reference/draft_cases.h"

namespace draftproof::reference::decode {
namespace {

constexpr int kVocab = 7;

LanguageModelPtr some_model(int vocab_size = kVocab, std::uint64_t seed = 3) {
  return hashed_model({.vocab_size = vocab_size, .seed = seed});
}

/// A model that answers with `broken` once it has seen `length` tokens.
class Breaking final : public LanguageModel {
 public:
  Breaking(std::size_t length, float broken) : length_(length), broken_(broken) {}
  int vocab_size() const override { return kVocab; }
  void logits(const Seen& seen, Row& row) const override {
    row.assign(kVocab, 0.0f);
    if (seen.tokens.size() >= length_) row.assign(kVocab, broken_);
  }

 private:
  std::size_t length_;
  float broken_;
};

TEST(ModelSource, DrawsEveryTokenFromTheSerialModelsRowByItsOwnCoin) {
  const LanguageModelPtr model = some_model();
  const DraftSourcePtr source = model_source(model);
  for (const int page_size : {1, 3, 4})
    for (std::size_t length = 1; length <= 9; ++length)
      for (int count = 1; count <= 5; ++count) {
        DraftCase draft_case(random_tokens(length, length, kVocab), kVocab, count,
                             {.page_size = page_size}, length);
        draft_case.task.sampling = {.temperature = 0.8, .top_k = 5};
        const Draft draft = draft_case.draft(*source);
        ASSERT_EQ(draft.proposal.tokens.size(), static_cast<std::size_t>(count));
        EXPECT_EQ(draft.kind, RowKind::kLogits);
        EXPECT_EQ(draft.context_length, static_cast<int>(length));
        EXPECT_TRUE(draft.proposal.parents.empty());
        for (int i = 0; i < count; ++i) {
          const Row row = draft_case.serial_row(*model, path_of(draft.proposal, i - 1));
          EXPECT_EQ(draft.proposal.rows[i], row);
          const MassRow law = shape(row, draft_case.task.sampling, draft_case.task.preset);
          EXPECT_EQ(draft.proposal.tokens[i], verify::draw(draft_case.coin(i + 1, 0), law));
        }
      }
}

TEST(ModelSource, FeedsAllButTheLastTokenWithTheHistoriesOfASerialCache) {
  const DraftSourcePtr source = model_source(some_model());
  for (const int count : {1, 2, 5}) {
    DraftCase draft_case(random_tokens(4, 6, kVocab), kVocab, count, {.page_size = 4});
    const Draft draft = draft_case.draft(*source);
    std::vector<int> due;
    for (int node = 0; node + 1 < count; ++node) due.push_back(node);
    EXPECT_EQ(draft.fed_nodes, due);
    EXPECT_EQ(wrong_cell(draft_case, draft), std::nullopt);
  }
}

TEST(ModelSource, IsSeenToFeedAWrongCell) {
  const DraftSourcePtr source = model_source(some_model());
  DraftCase moved(random_tokens(4, 6, kVocab), kVocab, 3);
  moved.task.cell_position += 1;
  const Draft off_by_one = moved.draft(*source);
  EXPECT_NE(wrong_cell(moved, off_by_one), std::nullopt);

  DraftCase swapped(random_tokens(4, 6, kVocab), kVocab, 3);
  Draft draft = swapped.draft(*source);
  ASSERT_EQ(wrong_cell(swapped, draft), std::nullopt);
  std::swap(draft.fed_nodes[0], draft.fed_nodes[1]);
  EXPECT_NE(wrong_cell(swapped, draft), std::nullopt);
}

TEST(ModelSource, SeesWhatTheCacheHoldsAndNotWhatItRemembers) {
  const LanguageModelPtr model = some_model();
  const DraftSourcePtr source = model_source(model);
  DraftCase moved(random_tokens(4, 6, kVocab), kVocab, 3);
  moved.task.cell_position += 1;  // the first row is right, those behind a moved cell are not
  const Draft draft = moved.draft(*source);
  EXPECT_EQ(draft.proposal.rows[0], moved.serial_row(*model, {}));
  EXPECT_NE(draft.proposal.rows[1], moved.serial_row(*model, path_of(draft.proposal, 0)));
}

TEST(ModelSource, SeesNoMoreThanTheWindow) {
  const LanguageModelPtr model = some_model();
  const DraftSourcePtr source = model_source(model);
  for (const int window : {1, 2, 5, 6, 7, 20}) {
    DraftCase draft_case(random_tokens(8, 6, kVocab), kVocab, 5,
                         {.page_size = 2, .window = window});
    const Draft draft = draft_case.draft(*source);
    ASSERT_EQ(draft.proposal.rows.size(), 5u);
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(draft.proposal.rows[i],
                draft_case.serial_row(*model, path_of(draft.proposal, i - 1)))
          << "window " << window << " row " << i;
  }
}

TEST(ModelSource, DraftsTheSameFromAQuantisedCache) {
  const DraftSourcePtr source = model_source(some_model());
  DraftCase plain(random_tokens(8, 6, kVocab), kVocab, 5);
  DraftCase quantised(random_tokens(8, 6, kVocab), kVocab, 5, {.is_quantised = true});
  EXPECT_EQ(plain.draft(*source), quantised.draft(*source));
}

TEST(ModelSource, EndsTheDraftAtARowThatCannotBeJudged) {
  for (const float broken :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()})
    for (const auto make : {model_source, greedy_model_source}) {
      const DraftSourcePtr source = make(std::make_shared<Breaking>(8, broken));
      DraftCase later(random_tokens(2, 6, kVocab), kVocab, 4);
      const Draft draft = later.draft(*source);
      EXPECT_EQ(draft.proposal.tokens.size(), 2u);
      EXPECT_EQ(draft.fed_nodes, (std::vector<int>{0, 1})) << "the row behind it was asked for";
      EXPECT_EQ(wrong_cell(later, draft), std::nullopt);
      DraftCase at_once(random_tokens(2, 8, kVocab), kVocab, 4);
      EXPECT_TRUE(at_once.draft(*source).proposal.tokens.empty());
    }
}

TEST(ModelSource, DraftsNothingBehindACellThatNobodyWrote) {
  const DraftSourcePtr source = model_source(some_model());
  DraftCase draft_case(random_tokens(2, 6, kVocab), kVocab, 4);
  Sight poisoned(draft_case.cache(), kVocab);
  poisoned.add({}, 0);
  draft_case.task.visible = &poisoned;
  EXPECT_TRUE(draft_case.draft(*source).proposal.tokens.empty());
}

TEST(ModelSource, DraftsTheFirstMaximumOfAGreedyRequest) {
  const LanguageModelPtr model = some_model();
  DraftCase sampled(random_tokens(2, 6, kVocab), kVocab, 5);
  sampled.task.sampling.temperature = 0;
  DraftCase greedy(random_tokens(2, 6, kVocab), kVocab, 5, {}, 99);
  EXPECT_EQ(sampled.draft(*model_source(model)).proposal.tokens,
            greedy.draft(*greedy_model_source(model)).proposal.tokens);
}

/// Over two tokens the law of a draw is where the coin turns it: exact for all 2^64 coins.
TEST(ModelSource, DrawsBothTokensOfTwoWithTheMassesOfTheReportedRow) {
  const DraftSourcePtr source = model_source(some_model(2));
  for (const double temperature : {0.3, 1.0, 5.0}) {
    DraftCase draft_case(random_tokens(2, 6, 2), 2, 2);
    draft_case.task.sampling.temperature = temperature;
    const auto draft_by = [&](std::uint64_t first, std::uint64_t second) {
      ScriptedCoins coins;
      coins.set({5, 40, Purpose::kDraft, 0, 9}, first);
      coins.set({5, 41, Purpose::kDraft, 0, 9}, second);
      draft_case.task.coins = &coins;
      return draft_case.draft(*source).proposal;
    };
    const auto turn = [&](const Row& row) {
      const MassRow law = shape(row, draft_case.task.sampling, draft_case.task.preset);
      return breakpoint(law.mass[0], law.total);
    };
    const std::uint64_t first_turn = turn(draft_by(0, 0).rows[0]);
    for (const std::uint64_t first : {first_turn - 1, first_turn}) {
      const Token due = first < first_turn ? 0 : 1;
      const std::uint64_t second_turn = turn(draft_by(first, 0).rows[1]);
      EXPECT_EQ(draft_by(first, second_turn - 1).tokens, (std::vector<Token>{due, 0}));
      EXPECT_EQ(draft_by(first, second_turn).tokens, (std::vector<Token>{due, 1}));
    }
  }
}

TEST(GreedyModelSource, DraftsFirstMaximaAsWhatTheyAre) {
  const LanguageModelPtr model = some_model();
  DraftCase draft_case(random_tokens(6, 5, kVocab), kVocab, 5);
  draft_case.task.coins = nullptr;  // there is nothing to draw
  const Draft draft = draft_case.draft(*greedy_model_source(model));
  EXPECT_EQ(draft.kind, RowKind::kOneHot);
  EXPECT_TRUE(draft.proposal.rows.empty());
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(draft.proposal.tokens[i], static_cast<Token>(greedy_token(draft_case.serial_row(
                                            *model, path_of(draft.proposal, i - 1)))));
  EXPECT_EQ(wrong_cell(draft_case, draft), std::nullopt);
}

/// What the header says, word by word.
std::vector<Token> looked_up(const std::vector<Token>& tokens, int match_size, int count) {
  const int size = static_cast<int>(tokens.size());
  for (int start = size - match_size - 1; start >= 0; --start) {
    bool is_match = true;
    for (int i = 0; i < match_size; ++i)
      is_match = is_match && tokens[static_cast<std::size_t>(start + i)] ==
                                 tokens[static_cast<std::size_t>(size - match_size + i)];
    if (!is_match) continue;
    std::vector<Token> found;
    for (int i = start + match_size; i < size && static_cast<int>(found.size()) < count; ++i)
      found.push_back(tokens[static_cast<std::size_t>(i)]);
    return found;
  }
  return {};
}

std::vector<Token> drafted_by(const DraftSource& source, const std::vector<Token>& tokens,
                              int count) {
  DraftTask task;
  task.tokens = tokens;
  task.draft_count_max = count;
  law::Memory own, shared;
  const Draft draft = source.draft(task, own, shared);
  EXPECT_EQ(draft.kind, RowKind::kOneHot);
  EXPECT_TRUE(draft.fed_nodes.empty());
  return draft.proposal.tokens;
}

TEST(DraftSource, SaysWhetherItReadsCoins) {
  const LanguageModelPtr model = some_model();
  const std::vector<DraftSourcePtr> sources = {
      model_source(model),     greedy_model_source(model),
      tree_source(model, {2}), sampled_tree_source(model, {2}),
      lookup_source(1),        scripted_source([](auto, int) { return Proposal{{1}, {}, {}}; })};
  std::vector<bool> draws, reads;
  for (const DraftSourcePtr& source : sources) {
    DraftCase first({0, 1, 0}, kVocab, 1, {}, 1);
    bool differs = false;
    for (std::uint64_t seed = 2; seed <= 40; ++seed) {
      DraftCase other({0, 1, 0}, kVocab, 1, {}, seed);
      differs = differs || !(first.draft(*source) == other.draft(*source));
      first.cache().roll_back(first.task.sequence);
      EXPECT_TRUE(first.cache().reserve(first.task.sequence, 1));
    }
    draws.push_back(source->draws());
    reads.push_back(differs);
  }
  EXPECT_EQ(draws, (std::vector<bool>{true, false, false, true, false, false}));
  EXPECT_EQ(reads, draws);
}

TEST(LookupSource, FindsWhatANaiveSearchFindsInEveryShortText) {
  int found_count = 0;
  for (int length = 1; length <= 9; ++length)
    for (int text = 0; text < 1 << length; ++text) {
      std::vector<Token> tokens;
      for (int i = 0; i < length; ++i) tokens.push_back(text >> i & 1);
      for (int match_size = 1; match_size <= 3; ++match_size) {
        const DraftSourcePtr source = lookup_source(match_size);
        for (const int count : {1, 3}) {
          const std::vector<Token> due = looked_up(tokens, match_size, count);
          ASSERT_EQ(drafted_by(*source, tokens, count), due);
          found_count += due.empty() ? 0 : 1;
        }
      }
    }
  EXPECT_GT(found_count, 3000);
}

TEST(LookupSource, TakesTheLastMatchAndMayOverlapTheTail) {
  EXPECT_EQ(drafted_by(*lookup_source(1), {1, 2, 1, 3, 1}, 4), (std::vector<Token>{3, 1}));
  EXPECT_EQ(drafted_by(*lookup_source(2), {4, 4, 4}, 4), (std::vector<Token>{4}));
  EXPECT_TRUE(drafted_by(*lookup_source(3), {1, 2, 3}, 4).empty());
}

TEST(LookupSource, RefusesToLookUpNothing) { EXPECT_THROW(lookup_source(0), Error); }

TEST(ScriptedSource, HandsOverTheScriptsDraft) {
  const DraftSourcePtr source = scripted_source([](std::span<const Token> tokens, int count) {
    return Proposal{std::vector<Token>(static_cast<std::size_t>(count), tokens.back()), {}, {}};
  });
  EXPECT_EQ(source->model(), nullptr);
  EXPECT_EQ(drafted_by(*source, {1, 2, 6}, 3), (std::vector<Token>{6, 6, 6}));
}

TEST(ScriptedSource, FeedsWhatTheScriptContinues) {
  const Proposal tree{{1, 2, 3, 4, 5}, {}, {-1, -1, 0, 2, 2}};
  const DraftSourcePtr source = scripted_source([&](auto, int) { return tree; }, some_model());
  DraftCase draft_case(random_tokens(6, 5, kVocab), kVocab, 5);
  const Draft draft = draft_case.draft(*source);
  EXPECT_EQ(draft.proposal, tree);
  EXPECT_EQ(draft.fed_nodes, (std::vector<int>{0, 2}));
  EXPECT_EQ(wrong_cell(draft_case, draft), std::nullopt);

  const Proposal chain{{1, 2, 3}, {}, {}};
  DraftCase next(random_tokens(6, 5, kVocab), kVocab, 3);
  const Draft fed = next.draft(*scripted_source([&](auto, int) { return chain; }, some_model()));
  EXPECT_EQ(fed.fed_nodes, (std::vector<int>{0, 1}));
  EXPECT_EQ(wrong_cell(next, fed), std::nullopt);
}

TEST(ScriptedSource, FeedsNothingBehindATokenThatIsNone) {
  for (const Token none : {kPlaceholder, Token{kVocab}}) {
    const Proposal chain{{1, none, 3, 4}, {}, {}};
    DraftCase draft_case(random_tokens(6, 5, kVocab), kVocab, 4);
    const Draft draft =
        draft_case.draft(*scripted_source([&](auto, int) { return chain; }, some_model()));
    EXPECT_EQ(draft.proposal, chain);
    EXPECT_EQ(draft.fed_nodes, (std::vector<int>{0}));
    EXPECT_EQ(wrong_cell(draft_case, draft), std::nullopt);
  }
}

TEST(ScriptedSource, MayNotDraftMoreThanItIsAskedFor) {
  const DraftSourcePtr source = scripted_source([](auto, int) {
    return Proposal{{1, 2, 3}, {}, {}};
  });
  EXPECT_THROW(drafted_by(*source, {1}, 2), BrokenInvariant);
}

}  // namespace
}  // namespace draftproof::reference::decode
