// The rules on trees, walked branch by branch: the law is the target's exactly, and the expected
// length is the rule's own formula.
#include <gtest/gtest.h>

#include "reference/error.h"
#include "tests/reference/tree_cases.h"

namespace draftproof::reference::law {
namespace {

const std::vector<std::string> kTreeRules = {
    "target-only", "tree-greedy",        "with-replacement", "without-replacement",
    "k-seq",       "greedy-multi-draft", "traversal",        "lookahead"};

class TreeRule : public testing::TestWithParam<std::string> {
 protected:
  const LawRule& rule() const { return law_rule(GetParam()); }
  RuleFunction function() const { return rule().make(checked(rule(), {})); }
  void expect_law_and_length(const ModelCase& tiny) const {
    SCOPED_TRACE(described(tiny));
    const Measured got = measured(tiny, function(), rule().decoded);
    EXPECT_EQ(got.distance, 0);
    EXPECT_EQ(got.emitted, rule().expected_emitted(tiny, checked(rule(), {})));
  }
};

TEST_P(TreeRule, HasTheTargetsLawExactlyAndItsFormulasLength) {
  for (const ModelCase& tiny : cases_for(rule())) expect_law_and_length(tiny);
}

TEST_P(TreeRule, HasBothWhenDraftsAreReportedOneHot) {
  for (SiblingDraw siblings : siblings_of(rule())) {
    for (const std::vector<int>& shape : {std::vector{1}, {2, 1}, {1, 2}}) {
      ModelCase tiny = tree_case(Family::kFullMemory, 3, shape, siblings, 9);
      tiny.report = DraftReport::kOneHot;
      // k-seq needs one row for all siblings: one-hot rows of unlike tokens are none.
      if (GetParam() == "k-seq" && shape != std::vector{1}) continue;
      expect_law_and_length(tiny);
    }
  }
}

TEST_P(TreeRule, KeepsItsLawWithPositionKeyedCoinsIffItIsPrefixAdapted) {
  ModelCase tiny = tree_case(Family::kFullMemory, 2, {2, 1}, siblings_of(rule()).front(), 5);
  if (rule().decoded == DecodedLaw::kGreedy) tiny.target = model::greedy_model(tiny.target);
  Decoding decoding = decoding_of(tiny, function());
  EXPECT_EQ(sequence_distance(decoding, 3), 0);
  decoding.coins = coin_scheme("position-keyed");
  const Exact distance = sequence_distance(decoding, 3);
  if (rule().is_prefix_adapted)
    EXPECT_EQ(distance, 0);
  else
    EXPECT_GT(distance, 0);
}

INSTANTIATE_TEST_SUITE_P(All, TreeRule, testing::ValuesIn(kTreeRules), [](const auto& param) {
  std::string name = param.param;
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace draftproof::reference::law
