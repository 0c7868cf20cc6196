// Drafts from hidden states: two truths each, and their structure by hand.
#include "reference/draft/eagle.h"
#include "reference/draft/eagle3.h"
#include "reference/draft/medusa.h"
#include "reference/draft/method_parts.h"
#include "tests/reference/method_truths.h"

namespace draftproof::reference::draft {
namespace {

TEST(HiddenStateMethods, KeepTheLawAndTheirExpectedLength) {
  expect_both_truths(hidden_state_methods());
}

TEST(HiddenStateMethods, AreExactAtTheEnds) { expect_exact_at_the_ends(hidden_state_methods()); }

TEST(HiddenStateMethods, SayWhereTheyAreFrom) { expect_told(hidden_state_methods()); }

/// The draft of one iteration behind a prompt, every coin 0: the first token of each row.
class FirstOfEach final : public law::Chooser {
 public:
  bool accept(const Exact& probability, const law::CoinUse&) override { return probability > 0; }
  Token draw(const LawRow& row, const law::CoinUse&) override {
    for (std::size_t token = 0; token < row.size(); ++token)
      if (row[token] > 0) return static_cast<Token>(token);
    return kPlaceholder;
  }
};

law::DraftTree drafted(const DraftFunctions& functions, const Context& context) {
  FirstOfEach chooser;
  return functions.draft({context, 2, 0}, functions.initial(context), chooser);
}

HiddenToy rows_by_newest_token(const std::vector<LawRow>& rows) {
  const auto model = model::function_model(3, [rows](const Context& context) {
    return rows[context.empty() ? 0 : static_cast<std::size_t>(context.back())];
  });
  return {model, model, {0}};
}

const std::vector<LawRow> kRows = {
    {Exact(1, 6), Exact(1, 2), Exact(1, 3)}, {Exact(1, 4), Exact(1, 4), Exact(1, 2)}, {1, 0, 0}};

TEST(Medusa, HeadsSumOutWhatLiesBetween) {
  const HeadLaw head = head_rows(rows_by_newest_token(kRows));
  // Behind 0: 1/6 of row 0, 1/2 of row 1, 1/3 of row 2.
  EXPECT_EQ(head({0}, 0), (LawRow{Exact(1, 36) + Exact(1, 8) + Exact(1, 3),
                                  Exact(1, 12) + Exact(1, 8), Exact(1, 18) + Exact(1, 4)}));
}

TEST(Medusa, TreeTakesRanksOfHeadsNotOfBranches) {
  const HeadLaw head = [](const Hidden&, int offset) {
    return offset == 0 ? LawRow{Exact(1, 5), Exact(2, 5), Exact(2, 5)} : LawRow{0, 0, 1};
  };
  const law::DraftTree tree = drafted(medusa_functions(head, sparse_choices()), {0});
  // Ranks of head 1: 1, 2 (equal, lower id first), of head 2: 2, 0.
  const std::vector<law::DraftNode> nodes = {
      {-1, 1, {}}, {-1, 2, {}}, {0, 2, {}}, {0, 0, {}}, {1, 2, {}}};
  EXPECT_EQ(tree.nodes, nodes);
}

TEST(Medusa2, IsFarFromTheOriginalAndOnItsOwnModelExactly) {
  for (const char* name : {"full-memory", "markov", "zeros"}) {
    const model::Toy& toy = model::toy(name);
    law::Decoding decoding = method("medusa-2").make(toy);
    EXPECT_EQ(law::sequence_distance(decoding, 2), 0);
    const law::SequenceLaw trained = law::target_law(*decoding.target, 2, decoding.prompt);
    decoding.target = hidden_toy(toy).target;
    // All that lies between them is what lies between the models.
    EXPECT_EQ(law::sequence_distance(decoding, 2),
              law::total_variation(trained, law::target_law(*decoding.target, 2, decoding.prompt)));
    EXPECT_GT(law::sequence_distance(decoding, 2), Exact(1, 50)) << name;
  }
}

TEST(Eagle, FeaturesBehindTheFirstArePredictions) {
  EXPECT_EQ(predicted_feature(3, {}, 2), (Hidden{2}));
  EXPECT_EQ(predicted_feature(3, {1}, 2), (Hidden{1, 2}));
  EXPECT_EQ(predicted_feature(3, {2, 2}, 0), (Hidden{1, 0}));
  EXPECT_EQ(predicted_along(3, {2, 2}, {2, 2, 0}, {1}), (Hidden{1, 1}));
  EXPECT_EQ(hidden_of({2, 2, 0, 1}), (Hidden{0, 1})) << "the target's own differs";
}

TEST(Eagle, ReportsSiblingsWithWhatIsLeftOfTheRow) {
  const law::DraftTree tree =
      drafted(eagle_tree(rows_by_newest_token(kRows), law::tree_parents({2, 1})), {0});
  const std::vector<law::DraftNode> nodes = {{-1, 0, kRows[0]},
                                             {-1, 1, {0, Exact(3, 5), Exact(2, 5)}},
                                             {0, 0, kRows[0]},
                                             {1, 0, kRows[1]}};
  EXPECT_EQ(tree.nodes, nodes);
}

TEST(Eagle2, KeepsTheLargestProductsClosedUnderParents) {
  // Behind 0: 1 (1/2), 2 (1/3). Behind 1: 2 (1/4), 0 and 1 (1/8 each). Behind 2: 0 (1/3).
  const HiddenToy toy = rows_by_newest_token(kRows);
  const std::vector<law::DraftNode> three = {{-1, 1, {}}, {-1, 2, {}}, {1, 0, {}}};
  EXPECT_EQ(drafted(dynamic_tree(toy, {}), {0}).nodes, three)
      << "1/3 of 2, 0 equals its parent, which stays before it";
  const std::vector<law::DraftNode> two = {{-1, 1, {}}, {-1, 2, {}}};
  EXPECT_EQ(drafted(dynamic_tree(toy, {2, 2, 2}), {0}).nodes, two);
  EXPECT_EQ(drafted(dynamic_tree(toy, {1, 2, 3}), {0}).nodes, two);
}

TEST(Eagle3, FusesThreeLayersAndStaysInsideItsVocabulary) {
  EXPECT_EQ(fused_taps(3, {1, 2}), (Context{1, 0, 2}));
  EXPECT_EQ(own_output(3, {1, 0, 2}, 1), (Context{2, 1, 1}));
  const model::Toy& toy = model::toy("full-memory");
  const law::Memory memory = {1, 2};
  const Context context = {1, 2, 0};
  const LawRow row = reduced_head_law(toy)({context, {}, memory});
  EXPECT_EQ(row[1], 0) << "token 1 is not in the reduced vocabulary";
  EXPECT_GT(row[2], 0);
}

TEST(HiddenState, EqualsThatOfATwinThatNeverDrafted) {
  // Behind every iteration: the state behind everything but the pending token.
  law::DraftTree tree;
  append(tree, 1, {});
  append(tree, 2, {});
  const Context before = {0, 2};
  for (const law::Decision& decision :
       {law::Decision{{}, 0}, law::Decision{{0}, 0}, law::Decision{{0, 1}, 0}}) {
    Context after = before;
    for (const Token token : law::emission_of(tree, decision).tokens) after.push_back(token);
    EXPECT_EQ(kept_hidden({before, tree, decision, after, 0}, {}), hidden_of(fed(after)));
  }
}

}  // namespace
}  // namespace draftproof::reference::draft
