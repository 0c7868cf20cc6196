// The two truths of a method, on every toy that it names: its sequences have the target's law
// exactly, with coins as engines key them, and every iteration emits as many tokens as the method's
// own formula says. The second is what sees a drafter that drafts from the wrong place.
#pragma once

#include <gtest/gtest.h>

#include <set>

#include "reference/draft/method.h"

namespace draftproof::reference::draft {

inline constexpr int kHorizon = 3;
inline constexpr int kIterations = 2;

inline std::vector<model::Toy> toys_of(const Method& method) {
  std::vector<model::Toy> toys;
  for (const std::string& name : method.toys) toys.push_back(model::toy(name));
  return toys;
}

inline Exact distance_with(const Method& method, const model::Toy& toy, std::string_view scheme) {
  law::Decoding decoding = method.make(toy);
  decoding.coins = law::coin_scheme(scheme);
  return law::sequence_distance(decoding, kHorizon);
}

/// What iteration k = 1 .. kIterations emits by the formula: its value behind every context that
/// the iteration may begin with, weighted.
inline std::vector<Exact> expected_by_formula(const Method& method, const model::Toy& toy) {
  const law::Decoding decoding = method.make(toy);
  std::vector<Exact> expected;
  for (int done = 0; done < kIterations; ++done) {
    std::map<std::vector<Token>, Exact> contexts;
    for (const auto& [history, probability] : law::history_law(decoding, done))
      contexts[history.tokens] += probability;
    Exact sum = 0;
    for (const auto& [tokens, probability] : contexts) {
      model::Toy longer = toy;
      longer.prompt = decoding.prompt;
      longer.prompt.insert(longer.prompt.end(), tokens.begin(), tokens.end());
      sum += probability * method.expected_emitted(longer);
    }
    expected.push_back(sum);
  }
  return expected;
}

inline void expect_both_truths(const std::vector<Method>& methods) {
  for (const Method& method : methods) {
    SCOPED_TRACE(method.name);
    EXPECT_EQ(method.toys.size(), 5u);
    for (const model::Toy& toy : toys_of(method)) {
      SCOPED_TRACE(toy.name);
      if (method.kind == law::RuleKind::kLossless) {
        EXPECT_EQ(distance_with(method, toy, "fresh"), 0);
        EXPECT_EQ(distance_with(method, toy, "position-keyed"), 0);
      }
      const auto enumerated = law::expected_by_iteration(method.make(toy), kIterations);
      const std::vector<Exact> formula = expected_by_formula(method, toy);
      for (int k = 0; k < kIterations; ++k)
        EXPECT_EQ(enumerated[k], formula[k]) << "iteration " << k;
    }
  }
}

/// Drafts of no token, requests that end inside a draft, and a second request beside it.
inline void expect_exact_at_the_ends(const std::vector<Method>& methods) {
  for (const Method& method : methods) {
    if (method.kind != law::RuleKind::kLossless) continue;
    SCOPED_TRACE(method.name);
    law::Decoding decoding = method.make(model::toy(method.toys.front()));
    law::Decoding ended = decoding;
    ended.limits.eos = 1;
    ended.limits.token_count_max = 3;
    EXPECT_EQ(law::sequence_distance(ended, 3), 0);
    EXPECT_EQ(law::total_variation(law::batch_law({decoding, ended}, 2),
                                   law::batch_target_law({decoding, ended}, 2)),
              0);
    decoding.draft_count = 0;
    EXPECT_EQ(law::sequence_distance(decoding, 2), 0);
    EXPECT_EQ(law::expected_by_iteration(decoding, 1).front(), Exact(1));
  }
}

/// Nothing that a table about methods would print is empty.
inline void expect_told(const std::vector<Method>& methods) {
  std::set<std::string> names;
  for (const Method& method : methods) {
    SCOPED_TRACE(method.name);
    EXPECT_TRUE(names.insert(method.name).second);
    for (const std::string* text :
         {&method.statement, &method.citation, &method.reads, &method.reported, &method.rule,
          &method.conditions, &method.provenance.state, &method.provenance.engines,
          &method.provenance.weights, &method.provenance.cost_model,
          &method.provenance.batch_kernel, &method.provenance.graph_rollback})
      EXPECT_FALSE(text->empty());
  }
}

}  // namespace draftproof::reference::draft
