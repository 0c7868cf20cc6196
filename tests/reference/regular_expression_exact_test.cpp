// Regular expressions: the automaton against a naive matcher on every text of an alphabet, and what
// is refused, with its place and its remedy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/error.h"
#include "reference/model/regular_expression.h"
#include "tests/reference/naive_matcher.h"
#include "tests/reference/texts_over.h"

namespace draftproof::reference::model {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using tests::NaiveMatcher;
using tests::texts_over;

/// Texts that the automaton and the naive matcher judge differently.
std::vector<std::string> differences(const ByteAutomaton& automaton, std::string_view expression,
                                     const std::vector<std::string>& texts) {
  std::vector<std::string> differing;
  for (const std::string& text : texts)
    if (automaton.matches(text) != NaiveMatcher::matches(expression, text))
      differing.push_back(text);
  return differing;
}

void expect_as_naive(const std::string& expression, const std::vector<std::string>& texts) {
  EXPECT_THAT(differences(regular_expression(expression), expression, texts), testing::IsEmpty())
      << expression;
}

TEST(RegularExpression, MatchesWhatANaiveMatcherMatches) {
  const auto texts = texts_over({"a", "b", "c"}, 6);
  for (const char* expression : {"",
                                 "a",
                                 "abc",
                                 "a|b",
                                 "ab|cd",
                                 "a||b",
                                 "|",
                                 "()",
                                 "(|a)b",
                                 "a*",
                                 "a+",
                                 "a?",
                                 "a{2}",
                                 "a{0}",
                                 "a{0,0}b",
                                 "a{2,}",
                                 "a{0,}b",
                                 "a{1,3}",
                                 "(ab)*",
                                 "(ab)+c?",
                                 "(a|b)*abb",
                                 "(a*)*",
                                 "(a+)+b",
                                 "(a?b?)*c",
                                 "(a|b){2,3}",
                                 "(a|ab){2}c",
                                 "(a{2}){2}",
                                 "(a{0,2}b){1,2}",
                                 "((a|b)c|a)*",
                                 "a*b*c*",
                                 "(a*|b)*",
                                 "(?:ab|c)+",
                                 ".",
                                 ".*a.",
                                 "[ab]c",
                                 "[^ab]*",
                                 "[a-b]{3}",
                                 "[^a-b]a",
                                 "(()|a)+b",
                                 "(a|b)*a(a|b){2}",
                                 "((a?){2}b){2}",
                                 "[a-cb]+",
                                 "a{2}b{1,}c{0,1}",
                                 "(a*b){2,}",
                                 "((){3}a){2}",
                                 "(a|b|c){6}",
                                 "(abc|ab|a)*"})
    expect_as_naive(expression, texts);
}

TEST(RegularExpression, MatchesAsANaiveMatcherInEveryPairOfParts) {
  const auto texts = texts_over({"a", "b"}, 4);
  const std::vector<std::string> atoms = {"a", "b", ".", "[^a]", "(ab)", "(a|)", "()"};
  const std::vector<std::string> counts = {"", "*", "+", "?", "{2}", "{0}", "{1,}", "{1,2}"};
  for (const auto& first : atoms)
    for (const auto& first_count : counts)
      for (const auto& second : atoms)
        for (const auto& second_count : counts)
          expect_as_naive(first + first_count + second + second_count, texts);
}

TEST(RegularExpression, MatchesAsANaiveMatcherInEveryCountOfACount) {
  const auto texts = texts_over({"a", "b"}, 5);
  const std::vector<std::string> counts = {"", "*", "+", "?", "{2}", "{0}", "{1,}", "{2,3}"};
  for (const auto& inner : counts)
    for (const auto& middle : counts)
      for (const auto& outer : counts)
        expect_as_naive("((a" + inner + "|ab)" + middle + "b?)" + outer, texts);
}

TEST(RegularExpression, KnowsEscapesClassesAndCharactersBeyondAscii) {
  const auto texts = texts_over({"a", "Z", "5", "_", " ", "\n", "-", "]", "\\", "\xc3\xa4",
                                 "\xe2\x82\xac", "\xf0\x9f\x98\x80", "."},
                                3);
  for (const char* expression :
       {"\\d+",          "\\D*",      "\\w+",        "\\W",         "\\s",
        "\\S{2}",        "\\n",       "\\x41|\\x5a", ".*",          "\\.",
        "\\\\+",         "[\\d_]*",   "[^\\d]",      "[\\]\\\\-]+", "[-a]+",
        "[a-]+",         "[\\-\\]]*", "[^a]{2}",     "\xc3\xa4*",   "(\xc3\xa4|a)+",
        "\xe2\x82\xac.", "[^\\w\\s]", "[\\W]a?",     "[ -~]*",      "[\\x20-a]*",
        "\\-\\]",        "[.]",       "[\\S\\n]*",   "[a\\-Z]*"}) {
    // The naive matcher reads the ends of a range as they stand.
    if (std::string(expression) == "[\\x20-a]*") {
      EXPECT_TRUE(regular_expression(expression).matches(" 5Za"));
      EXPECT_FALSE(regular_expression(expression).matches("z"));
      continue;
    }
    expect_as_naive(expression, texts);
  }
}

TEST(RegularExpression, KnowsEveryCharacterOfAsciiThatAnEscapeOrAClassTakes) {
  std::vector<std::string> characters;
  for (char byte = 0; byte < 0x7f; ++byte) characters.push_back({byte});
  for (const char* expression :
       {"\\d", "\\D", "\\w", "\\W", "\\s", "\\S", ".", "\\n", "\\t", "\\x0d", "\\x00", "[a-f\\s]",
        "[^ -~]", "[^\\w\\n]", "\\.", "[.-]"})
    expect_as_naive(expression, characters);
  const std::vector<std::pair<std::string, char>> letters = {
      {"\\r", '\r'}, {"\\f", '\f'}, {"\\v", '\v'}, {"\\x7F", '\x7f'}, {"\\x7f", '\x7f'}};
  for (const auto& [expression, byte] : letters)
    EXPECT_TRUE(regular_expression(expression).matches({&byte, 1})) << expression;
}

TEST(RegularExpression, TakesCharactersBeyondAsciiWholeAndWellFormedOnly) {
  const ByteAutomaton any = regular_expression(".");
  const ByteAutomaton other = regular_expression("[^a]");
  for (const char* text : {"\xc3\xa4", "\xe2\x82\xac", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf"}) {
    EXPECT_TRUE(any.matches(text)) << text;
    EXPECT_TRUE(other.matches(text)) << text;
  }
  for (const char* text : {"\xc3", "\xa4", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"})
    EXPECT_FALSE(any.matches(text) || other.matches(text)) << text;
}

TEST(RegularExpression, TheComparisonNoticesEveryStateAndEveryTransition) {
  const std::string expression = "(a|b)*ab|c{2}";
  const ByteAutomaton right = regular_expression(expression);
  const auto texts = texts_over({"a", "b", "c"}, 6);
  ASSERT_THAT(differences(right, expression, texts), testing::IsEmpty());
  for (std::size_t state = 0; state < right.state_count(); ++state) {
    ByteAutomaton wrong = right;
    wrong.accepting[state] = !wrong.accepting[state];
    EXPECT_FALSE(differences(wrong, expression, texts).empty()) << state;
    for (const unsigned char byte : {'a', 'b', 'c'}) {
      wrong = right;
      auto& next = wrong.next[state][byte];
      next = next == ByteAutomaton::kDead ? 0 : ByteAutomaton::kDead;
      EXPECT_FALSE(differences(wrong, expression, texts).empty()) << state << byte;
    }
  }
}

struct Refusal {
  std::string expression;
  std::string place;
  std::string remedy;
};

std::string refusal_of(const std::string& expression) {
  try {
    regular_expression(expression);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "not refused";
}

TEST(RegularExpression, IsRefusedWithThePlaceAndTheRemedy) {
  const std::vector<Refusal> refusals = {
      {"ab)", "byte 2: ", "write \\) for the character"},
      {"a(b", "byte 1: ", "add ')'"},
      {"a(b|(c)", "byte 1: ", "add ')'"},
      {"a]", "byte 1: ", "write \\]"},
      {"a}", "byte 1: ", "write \\}"},
      {"*a", "byte 0: ", "'*' has nothing to repeat; write \\*"},
      {"a|+", "byte 2: ", "nothing to repeat"},
      {"(?=a)", "byte 0: ", "only (?: is"},
      {"a(?", "byte 1: ", "only (?: is"},
      {"^a", "byte 0: ", "leave it out"},
      {"a$", "byte 1: ", "write \\$"},
      {"a*?", "byte 2: ", "leave it out"},
      {"a{2}*", "byte 4: ", "into a group"},
      {"a{2", "byte 1: ", "write {2}, {2,} or {2,4}"},
      {"a{", "byte 1: ", "or \\{ for the character"},
      {"a{,2}", "byte 1: ", "begins no count"},
      {"a{x}", "byte 1: ", "begins no count"},
      {"a{3,2}", "byte 1: ", "write the smaller number first"},
      {"a\\", "byte 1: ", "write \\\\"},
      {"a\\b", "byte 1: ", "known are \\d"},
      {"(a)\\1", "byte 3: ", "known are \\d"},
      {"\\x4", "byte 0: ", "two hexadecimal digits"},
      {"\\xg0", "byte 0: ", "two hexadecimal digits"},
      {"\\x80", "byte 0: ", "up to 7f"},
      {"a[", "byte 1: ", "add ']'"},
      {"a[^b", "byte 1: ", "add ']'"},
      {"a[b-", "byte 1: ", "add ']'"},
      {"[]", "byte 0: ", "list one"},
      {"[^]", "byte 0: ", "list one"},
      {"a[^]b[c]", "byte 1: ", "list one"},
      {"[^\\s\\S]", "byte 0: ", "list one"},
      {"a[b-a]", "byte 2: ", "write the smaller character first"},
      {"[a-\\d]", "byte 1: ", "write \\- for the character"},
      {"[[:alpha:]]", "byte 1: ", "write ranges such as a-z"},
      {"[\xc3\xa4]", "byte 1: ", "as alternatives"},
      {"a\xc3", "byte 1: ", "write the pattern in UTF-8"},
      {"\xed\xa0\x80", "byte 0: ", "write the pattern in UTF-8"},
  };
  for (const auto& [expression, place, remedy] : refusals)
    EXPECT_THAT(refusal_of(expression), AllOf(StartsWith("pattern, " + place), HasSubstr(remedy)))
        << expression;
  EXPECT_EQ(refusal_of("a"), "not refused");
}

std::string times(int count, const std::string& text) {
  std::string joined;
  for (int i = 0; i < count; ++i) joined += text;
  return joined;
}

TEST(RegularExpression, IsRefusedBeforeItsSizeIsSpent) {
  const std::string positions = "more than the 32768 positions";
  const std::vector<std::string> oversized = {
      "(a{1000}){1000}",
      "a{99999999999999999999999}",
      "(a{99999999999999999999999,}){0,99999999999999999999999}",
      "(()){1000000}",
      "((((((a{50}){50}){50}){50}){50}){50}){50}",
      times(40000, "a"),
      times(1000000, "|"),
      times(40, "a{1000}"),
      times(40, "a{1000}|")};
  for (const std::string& expression : oversized)
    EXPECT_THAT(refusal_of(expression), HasSubstr(positions)) << expression.substr(0, 40);
  EXPECT_THAT(refusal_of("b(a{1000}){1000}"), StartsWith("pattern, byte 10: "));
  EXPECT_THAT(refusal_of("(a|b)*a(a|b){20}"), HasSubstr("more than the 16384 states"));
  EXPECT_THAT(refusal_of("(a?){8000}"), HasSubstr("more than the 1048576 positions"));
  EXPECT_EQ(refusal_of("a{16000}"), "not refused");
  // Few states and small subsets, and a thousand ways between any two of them.
  const std::string nothing = "(" + times(1000, "|") + ")";
  std::string crowded = "([a-z]" + nothing + ")*[a-m]" + nothing + "([a-z]" + nothing + "){10}";
  for (char letter = 'a'; letter <= 'z'; ++letter) (crowded += "|0") += letter;
  EXPECT_THAT(refusal_of(crowded), HasSubstr("more than the 67108864 steps"));
}

TEST(RegularExpression, IsRefusedWhereGroupsAreTooDeep) {
  EXPECT_EQ(refusal_of(times(100, "(") + "a" + times(100, ")")), "not refused");
  EXPECT_EQ(refusal_of(times(50, "(a|(?:") + "a" + times(100, ")*")), "not refused");
  for (const int depth : {101, 1000000})
    EXPECT_THAT(refusal_of(times(depth, "(") + "a" + times(depth, ")")),
                StartsWith("pattern, byte 100: more than 100 groups"));
}

}  // namespace
}  // namespace draftproof::reference::model
