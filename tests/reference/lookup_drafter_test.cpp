// Lookups in the history alone, on literal strings and against plain searches over all short ones:
// what vLLM, transformers, TensorRT-LLM and llama.cpp's ngram-simple find there.
#include <gtest/gtest.h>

#include <algorithm>

#include "reference/draft/lookup/ngram_pool.h"
#include "reference/draft/lookup/ngram_simple.h"
#include "reference/draft/lookup/prompt_lookup.h"
#include "reference/draft/lookup/suffix_match.h"
#include "tests/reference/lookup_texts.h"

namespace draftproof::reference::draft {
namespace {

std::string by_suffix(const std::string& history, std::size_t size_min, std::size_t size_max,
                      int draft_count) {
  return spelled(suffix_match(text(history), {size_min, size_max, {}}, draft_count));
}

TEST(SuffixMatch, TakesTheLongestSuffixAndOfItsOccurrencesTheEarliest) {
  EXPECT_EQ(by_suffix("abcab", 1, 3, 3), "cab");
  EXPECT_EQ(by_suffix("abcabdab", 1, 3, 2), "ca") << "the occurrence before c, not before d";
  EXPECT_EQ(by_suffix("xabcyabdzab", 2, 2, 1), "c");
  EXPECT_EQ(by_suffix("bcabcdabc", 1, 3, 1), "d") << "abc once, though c occurs twice";
}

TEST(SuffixMatch, MayOverlapTheSuffixButNotBeIt) {
  EXPECT_EQ(by_suffix("aaaa", 1, 3, 3), "a");
  EXPECT_EQ(by_suffix("aaaa", 1, 2, 3), "aa") << "a shorter limit matches earlier";
  EXPECT_EQ(by_suffix("aaaa", 1, 1, 9), "aaa");
  EXPECT_EQ(by_suffix("ababab", 4, 4, 9), "ab");
  EXPECT_EQ(by_suffix("ab", 1, 2, 9), "");
}

TEST(SuffixMatch, FindsPosition0AndStopsAtTheEndOfHistoryAndModel) {
  EXPECT_EQ(by_suffix("abcdab", 2, 2, 9), "cdab") << "no more than there is";
  EXPECT_EQ(by_suffix("aba", 1, 1, 9), "ba");
  EXPECT_EQ(spelled(suffix_match(text("abcdab"), {2, 2, 8}, 9)), "cd");
  EXPECT_EQ(spelled(suffix_match(text("abcdab"), {2, 2, 6}, 9)), "");
  EXPECT_EQ(spelled(suffix_match(text("abcdab"), {2, 2, 5}, 9)), "");
}

TEST(SuffixMatch, IsEmptyBelowItsLeastSize) {
  EXPECT_EQ(by_suffix("", 1, 1, 3), "");
  EXPECT_EQ(by_suffix("a", 1, 1, 3), "");
  EXPECT_EQ(by_suffix("ab", 3, 3, 3), "") << "shorter than n";
  EXPECT_EQ(by_suffix("cabab", 3, 3, 3), "") << "ab matches, but is too short";
  EXPECT_EQ(by_suffix("abcab", 1, 3, 0), "");
  EXPECT_EQ(spelled(suffix_match(text("abcdefabcde"), {}, 3)), "fab") << "the defaults: 5";
  EXPECT_EQ(spelled(suffix_match(text("bcdefabcde"), {}, 3)), "");
}

TEST(SuffixMatch, IsAPlainSearchFromTheLongestSizeAndTheLeft) {
  for (int length = 0; length <= 8; ++length) {
    for (const std::string& history : all_texts(length <= 6 ? 3 : 2, length)) {
      for (std::size_t size_max : {1U, 2U, 3U}) {
        std::string expected;
        for (std::size_t size = size_max; size >= 1 && expected.empty(); --size) {
          if (history.size() <= size) continue;
          const std::size_t at = history.find(history.substr(history.size() - size));
          if (at + size < history.size()) expected = history.substr(at + size, 3);
        }
        ASSERT_EQ(by_suffix(history, 1, size_max, 3), expected) << history << " " << size_max;
      }
    }
  }
}

std::string by_prompt(const std::string& history, const PromptLookupOptions& options,
                      int draft_count = 10) {
  return spelled(prompt_lookup(text(history), options, draft_count));
}

TEST(PromptLookup, TakesTheFirstOccurrenceWithAContinuation) {
  EXPECT_EQ(by_prompt("abcabdab", {}, 2), "ca");
  EXPECT_EQ(by_prompt("aaaa", {}), "aa");
  EXPECT_EQ(by_prompt("cba", {}), "");
  EXPECT_EQ(by_prompt("bcb", {}), "cb") << "one token is enough";
  EXPECT_EQ(by_prompt("", {}), "");
  EXPECT_EQ(by_prompt("a", {}), "");
}

TEST(PromptLookup, EndsACandidateBeforeEndOfSequence) {
  PromptLookupOptions options;
  options.eos = text("c");
  EXPECT_EQ(by_prompt("abdcab", options), "d");
  EXPECT_EQ(by_prompt("abcdabdab", options), "") << "cut to nothing: no other match is tried";
}

TEST(PromptLookup, PassesOverAMatchThatMayNotBeginSo) {
  PromptLookupOptions options;
  options.allows = [](const Context&, Token token) { return token != text("c")[0]; };
  EXPECT_EQ(by_prompt("abcdabdab", options), "dab");
  EXPECT_EQ(by_prompt("abdcab", options), "d") << "and crops where it becomes forbidden";
  options.allows = [](const Context& context, Token) { return context.size() < 7; };
  EXPECT_EQ(by_prompt("abdcab", options), "d") << "asked behind the candidate so far";
}

TEST(PromptLookup, DraftsNothingWhereOneTokenIsLeft) {
  PromptLookupOptions options;
  options.length_max = 7;
  EXPECT_EQ(by_prompt("abcdab", options), "");
  options.length_max = 8;
  EXPECT_EQ(by_prompt("abcdab", options), "cdab");
}

TEST(PromptLookup, IsAPlainSearchFromTheLongestSizeAndTheLeft) {
  for (int length = 0; length <= 8; ++length)
    for (const std::string& history : all_texts(length <= 6 ? 3 : 2, length))
      ASSERT_EQ(by_prompt(history, {}, 3), by_suffix(history, 1, 2, 3)) << history;
}

NgramPoolOptions pool_options(bool uses_oldest) {
  NgramPoolOptions options;
  options.draft_count_max = 3;
  options.uses_oldest = uses_oldest;
  return options;
}

TEST(NgramPool, OffersTheOldestMatchOrTheNewest) {
  EXPECT_EQ(spelled(NgramPool(pool_options(true)).ask(0, text("abcabdabeab"))), "cab");
  EXPECT_EQ(spelled(NgramPool(pool_options(false)).ask(0, text("abcabdabeab"))), "eab");
}

TEST(NgramPool, ShorterMatchesMakeWayForLongerOnes) {
  NgramPool pool(pool_options(true));
  EXPECT_EQ(spelled(pool.ask(0, text("aba"))), "ba");
  EXPECT_EQ(pool.matches(0, text("a")), (std::vector<std::vector<Token>>{text("ba")}));
  EXPECT_EQ(spelled(pool.ask(0, text("abac"))), "") << "c is unknown";
  EXPECT_EQ(pool.matches(0, text("a")), (std::vector<std::vector<Token>>{text("bac"), text("c")}));
  pool.ask(0, text("abacac"));
  EXPECT_EQ(pool.matches(0, text("a")),
            (std::vector<std::vector<Token>>{text("bac"), text("cac"), text("c")}))
      << "c is dropped by cac, and then found again at the end";
}

// Removing from the list that is walked, the engine does not look at the one behind each.
TEST(NgramPool, OverlooksEverySecondOfTheShorterMatches) {
  NgramPoolOptions options = pool_options(true);
  options.size_max = 1;
  NgramPool pool(options);
  pool.ask(0, text("ab"));
  pool.ask(1, text("ac"));
  EXPECT_EQ(pool.matches(0, text("a")), (std::vector<std::vector<Token>>{text("b"), text("c")}));
  pool.ask(2, text("addd"));
  EXPECT_EQ(pool.matches(0, text("a")), (std::vector<std::vector<Token>>{text("c"), text("ddd")}));
}

TEST(NgramPool, ServesOtherRequestsOnlyWhenPublic) {
  NgramPoolOptions options = pool_options(true);
  NgramPool shared(options);
  shared.ask(0, text("abcd"));
  EXPECT_EQ(spelled(shared.ask(1, text("zab"))), "cd");
  options.is_public = false;
  NgramPool apart(options);
  apart.ask(0, text("abcd"));
  EXPECT_EQ(spelled(apart.ask(1, text("zab"))), "");
}

TEST(NgramPool, StopsOneTokenBeforeTheEnd) {
  NgramPoolOptions options = pool_options(true);
  options.length_max = 8;
  EXPECT_EQ(spelled(NgramPool(options).ask(0, text("abcdab"))), "c");
  options.length_max = 7;
  EXPECT_EQ(spelled(NgramPool(options).ask(0, text("abcdab"))), "");
}

TEST(NgramPool, AskedOnceIsPromptLookup) {
  for (int length = 0; length <= 7; ++length)
    for (const std::string& history : all_texts(3, length))
      ASSERT_EQ(spelled(NgramPool(pool_options(true)).ask(0, text(history))),
                by_prompt(history, {}, 3))
          << history;
}

std::string simply(const std::string& history, std::size_t key_size, std::size_t draft_size) {
  return spelled(ngram_simple(text(history), {key_size, draft_size}));
}

TEST(NgramSimple, TakesTheLatestOccurrence) {
  EXPECT_EQ(simply("xacxaxda", 1, 1), "x");
  EXPECT_EQ(simply("xabcxabdxxab", 2, 2), "dx");
}

TEST(NgramSimple, NeverMatchesPosition0NorTheTokenBeingDecoded) {
  EXPECT_EQ(simply("abcccccab", 2, 2), "") << "ab stands at 0 only";
  EXPECT_EQ(simply("xabccccab", 2, 2), "cc");
  EXPECT_EQ(simply("xbbbbbaa", 1, 1), "") << "a before the last token has no history behind it";
}

TEST(NgramSimple, NeedsMoreHistoryThanKeyAndDraftAndOne) {
  // Without its last token: 4 = n + m + 1 + 1 tokens are enough, 3 are not.
  EXPECT_EQ(simply("xabxa", 1, 1), "b");
  EXPECT_EQ(simply("xaxa", 1, 1), "");
  EXPECT_EQ(simply("", 1, 1), "");
}

TEST(NgramSimple, DraftsNothingShorterThanTheKey) {
  EXPECT_EQ(simply("xxxxxxababab", 2, 2), "")
      << "the latest occurrence is followed by one token; the one before it is not tried";
  EXPECT_EQ(simply("xxxxxabccab", 2, 2), "cc");
  EXPECT_EQ(simply("xxxxxabccab", 2, 3), "cca");
}

TEST(NgramSimple, IsAPlainSearchFromTheRight) {
  for (int length = 0; length <= 9; ++length) {
    for (const std::string& history : all_texts(2, length)) {
      for (std::size_t n : {1U, 2U}) {
        for (std::size_t m : {1U, 2U, 3U}) {
          std::string expected;
          if (history.size() > n + m + 2) {
            const std::string decoded = history.substr(0, history.size() - 1);
            const std::string key = history.substr(history.size() - n);
            const std::size_t at = decoded.rfind(key, decoded.size() - n - 1);
            if (at != std::string::npos && at > 0) expected = decoded.substr(at + n, m);
            if (expected.size() < n) expected.clear();
          }
          ASSERT_EQ(simply(history, n, m), expected) << history << " " << n << " " << m;
        }
      }
    }
  }
}

TEST(LookupEvents, SurviveBeingMemory) {
  const LookupEvents events = asked({"ab", "abcd", "abcda"}, 3);
  EXPECT_EQ(events.size(), 5u);
  EXPECT_EQ(events[1].accepted_count, 1);
  EXPECT_EQ(events_of(memory_of(events)), events);
}

}  // namespace
}  // namespace draftproof::reference::draft
