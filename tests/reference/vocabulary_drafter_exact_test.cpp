// Drafts of another vocabulary: two truths each, and the maps themselves by hand.
#include "reference/draft/reencoding.h"
#include "reference/draft/vocabulary_map.h"
#include "reference/error.h"
#include "tests/reference/method_truths.h"

namespace draftproof::reference::draft {
namespace {

TEST(VocabularyMethods, KeepTheLawAndTheirExpectedLength) {
  expect_both_truths(vocabulary_methods());
}

TEST(VocabularyMethods, AreExactAtTheEnds) { expect_exact_at_the_ends(vocabulary_methods()); }

TEST(VocabularyMethods, SayWhereTheyAreFrom) { expect_told(vocabulary_methods()); }

TEST(Intersection, CutsARowToWhatBothSpellAndPutsItOverItsSum) {
  const Spelling spelling = toy_spelling(3);
  // Draft ids: ba, b, a. Target ids: a, b, ab.
  const LawRow row = {Exact(1, 2), Exact(1, 8), Exact(3, 8)};
  EXPECT_EQ(common_part(spelling, row), (LawRow{Exact(3, 8), Exact(1, 8), 0}));
  const auto draft = model::function_model(3, [row](const Context&) { return row; });
  const law::Memory none;
  const std::vector<Token> drafted;
  const Context context = {2, 0};
  EXPECT_EQ(intersection_law(spelling, draft, mapped_by_id)({context, drafted, none}),
            (LawRow{Exact(3, 4), Exact(1, 4), 0}));
  EXPECT_EQ(mapped_by_id(spelling, context), (Context{kUnknown, 2})) << "ab is no token there";
  EXPECT_EQ(mapped_by_text(spelling, context), (Context{2, 0})) << "aba: a, ba";
}

TEST(Intersection, ThatIsEmptyDraftsNothing) {
  const Spelling spelling = toy_spelling(3);
  const auto only_ba = model::function_model(3, [](const Context&) { return one_hot_row(3, 0); });
  const law::Memory none;
  const Context context;
  EXPECT_TRUE(intersection_law(spelling, only_ba, mapped_by_id)({context, {}, none}).empty());
  EXPECT_THROW(toy_spelling(5), Error);
}

TEST(Reencoding, AlignsTextBehindTheContextsOwnTokens) {
  const Spelling spelling = toy_spelling(3);
  EXPECT_EQ(encoded(spelling.target, "abba"), (std::vector<Token>{2, 1, 0}));
  EXPECT_EQ(aligned(spelling, {1, 1}, "ab"), (std::vector<Token>{2}));
  // a, then b: encoded again they merge into ab, which is not what was emitted.
  EXPECT_EQ(aligned(spelling, {1, 0}, "ba"), (std::vector<Token>{1, 0}));
  EXPECT_EQ(aligned(spelling, {0, 1}, "a"), (std::vector<Token>{0}))
      << "emitted as a, b: encoded again they are ab";
}

TEST(Reencoding, KeepsTheLawOfTokensAmongThoseThatSpellTheSame) {
  const law::Decoding decoding = method("uag").make(model::toy("full-memory"));
  const law::SequenceLaw law = law::sequence_law(decoding, 2);
  const law::SequenceLaw target = law::target_law(*decoding.target, 2);
  // a, b and ab spell the same; only their sum would be a law of strings.
  EXPECT_EQ(law.at({0, 1}), target.at({0, 1}));
  EXPECT_EQ(law.at({2, 0}), target.at({2, 0}));
  EXPECT_NE(law.at({0, 1}), law.at({2, 0}));
}

TEST(MappedVocabulary, PushesARowThroughTheMapOfItsIds) {
  const model::Toy& toy = model::toy("textbook");  // drafted from .7, .2, .1
  const MappedVocabulary doubled = doubled_vocabulary(toy);
  EXPECT_EQ(doubled.row({}), (LawRow{Exact(7, 30), Exact(1, 5), Exact(1, 10), Exact(7, 15)}));
  EXPECT_EQ(pushed(doubled, doubled.row({}), 3), toy.draft->row({}));
  EXPECT_EQ(permuted_vocabulary(toy).row({}), (LawRow{Exact(1, 5), Exact(1, 10), Exact(7, 10)}));
  EXPECT_EQ(padded_vocabulary(toy).row({}).size(), 5u);
  // (.7 + .25, .1 + .25) over 1.3 on tokens 0 and 2.
  EXPECT_EQ(mapped_law(reduced_vocabulary(toy), 3)({{}, {}, {}}),
            (LawRow{Exact(95, 130), 0, Exact(35, 130)}));
  EXPECT_EQ(reduced_offsets(4), (std::vector<Token>{0, 1, 1}));
}

}  // namespace
}  // namespace draftproof::reference::draft
