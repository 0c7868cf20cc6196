// JSON nesting. Goal: what would take the stack is refused wherever a text of somebody else is read
// as a transcript or a case, and nothing else is.
#include "properties/json_nesting.h"

#include <gtest/gtest.h>

#include <string>

#include "properties/case.h"
#include "properties/transcript.h"
#include "reference/error.h"

namespace draftproof::properties {
namespace {

std::string brackets(std::size_t count) {
  return std::string(count, '[') + std::string(count, ']');
}

TEST(JsonNesting, IsCountedWhereBracketsOpenAndClose) {
  EXPECT_FALSE(nests_too_deep(brackets(kNestingMax)));
  EXPECT_TRUE(nests_too_deep(brackets(kNestingMax + 1)));
  std::string row = "[";
  for (int i = 0; i < 1000; ++i) row += "[],{},";
  EXPECT_FALSE(nests_too_deep(row + "0]"));
  EXPECT_FALSE(
      nests_too_deep("\"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\""))
      << "brackets of a text";
  EXPECT_TRUE(nests_too_deep("\"\\\\\"" + brackets(1000))) << "behind a text that ends";
  EXPECT_FALSE(nests_too_deep("]]]]"));
  EXPECT_FALSE(nests_too_deep(""));
}

TEST(JsonNesting, GivesTheValueOrNone) {
  EXPECT_EQ(json_or_discarded<nlohmann::json>("[1]"), nlohmann::json::array({1}));
  EXPECT_TRUE(json_or_discarded<nlohmann::json>("[1").is_discarded());
  EXPECT_TRUE(json_or_discarded<nlohmann::ordered_json>(brackets(200'000)).is_discarded());
}

TEST(JsonNesting, EndsNoReader) {
  const std::string deep = R"({"a": )" + brackets(200'000) + R"(, "b": 1})";
  EXPECT_THROW(transcript_from(deep, "deep.jsonl:1"), Error);
  EXPECT_THROW(case_from_json(deep, "deep.json"), Error);
}

}  // namespace
}  // namespace draftproof::properties
