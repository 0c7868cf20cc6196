// Drafts by the target itself: two truths each, what they share and what they may not.
#include "reference/draft/layers.h"
#include "reference/draft/sparse.h"
#include "tests/reference/method_truths.h"

namespace draftproof::reference::draft {
namespace {

TEST(SelfMethods, KeepTheLawAndTheirExpectedLength) { expect_both_truths(self_methods()); }

TEST(SelfMethods, AreExactAtTheEnds) { expect_exact_at_the_ends(self_methods()); }

TEST(SelfMethods, SayWhereTheyAreFrom) { expect_told(self_methods()); }

TEST(Layers, SharedCellsAreTheTargetsAndSkippedOnesAreNot) {
  EXPECT_EQ(cells_of(3, {1, 2, 2}, shallow_cell), (Context{1, 0, 1}));
  EXPECT_EQ(cells_of(3, {1, 2, 2}, skipped_cell), (Context{1, 2, 2}));
  const model::Toy& toy = model::toy("full-memory");
  const Context context = {0, 1, 2};
  law::DraftTree tree;
  append(tree, 1, {});
  const ScorerFunctions shared = cell_scorer(toy, shallow_cell);
  const ScorerFunctions skipped = cell_scorer(toy, skipped_cell);
  const model::ToyModelPtr target = layered_target(toy);
  const auto rows = shared.rows(context, tree, shared.initial(context));
  EXPECT_EQ(rows[0], target->row(context));
  EXPECT_EQ(rows[1], target->row({0, 1, 2, 1}));
  EXPECT_NE(skipped.rows(context, tree, skipped.initial(context))[1], rows[1]);
}

TEST(Kangaroo, StopsByTheRowAndDraftVerifyBehindTheToken) {
  const PointLaw law = [](const ChainPoint& point) {
    return point.drafted.empty() ? LawRow{Exact(3, 4), Exact(1, 4)}
                                 : LawRow{Exact(1, 2), Exact(1, 2)};
  };
  const Context context;
  const law::Memory none;
  const std::vector<Token> likely = {0};
  const std::vector<Token> unlikely = {1};
  EXPECT_FALSE(stops_unsure(law, Exact(1, 2))({context, {}, none}));
  EXPECT_TRUE(stops_unsure(law, Exact(2, 3))({context, likely, none}));
  EXPECT_FALSE(stops_behind_unlikely(law, Exact(1, 3))({context, {}, none}));
  EXPECT_FALSE(stops_behind_unlikely(law, Exact(1, 3))({context, likely, none}));
  EXPECT_TRUE(stops_behind_unlikely(law, Exact(1, 3))({context, unlikely, none}));
}

TEST(SparseTarget, IsNeitherDenseNorItsSharedSelection) {
  const model::Toy& toy = model::toy("full-memory");
  const model::ToyModelPtr served = sparse_target(toy);
  const Context prompt = {0, 1};
  EXPECT_GT(law::total_variation(law::target_law(*served, 3, prompt),
                                 law::target_law(*toy.target, 3, prompt)),
            0);
  EXPECT_EQ(masked({2, 1, 2}, selected({2, 1, 2})), (Context{2, 0, 2}));
  EXPECT_EQ(masked({2, 1, 2, 1}, streaming({2, 1, 2, 1})), (Context{2, 0, 0, 1}));
  for (const model::Toy& shown : toys_of(method("sparse-shared"))) {
    const Exact distance = distance_with(method("sparse-shared"), shown, "fresh");
    // Rows of the last token only: it is always seen, so that toy shows nothing.
    if (shown.name == "markov")
      EXPECT_EQ(distance, 0);
    else
      EXPECT_GT(distance, 0) << shown.name;
  }
}

// The first token is right in any class, and so is everything when nothing is drafted.
TEST(SparseTarget, SharesNothingWithoutADraft) {
  law::Decoding decoding = method("sparse-shared").make(model::toy("full-memory"));
  EXPECT_EQ(law::sequence_distance(decoding, 1), 0);
  decoding.draft_count = 0;
  EXPECT_EQ(law::sequence_distance(decoding, 3), 0);
}

}  // namespace
}  // namespace draftproof::reference::draft
