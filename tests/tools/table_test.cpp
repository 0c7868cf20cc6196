// Tables and wrapped lines. Goal: nothing is lost or misaligned, whatever the cells hold.
#include "tools/report/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace draftproof::tools::report {
namespace {

using testing::ElementsAre;

TEST(Wrapped, BreaksAtSpacesAndLosesNoWord) {
  EXPECT_THAT(wrapped("aa bb cc", 5), ElementsAre("aa bb", "cc"));
  EXPECT_THAT(wrapped("a\nb c", 80), ElementsAre("a", "b c"));
  EXPECT_THAT(wrapped("", 5), ElementsAre(""));
}

TEST(Wrapped, KeepsTheIndentOfALine) {
  EXPECT_THAT(wrapped("a\n  bb cc", 5), ElementsAre("a", "  bb", "  cc"));
}

TEST(Wrapped, KeepsAWordThatIsWiderThanTheLine) {
  EXPECT_THAT(wrapped("a 1234567890 b", 4), ElementsAre("a", "1234567890", "b"));
}

TEST(Grouped, SeparatesThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(18432), "18 432");
  EXPECT_EQ(grouped(1234567), "1 234 567");
}

TEST(Width, CountsCharactersAndNotBytes) { EXPECT_EQ(width_of("≤ 2⁻⁶⁴"), 6u); }

TEST(Table, AlignsColumnsAndContinuesLongCells) {
  Table table({{"name", Align::kLeft, 6}, {"count", Align::kRight}});
  table.add({"one two", "7"});
  EXPECT_EQ(table.text(),
            "| name | count |\n"
            "|------|------:|\n"
            "| one  |     7 |\n"
            "| two  |       |\n");
}

TEST(Table, EscapesPipesInMarkdown) {
  Table table({{"law"}});
  table.add({"P(a | b)"});
  EXPECT_THAT(table.markdown(), testing::HasSubstr("| P(a \\| b) |"));
}

TEST(Table, RefusesARowOfAnotherWidth) {
  Table table({{"one"}, {"two"}});
  EXPECT_THROW(table.add({"only one"}), std::logic_error);
}

}  // namespace
}  // namespace draftproof::tools::report
