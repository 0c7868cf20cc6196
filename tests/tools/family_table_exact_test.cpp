// The family table. Goal: every rule and method that the field speaks of is in it, what promises to
// be lossless is at distance exactly 0, what does not is away from it, and every closed form is the
// walked value. Method: the whole table is taken once; a row made wrong must be called wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "reference/error.h"
#include "tests/tools/schema.h"
#include "tools/draftproof/family_table.h"
#include "tools/draftproof/fault_table.h"

namespace draftproof::tools {
namespace {

using testing::HasSubstr;

FamilyRow one_row() { return family_rows(FamilyPart::kRules, "two-tokens").front(); }

// What users call speculative decoding, and under which names it is here.
void expect_every_row_of_the_field(const std::vector<FamilyRow>& rows) {
  const std::map<std::string, std::vector<std::string>> field = {
      {"greedy", {"greedy", "tree-greedy"}},
      {"token-wise chain", {"chain"}},
      {"block verification", {"block"}},
      {"target-only sampling with deterministic children", {"target-only"}},
      {"SpecInfer with and without replacement", {"with-replacement", "without-replacement"}},
      {"SpecTr k-sequence", {"k-seq"}},
      {"greedy multi-draft", {"greedy-multi-draft"}},
      {"traversal", {"traversal"}},
      {"sample-and-match", {"match"}},
      {"Gumbel-coupled", {"shared-noise"}},
      {"hierarchical", {"hierarchical", "hsd"}},
      {"typical acceptance", {"typical", "medusa-typical"}},
      {"relaxed acceptance", {"relaxed"}},
      {"SGLang thresholds", {"thresholds"}},
      {"synthetic acceptance", {"synthetic"}},
      {"judge, entropy-relaxed, always-accept", {"judge", "entropy-relaxed", "always-accept"}},
      {"external draft model", {"draft-model"}},
      {"vocabularies", {"tli", "uag", "permuted-vocabulary", "many-to-one", "padded-tail"}},
      {"lookups",
       {"ngram-vllm", "prompt-lookup", "ngram-trtllm", "ngram-simple", "ngram-map-k",
        "ngram-map-k4v", "ngram-mod", "ngram-cache", "ngram-sglang"}},
      {"suffix", {"suffix"}},
      {"Lookahead", {"lookahead"}},
      {"self-speculation", {"layerskip", "draft-verify", "swift", "kangaroo"}},
      {"Medusa", {"medusa", "medusa-chain", "medusa-2"}},
      {"EAGLE", {"eagle", "eagle-2", "eagle-3", "p-eagle"}},
      {"MTP", {"mtp", "mtp-modules", "mtp-recurrent"}},
      {"recurrent targets", {"recurrent-slots", "recurrent-replay", "recurrent-recompute"}},
      {"block drafters", {"dflash", "dspark", "domino", "pard", "diffusion"}},
      {"sparse", {"sparse-draft", "sparse-target", "sparse-shared"}},
  };
  for (const auto& [what, names] : field)
    for (const std::string& name : names)
      EXPECT_TRUE(std::any_of(rows.begin(), rows.end(),
                              [&](const FamilyRow& row) { return row.name == name; }))
          << what << ": " << name;
}

// One test, since each test is a process of its own and the table is walked once in it.
TEST(FamilyTable, KeepsEveryPromise) {
  const std::vector<FamilyRow> rows = family_rows(FamilyPart::kAll);
  expect_every_row_of_the_field(rows);
  int without_form = 0;
  for (const FamilyRow& row : rows) {
    EXPECT_EQ(row.is_lossless(), row.promise == reference::law::RuleKind::kLossless) << row.name;
    EXPECT_EQ(row.cells.size(), 5u) << row.name;
    for (const FamilyCell& cell : row.cells) {
      if (cell.formula) {
        EXPECT_EQ(*cell.formula, cell.expected) << row.name << " on " << cell.toy;
      } else {
        ++without_form;
      }
    }
    EXPECT_NE(row.conditions, "") << row.name;
    EXPECT_NE(row.provenance.state, "") << row.name;
    EXPECT_NE(row.provenance.engines, "") << row.name;
  }
  EXPECT_EQ(without_form, 10) << "hsd and fly have no closed form, on five toys each";
}

TEST(FamilyTable, CallsAWrongRowWrong) {
  FamilyRow row = one_row();
  ASSERT_TRUE(row.is_lossless() && row.formula_agrees());
  row.cells[0].distance = reference::Exact(1) / reference::Exact("1000000000000000000000");
  EXPECT_FALSE(row.is_lossless());
  EXPECT_THAT(family_text({row}, false), HasSubstr("LOSSY"));
  row.cells[0].formula = row.cells[0].expected + 1;
  EXPECT_FALSE(row.formula_agrees());
  EXPECT_THAT(family_text({row}, false), HasSubstr("DIFFERS"));
}

TEST(FamilyTable, TakesOneToyAndRefusesAnUnknownOne) {
  for (const FamilyRow& row : family_rows(FamilyPart::kRules, "two-tokens"))
    EXPECT_EQ(row.cells.size(), 1u) << row.name;
  EXPECT_THROW(family_rows(FamilyPart::kRules, "three-tokens"), Error);
}

TEST(FamilyTable, KeepsItsSchemas) {
  EXPECT_EQ(tests::schema_complaint("family.schema.json", family_json({one_row()})), "");
  const auto fault = fixtures::fault_row(fixtures::fault("recovered_from_target"));
  EXPECT_EQ(tests::schema_complaint("faults.schema.json", faults_json({fault})), "");
  EXPECT_NE(tests::schema_complaint("faults.schema.json", R"({"rows": [{}]})"), "");
}

}  // namespace
}  // namespace draftproof::tools
