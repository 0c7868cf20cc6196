// Grammars: states, masks and what is no grammar.
#include "reference/model/grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/error.h"

namespace draftproof::reference::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// (0 1)*: 0 and 1 in turn, 2 never.
Grammar in_turn() {
  return Grammar(
      {{1, Grammar::kRefused, Grammar::kRefused}, {Grammar::kRefused, 0, Grammar::kRefused}});
}

TEST(Grammar, LeadsFromStateToStateAndRefuses) {
  const Grammar grammar = in_turn();
  EXPECT_EQ(grammar.behind({}), 0);
  EXPECT_EQ(grammar.behind(std::vector<Token>{0}), 1);
  EXPECT_EQ(grammar.behind(std::vector<Token>{0, 1, 0}), 1);
  EXPECT_EQ(grammar.behind(std::vector<Token>{0, 0}), std::nullopt);
  EXPECT_EQ(grammar.behind(std::vector<Token>{2, 1}), std::nullopt);
  EXPECT_EQ(grammar.behind(1, std::vector<Token>{1}), 0);
}

TEST(Grammar, MasksARowByTheStateBehindItsTokens) {
  const Grammar grammar = in_turn();
  EXPECT_THAT(grammar.allowed(1), ElementsAre(false, true, false));
  EXPECT_THAT(grammar.mask_behind(std::vector<Token>{0}), ElementsAre(false, true, false));
  EXPECT_THAT(grammar.mask_behind(std::vector<Token>{0, 1}), ElementsAre(true, false, false));
  EXPECT_THAT(grammar.mask_behind(std::vector<Token>{1}), testing::Each(true));
}

/// The texts "0 2" and "1 3", NVIDIA/TensorRT-LLM#18892's "ab" and "cd" (there a=0, c=1, b=2, d=3).
Grammar either_of_two_pairs() {
  constexpr auto kNo = Grammar::kRefused;
  return Grammar({{1, 2, kNo, kNo}, {kNo, kNo, 3, kNo}, {kNo, kNo, kNo, 3}, {kNo, kNo, kNo, kNo}});
}

TEST(Grammar, GivesEveryNodeOfATreeTheStateOfItsOwnPath) {
  const Grammar grammar = either_of_two_pairs();
  // The tree {0, 1} x {2, 3}: each node is masked by the path to it.
  const auto state_of = [&](const std::vector<Token>& path) {
    return grammar.behind(path).value_or(Grammar::kRefused);
  };
  EXPECT_EQ(state_of({0}), 1);
  EXPECT_EQ(state_of({1}), 2);
  EXPECT_EQ(state_of({0, 2}), 3);
  EXPECT_EQ(state_of({0, 3}), Grammar::kRefused);
  EXPECT_EQ(state_of({1, 2}), Grammar::kRefused);
  EXPECT_EQ(state_of({1, 3}), 3);
  // As if the nodes were a chain, which is the fault: everything behind the first is refused.
  EXPECT_EQ(state_of({0, 1}), Grammar::kRefused);
  EXPECT_EQ(state_of({0, 1, 2}), Grammar::kRefused);
  EXPECT_THAT(grammar.mask_behind(std::vector<Token>{0}), ElementsAre(false, false, true, false));
  EXPECT_THAT(grammar.mask_behind(std::vector<Token>{1}), ElementsAre(false, false, false, true));
  EXPECT_THAT(grammar.mask_behind(std::vector<Token>{0, 3}), testing::Each(true));
}

TEST(Grammar, MayStartInAnyState) {
  const Grammar grammar({{Grammar::kRefused, 1}, {0, Grammar::kRefused}}, 1);
  EXPECT_THAT(grammar.mask_behind({}), ElementsAre(true, false));
}

TEST(Grammar, IsRefusedWhereItLeadsNowhere) {
  const auto message = [](std::vector<std::vector<int>> next, int start) -> std::string {
    try {
      Grammar(std::move(next), start);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message({{0}}, 0), "");
  EXPECT_THAT(message({}, 0), HasSubstr("no state"));
  EXPECT_THAT(message({{}}, 0), HasSubstr("no token"));
  EXPECT_THAT(message({{0}}, 1), HasSubstr("starts in state 1"));
  EXPECT_THAT(message({{0}}, -1), HasSubstr("starts in state -1"));
  EXPECT_THAT(message({{0, 1}, {0}}, 0), HasSubstr("state 1 has 1 transitions"));
  EXPECT_THAT(message({{0, 2}, {0, 0}}, 0), HasSubstr("state 0 leads to 2"));
  EXPECT_THAT(message({{0, -2}}, 0), HasSubstr("state 0 leads to -2"));
}

}  // namespace
}  // namespace draftproof::reference::model
