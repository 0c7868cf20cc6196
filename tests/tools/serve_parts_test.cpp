// The parts of a server that need neither engine nor socket: stops in texts, longest match, strict
// fields, events, settings of toys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/served_world.h"
#include "tools/engines/http.h"
#include "tools/serve/text_stops.h"
#include "tools/serve/tokenizer.h"

namespace draftproof::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tools::serve::TextStops;
using tools::serve::ToySettings;

TEST(TextStops, FindsTheOneThatEndsFirst) {
  const TextStops stops({"cd", "abcde", "bcd"});
  const auto found = stops.find("xabcdex", 0);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text, "bcd");
  EXPECT_EQ(found->begin, 2u);
  EXPECT_EQ(found->end, 5u);
}

TEST(TextStops, FindsOneThatBeganInWhatWasSeen) {
  const TextStops stops({"abc"});
  EXPECT_TRUE(stops.find("xabc", 3));
  EXPECT_FALSE(stops.find("abcx", 3)) << "it ended in what was seen";
  EXPECT_FALSE(stops.find("ab", 0));
}

TEST(TextStops, HoldsBackWhatMayBecomeOne) {
  const TextStops stops({"abab", "bc"});
  EXPECT_EQ(stops.held_back("xaba"), 3u);
  EXPECT_EQ(stops.held_back("xab"), 2u);
  EXPECT_EQ(stops.held_back("xb"), 1u);
  EXPECT_EQ(stops.held_back("x"), 0u);
  EXPECT_EQ(TextStops({}).held_back("abc"), 0u);
}

TEST(Tokenizer, TakesTheLongestTokenFirst) {
  const reference::model::Spelling spelling({"a", "ab", "b", "bab"});
  EXPECT_THAT(tools::serve::tokenize(spelling, "abab", "prompt"), ElementsAre(1, 1));
  EXPECT_THAT(tools::serve::tokenize(spelling, "babaa", "prompt"), ElementsAre(3, 0, 0));
  EXPECT_TRUE(tools::serve::tokenize(spelling, "", "prompt").empty());
  try {
    tools::serve::tokenize(spelling, "abc", "prompt");
    FAIL() << "c has no token";
  } catch (const Error& error) {
    EXPECT_EQ(error.place(), "prompt");
    EXPECT_THAT(error.what(), HasSubstr("byte 2"));
  }
}

TEST(EventReader, PutsEventsTogetherAcrossPieces) {
  tools::http::EventReader reader;
  EXPECT_TRUE(reader.add("data: {\"a\"").empty());
  EXPECT_THAT(reader.add(":1}\n\ndata: [DO"), ElementsAre("{\"a\":1}"));
  EXPECT_THAT(reader.add("NE]\n\n"), ElementsAre("[DONE]"));
  EXPECT_EQ(tools::http::event("x"), "data: x\n\n");
}

TEST(ServedToy, RefusesWhatItCannotServeAtTheOption) {
  const auto complaint = [](const ToySettings& settings) -> std::string {
    try {
      tools::serve::served_toy(settings);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(complaint({}), "");
  EXPECT_THAT(complaint({.toy = "gpt"}), HasSubstr("--toy: there is no gpt; known: hashed, "));
  EXPECT_THAT(complaint({.dialect = "tgi"}), HasSubstr("--dialect: there is no tgi"));
  EXPECT_THAT(complaint({.drafts = "magic"}), HasSubstr("--drafts: "));
  EXPECT_THAT(complaint({.drafts = "tree", .rule = "chain"}), HasSubstr("--rule: "));
  EXPECT_THAT(complaint({.rule = "magic"}), HasSubstr("--rule: unknown rule 'magic'"));
  EXPECT_THAT(complaint({.draft_length = 65}), HasSubstr("--draft-length: is 65"));
  EXPECT_THAT(complaint({.draft_length = 0}), HasSubstr("--draft-length: is 0"));
  EXPECT_THAT(complaint({.vocab_size = 9}), HasSubstr("--vocab: is for --toy hashed"));
  EXPECT_THAT(complaint({.eos = 99}), HasSubstr("--eos: is 99"));
  EXPECT_THAT(complaint({.spelling = "json"}), HasSubstr("--spelling: "));
  EXPECT_THAT(complaint({.context_max = 1}), HasSubstr("--context: is 1"));
  EXPECT_THAT(complaint({.bug = "no_such_bug"}), HasSubstr("--bug: \"no_such_bug\" is no fault"));
}

TEST(ServedToy, ServesEveryToy) {
  for (const std::string& name : tools::serve::served_toy_names()) {
    const auto options = tools::serve::served_toy({.toy = name});
    EXPECT_GE(options.host.config.target->vocab_size(), 2) << name;
    EXPECT_EQ(options.draft_method, "draft_model") << name;
  }
  EXPECT_EQ(tools::serve::served_toy({.drafts = "lookup"}).draft_method, "ngram");
  EXPECT_EQ(tools::serve::served_toy({.is_speculative = false}).draft_method, "");
}

}  // namespace
}  // namespace draftproof::tests
