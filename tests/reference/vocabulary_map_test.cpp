// Draft vocabularies that mean other tokens: an identity draft behind any map is accepted whole,
// padding is never read, and a wrong map costs acceptance only.
#include "reference/decode/vocabulary_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/error.h"
#include "reference/verify/verifiers.h"
#include "tests/reference/draft_cases.h"

namespace draftproof::reference::decode {
namespace {

constexpr int kVocab = 6;
constexpr float kNothing = -std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

LanguageModelPtr target_model() { return hashed_model({.vocab_size = kVocab, .seed = 11}); }

/// The target with draft ids for tokens: what a perfect draft model of that vocabulary is.
/// Ids without a meaning have the logit `padding`.
class Renamed final : public LanguageModel {
 public:
  Renamed(LanguageModelPtr target, std::vector<Token> target_ids, float padding = 0)
      : target_(std::move(target)), target_ids_(std::move(target_ids)), padding_(padding) {}
  int vocab_size() const override { return static_cast<int>(target_ids_.size()); }
  void logits(const Seen& seen, Row& row) const override {
    std::vector<Token> tokens;
    for (const Token id : seen.tokens)
      tokens.push_back(target_ids_.at(static_cast<std::size_t>(id)));
    Seen own = seen;
    own.tokens = tokens;
    const Row meant = target_->row(own);
    row.clear();
    for (const Token token : target_ids_)
      row.push_back(token >= 0 && token < target_->vocab_size()
                        ? meant[static_cast<std::size_t>(token)]
                        : padding_);
  }

 private:
  LanguageModelPtr target_;
  std::vector<Token> target_ids_;
  float padding_;
};

/// Answers with the ids that it was shown, so that a test can read them.
class Echo final : public LanguageModel {
 public:
  explicit Echo(int vocab_size) : vocab_size_(vocab_size) {}
  int vocab_size() const override { return vocab_size_; }
  void logits(const Seen& seen, Row& row) const override {
    shown.assign(seen.tokens.begin(), seen.tokens.end());
    row.clear();
    for (int id = 0; id < vocab_size_; ++id) row.push_back(static_cast<float>(id));
  }
  mutable std::vector<Token> shown;

 private:
  int vocab_size_;
};

struct Kept {
  int drafted = 0;
  int accepted = 0;
};

/// Drafts of three tokens behind many texts, verified by the chain rule.
Kept kept_by_target(const DraftSource& source) {
  const LanguageModelPtr target = target_model();
  const auto verifier = verify::make_verifier("chain");
  Kept kept;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    DraftCase draft_case(random_tokens(seed, 1 + seed % 7, kVocab), kVocab, 3, {}, seed);
    const Draft draft = draft_case.draft(source);
    EXPECT_EQ(wrong_cell(draft_case, draft), std::nullopt) << "cells are in target ids";
    Batch batch;
    batch.vocab_size = kVocab;
    batch.preset = draft_case.task.preset;
    batch.draft_kind = draft.kind;
    Request request;
    request.id = draft_case.task.coin_request;
    request.position = draft_case.task.position;
    request.proposal = draft.proposal;
    const int count = static_cast<int>(draft.proposal.tokens.size());
    for (int node = -1; node < count; ++node)
      request.target_rows.push_back(draft_case.serial_row(*target, path_of(draft.proposal, node)));
    batch.requests = {request};
    const RequestOutcome outcome = verifier->verify(batch, PhiloxCoins(seed), {}).requests.at(0);
    EXPECT_EQ(outcome.status, Status::kOk);
    kept.drafted += count;
    kept.accepted += outcome.accepted_count;
  }
  return kept;
}

const std::vector<Token> kPermuted = {3, 0, 5, 1, 4, 2};

TEST(VocabularyMap, LosesNothingOfAnIdentityDraftWhateverTheIdsAre) {
  const std::vector<std::vector<Token>> maps = {
      {0, 1, 2, 3, 4, 5},
      kPermuted,
      {5, 4, kPlaceholder, 3, 2, 1, 0},  // an id that means nothing
      {0, 1, 2, 3, 4, 5, 6, 7},          // padded: 6 and 7 are no tokens of the target
      {9, 3, 0, 5, kPlaceholder, 1, 4, 2}};
  for (const std::vector<Token>& target_ids : maps)
    for (const float padding : {0.0f, 100.0f, kNothing, kNan}) {
      const auto draft = std::make_shared<Renamed>(target_model(), target_ids, padding);
      const Kept kept = kept_by_target(*mapped_source(draft, {target_ids, kVocab, 0}));
      EXPECT_EQ(kept.drafted, 180);
      EXPECT_EQ(kept.accepted, 180);
    }
}

/// B137: draft ids taken as the target's. It costs acceptance; what is emitted stays right, as the
/// row that is reported is the row drawn from.
TEST(VocabularyMap, IsSeenToBeMissing) {
  const auto draft = std::make_shared<Renamed>(target_model(), kPermuted);
  const Kept kept = kept_by_target(*mapped_source(draft, padded_map(kVocab, kVocab)));
  EXPECT_EQ(kept.drafted, 180);
  EXPECT_LT(kept.accepted, 150);
}

TEST(VocabularyMap, GivesEveryTokenTheLogitOfTheIdThatMeansItBitForBit) {
  const Row drafted = {0.1f, -2.0f, -0.0f, 7.5f, kNothing, 3.0f};
  const LanguageModelPtr model =
      mapped_model(std::make_shared<OneRow>(drafted), {kPermuted, kVocab, 0});
  const std::vector<Token> seen = {0};
  const Row row = model->row({.tokens = seen});
  ASSERT_EQ(row.size(), static_cast<std::size_t>(kVocab));
  for (std::size_t id = 0; id < drafted.size(); ++id) {
    const float meant = row[static_cast<std::size_t>(kPermuted[id])];
    EXPECT_EQ(meant, drafted[id]);
    EXPECT_EQ(std::signbit(meant), std::signbit(drafted[id]));
  }
}

TEST(VocabularyMap, FeedsTheLowestIdOfATokenAndTheUnknownIdForATokenWithoutOne) {
  const auto echo = std::make_shared<Echo>(4);
  // Draft ids 0 and 2 mean token 5, 1 means 3, 3 is padding; tokens 0, 1, 2, 4 have no id.
  const LanguageModelPtr model = mapped_model(echo, {{5, 3, 5, 6}, kVocab, 3});
  const std::vector<Token> seen = {5, 3, 0, 4, 5};
  const Row row = model->row({.tokens = seen});
  EXPECT_EQ(echo->shown, (std::vector<Token>{0, 1, 3, 3, 0}));
  for (const std::size_t without : {0, 1, 2, 4}) EXPECT_EQ(row[without], kNothing);
  EXPECT_EQ(row[3], 1.0f);
}

TEST(VocabularyMap, AddsTheWeightsOfIdsThatMeanOneToken) {
  const auto row_of = [](Row drafted) {
    const LanguageModelPtr model =
        mapped_model(std::make_shared<OneRow>(std::move(drafted)), {{1, 0, 1}, 2, 0});
    const std::vector<Token> seen = {0};
    return model->row({.tokens = seen});
  };
  EXPECT_FLOAT_EQ(row_of({1.0f, 0.5f, 2.0f})[1],
                  static_cast<float>(std::log(std::exp(1.0) + std::exp(2.0))));
  EXPECT_EQ(row_of({1.0f, 0.5f, 2.0f})[0], 0.5f);
  EXPECT_EQ(row_of({kNothing, 0.5f, 2.0f})[1], 2.0f);
  EXPECT_EQ(row_of({kNothing, 0.5f, kNothing})[1], kNothing);
  EXPECT_TRUE(std::isnan(row_of({kNan, 0.5f, 2.0f})[1]));
  EXPECT_EQ(row_of({-kNothing, 0.5f, -kNothing})[1], -kNothing) << "+inf stays what it is";
}

TEST(VocabularyMap, NeverProposesWhatTheTargetDoesNotHave) {
  const DraftSourcePtr source =
      mapped_source(std::make_shared<OneRow>(Row{0, 0, 0, 90, 90}), padded_map(5, 3));
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    DraftCase draft_case({0, 2}, 3, 4, {}, seed);
    for (const Token token : draft_case.draft(*source).proposal.tokens) EXPECT_LT(token, 3);
  }
}

TEST(VocabularyMap, EndsTheDraftWhereOnlyPaddingIsLikely) {
  const DraftSourcePtr source =
      mapped_source(std::make_shared<OneRow>(Row{kNothing, kNothing, 1}), padded_map(3, 2));
  DraftCase draft_case({0, 1}, 2, 4);
  EXPECT_TRUE(draft_case.draft(*source).proposal.tokens.empty());
}

TEST(VocabularyMap, ReadsTablesOfOffsets) {
  const std::vector<Token> offsets = {0, 1, 1, 7};
  const VocabularyMap map = offset_map(offsets, 5);
  EXPECT_EQ(map.target_ids, (std::vector<Token>{0, 2, 3, kPlaceholder}));
  const std::vector<Token> negative = {0, -2};
  EXPECT_THROW(offset_map(negative, 5), Error);
}

void expect_refused(VocabularyMap map, const std::string& because) {
  try {
    mapped_model(std::make_shared<Echo>(3), std::move(map));
    ADD_FAILURE() << "taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(because));
  }
}

TEST(VocabularyMap, RefusesMapsThatDoNotFitSayingWhy) {
  expect_refused({{0, 1}, 4, 0}, "2 entries for a draft vocabulary of 3");
  expect_refused({{0, -2, 1}, 4, 0}, "draft id 1 means -2");
  expect_refused({{4, kPlaceholder, 9}, 4, 0}, "no draft id means a token");
  expect_refused({{0, 1, 2}, 4, 3}, "unknown_id 3");
  expect_refused({{0, 1, 2}, 0, 0}, "vocab_size");
}

}  // namespace
}  // namespace draftproof::reference::decode
