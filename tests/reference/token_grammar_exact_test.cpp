// Grammars of a vocabulary: which sequences of tokens they allow, against every sequence there is;
// that nobody is ever stuck in one; and tokens that cross what a grammar is made of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>

#include "reference/error.h"
#include "reference/model/json_grammar.h"
#include "reference/model/regular_expression.h"
#include "reference/model/token_grammar.h"
#include "tests/reference/naive_json.h"
#include "tests/reference/naive_matcher.h"

namespace draftproof::reference::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::NaiveJson;
using tests::NaiveMatcher;
using Tokens = std::vector<Token>;

std::vector<Tokens> sequences(Token vocab_size, std::size_t length_max) {
  std::vector<Tokens> all = {{}};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (Token token = 0; token < vocab_size && all[i].size() < length_max; ++token) {
      all.push_back(all[i]);
      all.back().push_back(token);
    }
  return all;
}

/// "a", "b", "ab", "ba", "b" again, the end, and a special token that is no end.
Spelling overlapping() { return Spelling({"a", "b", "ab", "ba", "b", "", ""}, {5, 6}); }
constexpr Token kEnd = 5;

/// What a grammar of `expression` allows: fronts of sequences, of up to `length_max` tokens before
/// the end, whose text the naive matcher accepts.
std::set<Tokens> allowed_by_definition(std::string_view expression, std::size_t length_max) {
  std::set<Tokens> fronts;
  for (Tokens tokens : sequences(kEnd, length_max)) {
    if (!NaiveMatcher::matches(expression, overlapping().text_of(tokens))) continue;
    tokens.push_back(kEnd);
    for (std::size_t size = 0; size <= tokens.size(); ++size)
      fronts.insert(Tokens(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(size)));
  }
  return fronts;
}

/// Sequences of up to `length_max` tokens that only one of the two allows.
std::size_t difference_count(const Grammar& grammar, std::string_view expression,
                             std::size_t length_max) {
  // No text below is finished later than three tokens behind any front of one.
  const std::set<Tokens> allowed = allowed_by_definition(expression, length_max + 3);
  std::size_t count = 0;
  for (const Tokens& tokens : sequences(7, length_max)) {
    const bool has_early_end =
        std::find(tokens.begin(), tokens.end(), kEnd) < tokens.end() - (tokens.empty() ? 0 : 1);
    if (!has_early_end) count += grammar.behind(tokens).has_value() != allowed.contains(tokens);
  }
  return count;
}

TEST(TokenGrammar, AllowsExactlyTheFrontsOfSequencesThatSpellATextOfIt) {
  for (const char* expression : {"", "a", "ab", "ab|ba", "(ab)*", "a*b", "abba|ab", "(a|b){1,3}",
                                 "aab?|c", "(ab|c)*a", "ac|b", "b(ab)?", "a+(ba)?"})
    EXPECT_EQ(difference_count(token_grammar(regular_expression(expression), overlapping(), kEnd),
                               expression, 3),
              0u)
        << expression;
}

TEST(TokenGrammar, TheComparisonNoticesAnotherGrammar) {
  const Grammar grammar = token_grammar(regular_expression("(ab)*"), overlapping(), kEnd);
  for (const char* other : {"(ab)+", "(ab|b)*", "(ab){0,2}", "a*"})
    EXPECT_GT(difference_count(grammar, other, 3), 0u) << other;
}

TEST(TokenGrammar, PrunesWhatOnlyBytesCouldFinish) {
  // Nothing spells d, so "ac" is a dead end though the automaton lives behind it.
  const Spelling spelling({"a", "b", "c", "ac", ""}, {4});
  const Grammar grammar = token_grammar(regular_expression("ab|acd"), spelling, 4);
  EXPECT_THAT(grammar.allowed(grammar.start()), ElementsAre(true, false, false, false, false));
  EXPECT_THAT(grammar.mask_behind(Tokens{0}), ElementsAre(false, true, false, false, false));
  EXPECT_EQ(grammar.behind(Tokens{0, 2}), std::nullopt);
  const Spelling all({"a", "b", "c", "ac", "", "d"}, {4});
  const Grammar whole = token_grammar(regular_expression("ab|acd"), all, 4);
  EXPECT_TRUE(whole.behind(Tokens{0, 2, 5, 4}) && whole.behind(Tokens{3, 5, 4}));
}

TEST(TokenGrammar, EndsWhereTheTextMayEndAndAllowsNothingElseBehind) {
  const Grammar grammar = token_grammar(regular_expression("a+"), overlapping(), kEnd);
  EXPECT_FALSE(grammar.allows(grammar.start(), kEnd));
  const auto finished = grammar.behind(Tokens{0, kEnd});
  ASSERT_TRUE(finished);
  EXPECT_EQ(grammar.behind(Tokens{0, 0, kEnd, kEnd}), finished);
  EXPECT_THAT(grammar.allowed(*finished),
              ElementsAre(false, false, false, false, false, true, false));
}

TEST(TokenGrammar, LeadsTokensOfOneTextToOneState) {
  const Grammar grammar = token_grammar(regular_expression("(ab|b)*"), overlapping(), kEnd);
  EXPECT_EQ(grammar.behind(Tokens{0, 1}), grammar.behind(Tokens{0, 4}));
  EXPECT_EQ(grammar.behind(Tokens{0, 1}), grammar.behind(Tokens{2}));
}

TEST(TokenGrammar, MasksEveryNodeOfATreeByItsOwnPath) {
  // NVIDIA/TensorRT-LLM#18892: "ab" or "cd" with the tree {a,c} x {b,d}.
  const Spelling spelling = letters_spelling(5, {4});
  const Grammar grammar = token_grammar(regular_expression("ab|cd"), spelling, 4);
  EXPECT_THAT(grammar.mask_behind(Tokens{0}), ElementsAre(false, true, false, false, false));
  EXPECT_THAT(grammar.mask_behind(Tokens{2}), ElementsAre(false, false, false, true, false));
  EXPECT_THAT(grammar.mask_behind(Tokens{0, 1}), ElementsAre(false, false, false, false, true));
  EXPECT_EQ(grammar.behind(Tokens{0, 3}), std::nullopt);
  EXPECT_EQ(grammar.behind(Tokens{2, 1}), std::nullopt);
  EXPECT_EQ(grammar.behind(Tokens{2, 3}), grammar.behind(Tokens{0, 1}));
}

/// Tokens from each state to the end, the least number; kRefused where there is no way.
std::vector<int> distances_to_end(const Grammar& grammar, int state_count) {
  std::vector<int> distance(static_cast<std::size_t>(state_count), Grammar::kRefused);
  distance.back() = 0;
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (int state = 0; state < state_count; ++state)
      for (Token token = 0; token < static_cast<Token>(grammar.vocab_size()); ++token) {
        if (!grammar.allows(state, token)) continue;
        const int behind = distance[static_cast<std::size_t>(grammar.next(state, token))];
        int& known = distance[static_cast<std::size_t>(state)];
        if (behind == Grammar::kRefused || (known != Grammar::kRefused && known <= behind + 1))
          continue;
        known = behind + 1;
        has_changed = true;
      }
  }
  return distance;
}

/// One more than the largest state that the start leads to.
int state_count(const Grammar& grammar) {
  std::set<int> known = {grammar.start()};
  std::deque<int> open = {grammar.start()};
  for (; !open.empty(); open.pop_front())
    for (Token token = 0; token < static_cast<Token>(grammar.vocab_size()); ++token)
      if (const int to = grammar.next(open.front(), token);
          to != Grammar::kRefused && known.insert(to).second)
        open.push_back(to);
  return *known.rbegin() + 1;
}

/// Random tokens among those allowed, `length` of them at most, then the shortest way to the end.
Tokens walk(const Grammar& grammar, const std::vector<int>& distances, std::size_t length,
            std::uint64_t& seed) {
  Tokens tokens;
  int state = grammar.start();
  while (distances[static_cast<std::size_t>(state)] > 0) {
    std::vector<Token> choices;
    for (Token token = 0; token < static_cast<Token>(grammar.vocab_size()); ++token) {
      const int to = grammar.next(state, token);
      const bool is_on_the_way =
          to != Grammar::kRefused &&
          distances[static_cast<std::size_t>(to)] == distances[static_cast<std::size_t>(state)] - 1;
      if (tokens.size() < length ? to != Grammar::kRefused : is_on_the_way)
        choices.push_back(token);
    }
    if (choices.empty()) ADD_FAILURE() << "stuck in state " << state;
    if (choices.empty()) return tokens;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    tokens.push_back(choices[(seed >> 33) % choices.size()]);
    state = grammar.next(state, tokens.back());
  }
  return tokens;
}

template <typename Accepts>
void expect_never_stuck(const Grammar& grammar, const Spelling& spelling, Accepts accepts) {
  const std::vector<int> distances = distances_to_end(grammar, state_count(grammar));
  EXPECT_THAT(distances, testing::Each(testing::Ge(0)));
  std::uint64_t seed = 5;
  for (std::size_t length = 0; length < 200; ++length) {
    const std::string text = spelling.text_of(walk(grammar, distances, length, seed));
    EXPECT_TRUE(accepts(text)) << text;
  }
}

JsonSchema person() {
  using Type = JsonSchema::Type;
  return {
      .type = Type::kObject,
      .properties = {
          {"id", {.type = Type::kInteger}},
          {"kind", {.type = Type::kEnum, .values = {"\"a\"", "\"ab\"", "null"}}},
          {"tags", {.type = Type::kArray, .items = {{.type = Type::kString}}, .items_max = 3}},
          {"at",
           {.type = Type::kObject,
            .properties = {{"x", {.type = Type::kNumber}}, {"ok", {.type = Type::kBoolean}}}}}}};
}

TEST(TokenGrammar, NobodyIsEverStuckAndEveryWalkEndsInATextOfTheGrammar) {
  const std::string expression = "(a(b|c)*d){2}|(c?a){3,}b";
  const Spelling letters = letters_spelling(40, {0});
  expect_never_stuck(
      token_grammar(regular_expression(expression), letters, 0), letters,
      [&](const std::string& text) { return NaiveMatcher::matches(expression, text); });
  for (const std::size_t vocab_size : {kJsonSpellingMin + 1, std::size_t{200}}) {
    const auto end = static_cast<Token>(vocab_size - 1);
    const Spelling json = json_spelling(vocab_size, {end});
    expect_never_stuck(token_grammar(json_automaton(2), json, end), json,
                       [](const std::string& text) { return NaiveJson::accepts(text, 2); });
    expect_never_stuck(token_grammar(json_automaton(1, JsonWhitespace::kAny), json, end), json,
                       [](const std::string& text) { return NaiveJson::accepts(text, 1, true); });
    expect_never_stuck(token_grammar(schema_automaton(person()), json, end), json,
                       [](const std::string& text) {
                         return NaiveJson::accepts(text, 2) && text.starts_with("{\"id\":") &&
                                text.find(",\"kind\":") < text.find(",\"at\":{\"x\":");
                       });
  }
}

/// Every way to spell `text`.
std::vector<Tokens> spellings_of(const Spelling& spelling, const std::string& text) {
  if (text.empty()) return {{}};
  std::vector<Tokens> all;
  for (std::size_t size = 1; size <= text.size(); ++size)
    for (const Token token : spelling.tokens_of(text.substr(0, size)))
      for (Tokens rest : spellings_of(spelling, text.substr(size))) {
        rest.insert(rest.begin(), token);
        all.push_back(std::move(rest));
      }
  return all;
}

TEST(TokenGrammar, TakesEveryTokenThatCrossesPartsOfJsonAndEndsInOneState) {
  const Spelling spelling = json_spelling(100, {99});
  const std::string text = "{\"id\":true,\"a\":\"b\"}";
  const std::vector<Tokens> all = spellings_of(spelling, text);
  EXPECT_GT(all.size(), 100u);
  for (const char* crossing : {"\":", "\",", "\"}", "{\"", "\":\"", "id\":", ",\"", "\"a"})
    EXPECT_TRUE(std::any_of(all.begin(), all.end(),
                            [&](const Tokens& tokens) {
                              return std::count(tokens.begin(), tokens.end(),
                                                spelling.tokens_of(crossing).at(0)) > 0;
                            }) == (text.find(crossing) < text.size()))
        << crossing;
  const JsonSchema schema{.type = JsonSchema::Type::kObject,
                          .properties = {{"id", {.type = JsonSchema::Type::kBoolean}},
                                         {"a", {.type = JsonSchema::Type::kString}}}};
  for (const ByteAutomaton& automaton : {json_automaton(1), schema_automaton(schema)}) {
    const Grammar grammar = token_grammar(automaton, spelling, 99);
    std::set<std::optional<int>> states;
    for (Tokens tokens : all) {
      tokens.push_back(99);
      states.insert(grammar.behind(tokens));
    }
    EXPECT_THAT(states, ElementsAre(testing::Ne(std::nullopt)));
    // `",` closes a string and goes on to a name: not behind the last property of a schema.
    EXPECT_EQ(grammar.behind(spellings_of(spelling, "{\"id\":true,,").at(0)), std::nullopt);
  }
}

std::string refusal_of(const ByteAutomaton& automaton, const Spelling& spelling, Token end_token) {
  try {
    token_grammar(automaton, spelling, end_token);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "not refused";
}

TEST(TokenGrammar, IsRefusedWhereNothingSpellsItOrItHasNoEndOrNoBounds) {
  const ByteAutomaton z = regular_expression("z|ab");
  const Spelling letters = letters_spelling(4, {3});
  EXPECT_EQ(refusal_of(z, letters, 3), "not refused");
  EXPECT_THAT(refusal_of(regular_expression("z|ad"), letters, 3),
              HasSubstr("grammar: no sequence of tokens spells a text of the grammar; spell"));
  EXPECT_THAT(refusal_of(z, letters, 4), HasSubstr("end token 4 is outside the vocabulary of 4"));
  EXPECT_THAT(refusal_of(z, letters, -1), HasSubstr("end token -1 is outside"));
  EXPECT_THAT(refusal_of(z, letters, 1), HasSubstr("is no special one: its text is 'b'"));
  EXPECT_THAT(refusal_of(regular_expression("a{1000}"), letters_spelling(40'000, {3}), 3),
              HasSubstr("more than 209 states over a vocabulary of 40000"));
}

}  // namespace
}  // namespace draftproof::reference::model
