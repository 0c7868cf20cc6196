// Spellings: texts, special tokens, the two that are laid over any vocabulary, and what is refused.
#include "reference/model/spelling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "reference/error.h"

namespace draftproof::reference::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::set<std::string> texts(const Spelling& spelling) {
  std::set<std::string> all;
  for (std::size_t i = 0; i < spelling.vocab_size(); ++i)
    all.insert(spelling.text(static_cast<Token>(i)));
  return all;
}

TEST(Spelling, JoinsTheTextsOfTokensAndFindsEveryTokenOfAText) {
  const Spelling spelling({"a", "", "ab", "a", std::string("\0b", 2)}, {1});
  EXPECT_EQ(spelling.text_of(std::vector<Token>{2, 1, 0, 4}), std::string("aba\0b", 5));
  EXPECT_EQ(spelling.text_of({}), "");
  EXPECT_THAT(spelling.tokens_of("a"), ElementsAre(0, 3));
  EXPECT_THAT(spelling.tokens_of("b"), IsEmpty());
  EXPECT_THAT(spelling.tokens_of(""), IsEmpty());
  EXPECT_TRUE(spelling.is_special(1));
  EXPECT_FALSE(spelling.is_special(2));
  EXPECT_THROW(spelling.text(5), BrokenInvariant);
  EXPECT_THROW(spelling.text(-1), BrokenInvariant);
}

TEST(Spelling, LaysLettersOverAVocabulary) {
  const Spelling spelling = letters_spelling(800, {2});
  EXPECT_EQ(spelling.text(0), "a");
  EXPECT_EQ(spelling.text(2), "");
  EXPECT_EQ(spelling.text(3), "c");
  EXPECT_EQ(spelling.text(26), "z");
  EXPECT_EQ(spelling.text(27), "aa");
  EXPECT_EQ(spelling.text(28), "ab");
  EXPECT_EQ(spelling.text(26 * 26 + 26), "zz");
  EXPECT_EQ(spelling.text(26 * 26 + 27), "aaa");
  EXPECT_EQ(texts(spelling).size(), 800u);
}

TEST(Spelling, LaysJsonOverAVocabularyWithTokensThatCrossItsParts) {
  const Spelling spelling = json_spelling(256, {0});
  EXPECT_EQ(texts(spelling).size(), 256u);
  for (const char* text : {"{", "\"", "\":", "true", "10", "\",", "A", "aa"})
    EXPECT_EQ(spelling.tokens_of(text).size(), 1u) << text;
  const Spelling least = json_spelling(kJsonSpellingMin);
  EXPECT_EQ(texts(least).size(), kJsonSpellingMin);
  EXPECT_EQ(least.text(0), "{");
  EXPECT_EQ(texts(json_spelling(2000, {1999})).size(), 2000u);
}

template <typename Make>
std::string refusal_of(Make make) {
  try {
    make();
  } catch (const Error& error) {
    return error.what();
  }
  return "not refused";
}

TEST(Spelling, IsRefusedWithTheTokenAtFault) {
  const auto refusal = [](std::vector<std::string> texts, std::vector<Token> special) {
    return refusal_of([&] { return Spelling(texts, special); });
  };
  EXPECT_EQ(refusal({"a", "a", ""}, {2, 2}), "not refused");
  EXPECT_THAT(refusal({}, {}), HasSubstr("spelling: no token"));
  EXPECT_THAT(refusal({"a", ""}, {}), HasSubstr("token 1 has no text; give it one, or make"));
  EXPECT_THAT(refusal({"a", "b"}, {1}), HasSubstr("special token 1 has a text; leave it empty"));
  EXPECT_THAT(refusal({"a"}, {1}), HasSubstr("special token 1 is outside the vocabulary of 1"));
  EXPECT_THAT(refusal({"a"}, {-1}), HasSubstr("special token -1 is outside"));
  EXPECT_THAT(refusal_of([] { return letters_spelling(0); }), HasSubstr("no token"));
  EXPECT_THAT(refusal_of([] { return letters_spelling(2, {5}); }), HasSubstr("special token 5"));
  EXPECT_THAT(refusal_of([] { return json_spelling(48, {0}); }),
              HasSubstr("at least 49 are needed"));
  EXPECT_EQ(refusal_of([] { return json_spelling(49, {48}); }), "not refused");
}

}  // namespace
}  // namespace draftproof::reference::model
