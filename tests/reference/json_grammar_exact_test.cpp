// JSON: automata against a naive recogniser on every text of several alphabets, schemas against
// every text they have, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "reference/error.h"
#include "reference/model/json_grammar.h"
#include "reference/model/pattern.h"
#include "tests/reference/naive_json.h"
#include "tests/reference/texts_over.h"

namespace draftproof::reference::model {
namespace {

using Type = JsonSchema::Type;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing::UnorderedElementsAre;
using tests::NaiveJson;
using tests::texts_over;

/// Texts of up to so many pieces that the automaton and the naive recogniser judge differently,
/// the first ten of them.
std::vector<std::string> differences(const ByteAutomaton& automaton,
                                     const std::vector<std::string>& alphabet, int piece_count_max,
                                     int depth, JsonWhitespace whitespace,
                                     std::string_view front = "", std::string_view back = "") {
  std::vector<std::string> differing;
  int accepted_count = 0;
  for (const std::string& inner : texts_over(alphabet, piece_count_max)) {
    const std::string text = std::string(front) + inner + std::string(back);
    const bool is_json = NaiveJson::accepts(text, depth, whitespace == JsonWhitespace::kAny);
    accepted_count += is_json;
    if (automaton.matches(text) != is_json && differing.size() < 10) differing.push_back(text);
  }
  EXPECT_GT(accepted_count, 0);
  return differing;
}

void expect_as_naive(const std::vector<std::string>& alphabet, int piece_count_max, int depth,
                     JsonWhitespace whitespace, std::string_view front = "",
                     std::string_view back = "") {
  EXPECT_THAT(differences(json_automaton(depth, whitespace), alphabet, piece_count_max, depth,
                          whitespace, front, back),
              testing::IsEmpty())
      << front << alphabet[0] << back << " at depth " << depth;
}

TEST(JsonGrammar, NestsAsDeepAsItIsAllowed) {
  for (int depth = 0; depth <= 3; ++depth) {
    expect_as_naive({"{", "}", "[", "]", ",", "\"\":", "1"}, 6, depth, JsonWhitespace::kNone);
    if (depth == 0) continue;
    expect_as_naive({"[", "]", ","}, 9, depth, JsonWhitespace::kNone);
    expect_as_naive({"{\"\":", "}", "[", "]", ",0"}, 7, depth, JsonWhitespace::kNone);
  }
  const ByteAutomaton deepest = json_automaton(kJsonDepthMax);
  EXPECT_TRUE(deepest.matches("[[{\"a\":[{\"b\":[1]}]}]]"));
  EXPECT_FALSE(deepest.matches("[[{\"a\":[{\"b\":[1,[]]}]}]]"));
  EXPECT_TRUE(deepest.matches("[[[[[[1]]]]],[]]"));
  EXPECT_FALSE(deepest.matches("[[[[[[[1]]]]]]]"));
}

TEST(JsonGrammar, KnowsNumbersAndLiteralsAndWhereTheyEnd) {
  expect_as_naive({"-", "0", "1", ".", "e", "E", "+"}, 6, 0, JsonWhitespace::kNone);
  expect_as_naive({"-", "0", "12", ".", "e", ","}, 5, 1, JsonWhitespace::kNone, "[", "]");
  expect_as_naive({"t", "r", "u", "e", "ue", "fals", "nul", "l", "n"}, 4, 0, JsonWhitespace::kNone);
}

TEST(JsonGrammar, KnowsStringsTheirEscapesAndTheirUtf8) {
  expect_as_naive({"\"", "\\", "u", "n", "00", "d8", "dc", "\x1f", "\x7f", "/"}, 5, 0,
                  JsonWhitespace::kNone, "\"");
  const std::vector<std::string> digits = {"0", "1", "7", "8", "9", "a", "b", "c", "d", "e", "f",
                                           "A", "B", "C", "D", "E", "F", "g", "G", "/", ":"};
  expect_as_naive(digits, 3, 0, JsonWhitespace::kNone, "\"\\u", "0\"");
  expect_as_naive(digits, 3, 0, JsonWhitespace::kNone, "\"\\uD8a0\\u", "0\"");
  expect_as_naive(digits, 3, 0, JsonWhitespace::kNone, "\"\\u", "0\\udC0b\"");
  std::vector<std::string> bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.push_back(std::string(1, static_cast<char>(byte)));
  expect_as_naive(bytes, 2, 0, JsonWhitespace::kNone, "\"", "\"");
  expect_as_naive({"\x7f", "\x80", "\x8f", "\x90", "\x9f", "\xa0", "\xbf", "\xc1", "\xc2", "\xdf",
                   "\xe0", "\xe1", "\xec", "\xed", "\xee", "\xef", "\xf0", "\xf1", "\xf4", "\xf5"},
                  4, 0, JsonWhitespace::kNone, "\"", "\"");
}

TEST(JsonGrammar, AllowsWhitespaceBetweenPartsOnlyAndOnlyWhenAsked) {
  expect_as_naive({" ", "\n", "[", "]", ",", "1", "\"a\":", "{", "}"}, 5, 2, JsonWhitespace::kAny);
  expect_as_naive({" ", "\t", "\r", "{", "\"\"", ":", "0", ",", "}"}, 5, 1, JsonWhitespace::kAny,
                  "{\"\" ");
  expect_as_naive({" ", "[", "]", ",", "1"}, 6, 2, JsonWhitespace::kNone);
  EXPECT_FALSE(json_automaton(1).matches("[1, 2]"));
  EXPECT_TRUE(json_automaton(1, JsonWhitespace::kAny).matches(" [1 ,\t2 ]\r\n"));
}

TEST(JsonGrammar, TheComparisonNoticesADepthTooManyAndALostTransition) {
  const std::vector<std::string> alphabet = {"[", "]", ",", "1"};
  const auto none = JsonWhitespace::kNone;
  EXPECT_FALSE(differences(json_automaton(2), alphabet, 6, 1, none).empty());
  EXPECT_FALSE(differences(json_automaton(1), alphabet, 6, 2, none).empty());
  EXPECT_FALSE(
      differences(json_automaton(1, JsonWhitespace::kAny), {" ", "1"}, 3, 1, none).empty());
  ByteAutomaton wrong = json_automaton(1);
  const auto opened = static_cast<std::size_t>(wrong.behind(0, "[1,"));
  wrong.next[opened]['['] = wrong.behind(0, "[");
  EXPECT_FALSE(differences(wrong, alphabet, 6, 1, none).empty());
}

TEST(JsonGrammar, IsRefusedOutsideItsDepths) {
  for (const int depth : {-1, kJsonDepthMax + 1}) {
    try {
      json_automaton(depth);
      ADD_FAILURE() << depth;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("is outside 0 to 6"));
    }
  }
  EXPECT_LT(json_automaton(kJsonDepthMax, JsonWhitespace::kAny).state_count(), Pattern::kStatesMax);
}

/// Every text that `automaton` accepts; at most a thousand, so that a cycle fails a comparison.
std::vector<std::string> language(const ByteAutomaton& automaton) {
  std::vector<std::string> accepted;
  std::vector<std::pair<ByteAutomaton::State, std::string>> open = {{0, ""}};
  for (std::size_t i = 0; i < open.size() && i < 100'000 && accepted.size() < 1000; ++i) {
    const auto [state, text] = open[i];
    if (automaton.accepts(state)) accepted.push_back(text);
    for (std::size_t byte = 0; byte < 256; ++byte)
      if (const int to = automaton.next[static_cast<std::size_t>(state)][byte];
          to != ByteAutomaton::kDead)
        open.push_back({to, text + static_cast<char>(byte)});
  }
  return accepted;
}

JsonSchema simple(Type type) { return {.type = type}; }
JsonSchema enumeration(std::vector<std::string> values) {
  return {.type = Type::kEnum, .values = std::move(values)};
}
JsonSchema array(JsonSchema item, std::optional<std::size_t> items_max = {}) {
  return {.type = Type::kArray, .items = {std::move(item)}, .items_max = items_max};
}
JsonSchema object(std::vector<JsonProperty> properties) {
  return {.type = Type::kObject, .properties = std::move(properties)};
}

TEST(JsonSchema, HasExactlyTheTextsThatItDescribes) {
  EXPECT_THAT(language(schema_automaton(simple(Type::kBoolean))),
              UnorderedElementsAre("true", "false"));
  EXPECT_THAT(language(schema_automaton(simple(Type::kNull))), UnorderedElementsAre("null"));
  EXPECT_THAT(language(schema_automaton(enumeration({"\"a\"", "\"ab\"", "-1.5", "null"}))),
              UnorderedElementsAre("\"a\"", "\"ab\"", "-1.5", "null"));
  EXPECT_THAT(language(schema_automaton(array(simple(Type::kNull), 2))),
              UnorderedElementsAre("[]", "[null]", "[null,null]"));
  EXPECT_THAT(language(schema_automaton(array(simple(Type::kString), 0))),
              UnorderedElementsAre("[]"));
  EXPECT_THAT(language(schema_automaton(object({}))), UnorderedElementsAre("{}"));
  EXPECT_THAT(
      language(
          schema_automaton(object({{"b", simple(Type::kBoolean)},
                                   {"a", object({{"c", array(enumeration({"1", "12"}), 1)}})}}))),
      UnorderedElementsAre("{\"b\":true,\"a\":{\"c\":[]}}", "{\"b\":true,\"a\":{\"c\":[1]}}",
                           "{\"b\":true,\"a\":{\"c\":[12]}}", "{\"b\":false,\"a\":{\"c\":[]}}",
                           "{\"b\":false,\"a\":{\"c\":[1]}}", "{\"b\":false,\"a\":{\"c\":[12]}}"));
}

TEST(JsonSchema, ItsTypesPartTheValuesOfJson) {
  const ByteAutomaton string = schema_automaton(simple(Type::kString));
  const ByteAutomaton number = schema_automaton(simple(Type::kNumber));
  const ByteAutomaton integer = schema_automaton(simple(Type::kInteger));
  const ByteAutomaton strings = schema_automaton(array(simple(Type::kString)));
  int accepted_count = 0;
  for (const std::string& text :
       texts_over({"\"", "[", "]", ",", "-", "1", "0", ".", "e", "null"}, 5)) {
    const bool is_json = NaiveJson::accepts(text, 1);
    const bool is_string = is_json && text[0] == '"';
    const bool is_number = is_json && std::string_view("-0123456789").find(text[0]) < 11;
    EXPECT_EQ(string.matches(text), is_string) << text;
    EXPECT_EQ(number.matches(text), is_number) << text;
    EXPECT_EQ(integer.matches(text), is_number && text.find_first_of(".e") > text.size()) << text;
    accepted_count += strings.matches(text);
    if (strings.matches(text)) {
      EXPECT_TRUE(is_json && text[0] == '[') << text;
    }
  }
  EXPECT_GT(accepted_count, 1);
  EXPECT_TRUE(strings.matches("[\"a\",\"\",\"b\"]"));
  EXPECT_FALSE(strings.matches("[\"a\",1]"));
}

TEST(JsonSchema, QuotesTheNamesOfPropertiesAndAllowsWhitespaceWhenAsked) {
  const JsonSchema schema =
      object({{"a\"\\\n\x01\xc3\xa4", simple(Type::kNull)}, {"b", array(simple(Type::kNull), 2)}});
  const std::string name = "\"a\\\"\\\\\\n\\u0001\xc3\xa4\"";
  EXPECT_THAT(
      language(schema_automaton(schema)),
      UnorderedElementsAre("{" + name + ":null,\"b\":[]}", "{" + name + ":null,\"b\":[null]}",
                           "{" + name + ":null,\"b\":[null,null]}"));
  const ByteAutomaton spaced = schema_automaton(schema, JsonWhitespace::kAny);
  const std::vector<std::string> parts = {"{", name,   ":", "null", ",", "\"b\"", ":",
                                          "[", "null", ",", "null", "]", "}"};
  for (std::size_t gap = 0; gap <= parts.size(); ++gap) {
    std::string text;
    for (std::size_t i = 0; i <= parts.size(); ++i) {
      if (i == gap) text += " \n\t\r";
      if (i < parts.size()) text += parts[i];
    }
    EXPECT_TRUE(spaced.matches(text)) << text;
    EXPECT_FALSE(schema_automaton(schema).matches(text)) << text;
  }
  EXPECT_FALSE(spaced.matches("{" + name + ":nu ll,\"b\":[]}"));
}

std::string refusal_of(const JsonSchema& schema) {
  try {
    schema_automaton(schema);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "not refused";
}

JsonSchema nested(int depth) {
  JsonSchema schema = simple(Type::kNull);
  for (int i = 1; i < depth; ++i) schema = array(std::move(schema), 1);
  return schema;
}

TEST(JsonSchema, IsRefusedWithThePathAndTheRemedy) {
  const auto null = simple(Type::kNull);
  const std::vector<std::tuple<JsonSchema, std::string, std::string>> refusals = {
      {enumeration({}), "json schema: ", "list at least one"},
      {enumeration({"1", "red"}), "json schema: ", "'red' is no JSON string"},
      {enumeration({"[]"}), "json schema: ", "'[]' is no JSON string"},
      {object({{"a", array(enumeration({"01"}))}}), "json schema.a.items: ", "'01'"},
      {object({{"a", {.type = Type::kArray}}}), "json schema.a: ", "0 schemas of its items"},
      {{.type = Type::kArray, .items = {null, null}}, "json schema: ", "2 schemas of its items"},
      {object({{"a", null}, {"a", null}}), "json schema: ", "two properties are called 'a'"},
      {object({{"\xff", null}}), "json schema: ", "write it in UTF-8"},
      {{.type = static_cast<Type>(99)}, "json schema: ", "known are string"},
      {nested(65), "json schema.items.items", "more than 64 schemas within each other"},
      {array(null, 20'000), "json schema: ", "more than the 32768 positions"},
      {array(array(null, 1'000), 1'000), "json schema: ", "more than the 32768 positions"},
      {array(null, SIZE_MAX), "json schema: ", "more than the 32768 positions"},
  };
  for (const auto& [schema, place, remedy] : refusals)
    EXPECT_THAT(refusal_of(schema), AllOf(StartsWith(place), HasSubstr(remedy))) << remedy;
  EXPECT_EQ(refusal_of(nested(64)), "not refused");
}

}  // namespace
}  // namespace draftproof::reference::model
