// Sizes predicted before a walk are never below what the walk then costs, for every rule there is,
// and a walk beyond its budget names a size that stays within it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/error.h"
#include "reference/law/walk_size.h"
#include "tests/reference/naive_decoding.h"
#include "tests/reference/tiny_families.h"

namespace draftproof::reference::law {
namespace {

ModelCase case_for(const LawRule& rule, int vocab_size, int draft_count) {
  ModelCase tiny = family_case(Family::kFullMemory, vocab_size, draft_count, 8);
  if (rule.shape == TakenShape::kOneLevel) tiny.parents = tree_parents({draft_count});
  if (rule.shape == TakenShape::kTree && draft_count > 2) tiny.parents = tree_parents({2, 1});
  if (!rule.siblings.empty()) tiny.siblings = rule.siblings.front();
  return tiny;
}

TEST(WalkSize, IsAnUpperBoundForEveryRule) {
  for (const LawRule& rule : law_rules()) {
    for (int vocab_size : {2, 3}) {
      for (int draft_count : {1, 2, 3}) {
        if (vocab_size == 3 && draft_count == 3) continue;
        const ModelCase tiny = case_for(rule, vocab_size, draft_count);
        WalkShape shape;
        shape.vocab_size = vocab_size;
        shape.node_count = tiny.draft_count();
        shape.horizon = 2;
        shape.stops_at_first_failure = rule.is_prefix_adapted;
        shape.is_chain = rule.shape == TakenShape::kChain;
        WalkCost cost;
        sequence_law(decoding_of(tiny, rule.make(checked(rule, {}))), shape.horizon, &cost);
        EXPECT_LE(static_cast<double>(cost.branches), branches_at_most(shape))
            << rule.name << ", vocabulary " << vocab_size << ", " << draft_count << " drafted";
      }
    }
  }
}

TEST(WalkSize, IsAnUpperBoundWhereCoinsRecurAndInBatches) {
  for (const char* scheme : {"position-keyed", "offset-keyed"}) {
    for (int horizon : {1, 2, 3}) {
      Decoding tiny = decoding_of(family_case(Family::kFullMemory, 2, 2, 8), longest_passing);
      tiny.coins = coin_scheme(scheme);
      WalkShape shape;
      shape.node_count = 2;
      shape.horizon = horizon;
      shape.stops_at_first_failure = false;
      shape.states_meet = false;
      WalkCost cost;
      sequence_law(tiny, horizon, &cost);
      EXPECT_LE(static_cast<double>(cost.branches), branches_at_most(shape)) << scheme;
    }
  }
  WalkShape shape;
  shape.horizon = 2;
  shape.request_count = 2;
  const Decoding tiny = decoding_of(family_case(Family::kFullMemory, 2, 1, 8), chain_rule());
  WalkCost cost;
  batch_law({tiny, tiny}, 2, &cost);
  EXPECT_LE(static_cast<double>(cost.branches), branches_at_most(shape));
}

// Full support, no zeros, a draft that differs everywhere: 2^1 drafts; each may be kept, then 2
// bonus tokens, or rejected with one residual token. Over-proposed tokens only can be rejected, so
// the branches are 2 x 2 + 1, where the bound says 2 x 2 x 2.
TEST(WalkSize, IsNotFarOff) {
  WalkCost cost;
  emission_law(decoding_of(family_case(Family::kFullMemory, 2, 1, 8), chain_rule()), &cost);
  EXPECT_EQ(cost.branches, 5u);
  EXPECT_EQ(branches_at_most({}), 8);
}

TEST(WalkSize, OfFittingSizesFitsAndTheNextDoesNot) {
  WalkShape shape;
  shape.vocab_size = 5;
  shape.node_count = 4;
  shape.horizon = 6;
  for (double budget : {1e3, 1e5, 1e7}) {
    const FittingSizes sizes = fitting_sizes(shape, budget);
    const auto check = [&](int WalkShape::*member, std::optional<int> size) {
      WalkShape changed = shape;
      if (size) {
        changed.*member = *size;
        EXPECT_LE(branches_at_most(changed), budget);
      }
      changed.*member = size.value_or(member == &WalkShape::vocab_size ? 1 : 0) + 1;
      if (changed.*member <= shape.*member) {
        EXPECT_GT(branches_at_most(changed), budget);
      }
    };
    check(&WalkShape::vocab_size, sizes.vocab_size);
    check(&WalkShape::node_count, sizes.node_count);
    check(&WalkShape::horizon, sizes.horizon);
  }
}

TEST(WalkSize, BeyondTheBudgetIsRefusedWithASizeThatWorks) {
  Decoding tiny = decoding_of(family_case(Family::kFullMemory, 3, 2, 8), chain_rule());
  WalkCost cost;
  cost.branches_max = 500;
  try {
    sequence_law(tiny, 5, &cost);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    // 3^3 x 4 branches from 1 + 3 sequences at most; from 1 + 3 + 9 it is more than 500.
    EXPECT_THAT(error.what(), testing::HasSubstr("more than 500 branches; a horizon of 2"));
  }
  WalkCost within;
  within.branches_max = 500;
  EXPECT_EQ(sequence_distance(tiny, 2), 0);
  EXPECT_NO_THROW(sequence_law(tiny, 2, &within));
}

TEST(WalkSize, OfIterationsIsThatOfAllTheTokensTheyEmit) {
  // Two iterations of 3 tokens each: the second may begin behind 3, which a horizon of 4 reaches.
  Decoding tiny = decoding_of(family_case(Family::kFullMemory, 3, 2, 8), chain_rule());
  WalkCost cost;
  cost.branches_max = 500;
  try {
    history_law(tiny, 2, &cost);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("more than 500 branches; a horizon of 2"));
  }
}

TEST(WalkSize, IsAskedForWhenTheTimeIsUp) {
  Decoding tiny = decoding_of(family_case(Family::kFullMemory, 3, 2, 8), chain_rule());
  WalkCost cost;
  cost.is_too_long = [] { return true; };
  try {
    sequence_law(tiny, 5, &cost);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), testing::HasSubstr("more than 64 branches; "));
  }
}

}  // namespace
}  // namespace draftproof::reference::law
