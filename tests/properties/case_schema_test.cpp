// The published schema of cases says what the reader reads and the writer writes.
#include <gtest/gtest.h>

#include <fstream>

#include "properties/case.h"
#include "properties/generators.h"
#include "properties/number_text.h"
#include "tests/tools/schema.h"

namespace draftproof::properties {
namespace {

Json schema() {
  std::ifstream file(DRAFTPROOF_SOURCE_DIR "/tools/schema/case.schema.json");
  return Json::parse(file);
}

TEST(CaseSchema, ItsExampleIsACase) {
  const Case value = case_from_json(schema()["examples"][0].dump(), "example");
  EXPECT_EQ(value.property, "nothing_outside_the_support");
  EXPECT_EQ(value.expected.size(), 1u);
}

TEST(CaseSchema, EveryWrittenCaseConformsAndAMisspeltOneDoesNot) {
  if (!tests::can_validate()) GTEST_SKIP() << "python3-jsonschema is missing";
  CaseShape shape;
  shape.property = "x";
  shape.vocab_size_max = 200;
  shape.with_unjudgeable = true;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    Case value = nasty_case(shape, seed);
    if (seed == 2) value.batch.preset.greedy_below = 0.5;
    value.expected.resize(value.batch.requests.size());
    if (seed == 2 && !value.expected.empty()) {
      value.batch.requests[0].iteration = 5;
      value.expected[0].accepted_nodes = {0};
    }
    EXPECT_EQ(tests::schema_complaint("case.schema.json", to_json(value)), "");
  }
  Json wrong = schema()["examples"][0];
  wrong["vocab"] = 2;
  EXPECT_NE(tests::schema_complaint("case.schema.json", wrong.dump()), "");
}

}  // namespace
}  // namespace draftproof::properties
