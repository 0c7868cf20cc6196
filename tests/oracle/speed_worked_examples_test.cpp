// Worked examples. Goal: every published number comes out of this folder's functions, and a number
// that was not published would not.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "oracle/speed/worked_examples.h"

namespace draftproof::oracle::speed {
namespace {

TEST(WorkedExamples, AreReproducedToTheLastPublishedDigit) {
  const auto examples = worked_examples();
  EXPECT_GE(examples.size(), 40u);
  std::set<std::string> ids;
  for (const WorkedExample& example : examples) {
    EXPECT_TRUE(example.agrees()) << example.id << ": published " << example.published
                                  << ", computed " << example.computed;
    EXPECT_TRUE(ids.insert(example.id).second) << example.id;
    EXPECT_FALSE(example.source.empty() || example.given.empty() || example.quantity.empty());
  }
}

TEST(WorkedExamples, DisagreeWithANumberOffByOneUnitOfTheLastDigit) {
  for (WorkedExample example : worked_examples()) {
    // Inputs of two decimals move a factor by d log S x .01: at most a tenth of it.
    EXPECT_LT(example.high - example.low, 0.1 * example.published) << example.id;
    const double unit = std::pow(10.0, -example.decimals);
    const double slack = example.high - example.low;
    for (const double off : {-1.01 * unit - slack, 1.01 * unit + slack}) {
      WorkedExample moved = example;
      moved.published += off;
      EXPECT_FALSE(moved.agrees()) << example.id;
    }
    example.low = example.high = std::nan("");
    EXPECT_FALSE(example.agrees()) << example.id;
  }
}

}  // namespace
}  // namespace draftproof::oracle::speed
