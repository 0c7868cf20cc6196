// Lookups that keep tables, on literal strings and against plain counts over all short ones: what
// llama.cpp's maps and caches, SGLang's trie, suffix decoding and Lookahead have learned.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "reference/draft/lookup/lookahead.h"
#include "reference/draft/lookup/ngram_cache.h"
#include "reference/draft/lookup/ngram_map.h"
#include "reference/draft/lookup/ngram_mod.h"
#include "reference/draft/lookup/suffix_speculation.h"
#include "reference/draft/lookup/token_trie.h"
#include "reference/error.h"
#include "reference/model/toys.h"
#include "tests/reference/lookup_texts.h"

namespace draftproof::reference::draft {
namespace {

NgramMapOptions map_options(std::size_t key_size, std::size_t value_size, bool counts_values) {
  NgramMapOptions options;
  options.key_size = key_size;
  options.value_size = value_size;
  options.counts_values = counts_values;
  return options;
}

std::string mapped(const NgramMapOptions& options, const std::vector<std::string>& histories) {
  const LookupEvents events = asked(histories);
  return spelled(ngram_map({events, 9}, options));
}

TEST(NgramMap, ScansBackFromTheEndOfWhatItBeganWith) {
  // Decoded: 7 tokens; keys may stand at 7 - n - m - 1 = 4 or before, and not at 0.
  EXPECT_EQ(mapped(map_options(1, 1, false), {"xabxacda"}), "c");
  EXPECT_EQ(mapped(map_options(1, 1, false), {"abxxxxxa"}), "") << "position 0 is no match";
  EXPECT_EQ(mapped(map_options(1, 1, false), {"xxxxxaba"}), "") << "position 5 is too late";
}

TEST(NgramMap, NeedsTwoKeysAndAValue) {
  EXPECT_EQ(mapped(map_options(2, 1, false), {"xabab"}), "");
  EXPECT_EQ(mapped(map_options(2, 1, false), {"xabcxab"}), "c");
}

// Whatever position a hash was entered with stays, however often the key occurs later.
TEST(NgramMap, KeepsThePositionThatWasEnteredFirst) {
  const NgramMapOptions options = map_options(1, 1, false);
  EXPECT_EQ(mapped(options, {"xabxxxa"}), "b");
  EXPECT_EQ(mapped(options, {"xabxxxa", "xabxxxacxxxxa"}), "b") << "by the table";
  NgramMapOptions scanning = options;
  scanning.table_size = 0;
  EXPECT_EQ(mapped(scanning, {"xabxxxa", "xabxxxacxxxxa"}), "b")
      << "the begin is scanned before what came later";
  EXPECT_EQ(mapped(scanning, {"xxxxxxx", "xxxxxxxacxxxxa"}), "c");
}

TEST(NgramMap, NoticesAKeyCollision) {
  NgramMapOptions options = map_options(1, 1, false);
  options.table_size = 1;
  EXPECT_EQ(mapped(options, {"xabxxxb"}), "x") << "not yet in the table: scanned";
  // The one slot has position 3; behind it everything is entered, so nothing is scanned.
  EXPECT_EQ(mapped(options, {"xabxxxb", "xabxxxba"}), "") << "a stands elsewhere";
}

TEST(NgramMap, DraftsOnlyWhereOneValueIsTwiceAsFrequentAsTheOthers) {
  const NgramMapOptions options = map_options(1, 1, true);
  EXPECT_EQ(mapped(options, {"xabxacxxxa"}), "") << "b once, c once";
  EXPECT_EQ(mapped(options, {"xabxabxacxxxa"}), "c")
      << "b twice, c once: c followed the occurrence that was found";
  EXPECT_EQ(mapped(options, {"xabxabxacxacxxxa"}), "");
}

TEST(NgramMap, DraftsAsManyAsWereLastAcceptedOfAValue) {
  NgramMapOptions options = map_options(1, 2, true);
  EXPECT_EQ(mapped(options, {"xabcxxxxa"}), "bc");
  // Nothing was accepted of it: nothing is drafted any more.
  EXPECT_EQ(mapped(options, {"xabcxxxxa", "xabcxxxxaa"}), "");
  EXPECT_EQ(mapped(options, {"xabcxxxxa", "xabcxxxxaba"}), "b");
  options.learns_accepted = false;
  EXPECT_EQ(mapped(options, {"xabcxxxxa", "xabcxxxxaa"}), "bc");
}

TEST(NgramMap, WaitsForItsHits) {
  NgramMapOptions options = map_options(1, 1, true);
  options.hits_min = 2;
  EXPECT_EQ(mapped(options, {"xabxxxa"}), "");
  EXPECT_EQ(mapped(options, {"xabxxxa", "xabxxxaa"}), "b");
}

NgramModOptions mod_options(std::size_t key_size, std::size_t table_size) {
  NgramModOptions options;
  options.key_size = key_size;
  options.table_size = table_size;
  options.draft_min = 1;
  options.draft_max = 3;
  options.learned_at_once = 0;
  return options;
}

std::string modded(const NgramModOptions& options, const std::vector<std::string>& histories) {
  const LookupEvents events = asked(histories);
  return spelled(ngram_mod({events, 9}, options));
}

TEST(NgramMod, WalksThroughItsTableAndLetsTheLastWriteWin) {
  EXPECT_EQ(modded(mod_options(1, 1000), {"abacda"}), "cd") << "a to c, not b; d leads nowhere";
  EXPECT_EQ(modded(mod_options(2, 1000), {"abcabdab"}), "da");
  NgramModOptions crowded = mod_options(1, 1);
  crowded.occupied_max = 1;
  EXPECT_EQ(modded(crowded, {"abcda"}), "ddd") << "one slot for every key";
  EXPECT_EQ(modded(mod_options(1, 1000), {""}), "");
}

TEST(NgramMod, DropsWhatEndsTooEarly) {
  NgramModOptions options = mod_options(1, 1000);
  options.draft_min = 2;
  EXPECT_EQ(modded(options, {"abca"}), "bc");
  options.draft_min = 3;
  EXPECT_EQ(modded(options, {"abca"}), "");
}

TEST(NgramMod, LearnsInPieces) {
  NgramModOptions options = mod_options(1, 1000);
  EXPECT_EQ(modded(options, {"abca", "abcada"}), "d");
  options.learned_at_once = 32;
  EXPECT_EQ(modded(options, {"abca", "abcada"}), "bc") << "the begin is learned at once";
}

TEST(NgramMod, IsEmptiedByPoorRoundsAndByMuchOverwriting) {
  NgramModOptions options = mod_options(1, 1000);
  options.learned_at_once = 32;
  options.poor_rounds_max = 1;
  options.poor_share = Exact(1, 2);
  EXPECT_EQ(modded(options, {"abca", "abcaba"}), "bc") << "1 of 2 is half";
  EXPECT_EQ(modded(options, {"abca", "abcaa"}), "");
  NgramModOptions small = mod_options(1, 4);
  EXPECT_EQ(modded(small, {"aaaaaa"}), "aaa") << "1 slot of 4 is in use";
  EXPECT_EQ(modded(small, {"ababab"}), "") << "2 are";
  small.counts_overwrites = true;
  EXPECT_EQ(modded(small, {"aaaaaa"}), "") << "but it was written over 3 times";
  small.occupied_max = 1;
  EXPECT_EQ(modded(small, {"aaaaaa"}), "aaa");
}

TEST(NgramMod, DraftsForOneRequestWhatAnotherSaid) {
  LookupEvents events = asked({"abca"}, 0);
  for (const LookupEvent& event : asked({"xa"}, 1)) events.push_back(event);
  EXPECT_EQ(spelled(ngram_mod({events, 9}, mod_options(1, 1000))), "bc");
}

std::string cached(const std::vector<std::string>& histories, NgramCacheOptions options = {},
                   int draft_max = 1) {
  options.draft_max = draft_max;
  const LookupEvents events = asked(histories);
  return spelled(ngram_cache({events, 9}, options));
}

TEST(NgramCache, IsAsSureAsItsThresholdsSay) {
  EXPECT_EQ(cached({"aba"}), "") << "one sample behind a single token is not enough";
  EXPECT_EQ(cached({"abcba"}), "");
  EXPECT_EQ(cached({"abxabya"}), "b") << "2 of 2";
  EXPECT_EQ(cached({"abxacya"}), "") << "1 of 2 is less than 66 %";
  EXPECT_EQ(cached({"abxabyacza"}), "b") << "2 of 3 are 66.7 %";
  EXPECT_EQ(cached({"abacaba"}), "c") << "for three tokens one sample is enough";
  EXPECT_EQ(cached({"a"}), "");
  EXPECT_EQ(cached({"abxabyabz"}, {}, 3), "");
  EXPECT_EQ(cached({"abcxabc"}, {}, 3), "xab") << "a draft is drafted from";
}

TEST(NgramCache, NeverCountsAcrossIterations) {
  EXPECT_EQ(cached({"xxab", "xxabyab"}), "") << "y came with another piece than the ab before it";
  EXPECT_EQ(cached({"xxabyab"}), "") << "one sample of a pair";
  EXPECT_EQ(cached({"xxabyxab"}), "y") << "xab once is enough";
  EXPECT_EQ(cached({"xxab", "xxabyxab"}), "");
}

TEST(NgramCache, AsksTheDynamicCacheStrictlyAndTheStaticOneLast) {
  NgramCacheOptions options;
  options.dynamic[text("b")] = {{text("c")[0], 3}};
  EXPECT_EQ(cached({"ab"}, options), "") << "4 samples are due";
  options.dynamic[text("b")] = {{text("c")[0], 3}, {text("d")[0], 1}};
  EXPECT_EQ(cached({"ab"}, options), "c") << "3 of 4 are 75 %";
  options.fixed[text("ab")] = {{text("d")[0], 2}};
  EXPECT_EQ(cached({"ab"}, options), "d")
      << "d weighs 200, but 1 of 4 is not sure enough; then the "
         "static cache alone says d";
  options.fixed[text("ab")] = {{text("d")[0], 1}};
  EXPECT_EQ(cached({"ab"}, options), "") << "d still weighs more, and 1 sample is not enough";
}

TEST(TokenTrie, CountsEveryStretchUpToItsDepth) {
  TokenTrieOptions options;
  options.depth_max = 3;
  for (const std::string& whole : all_texts(2, 6)) {
    TokenTrie trie(options);
    trie.insert(text(whole));
    for (int length = 1; length <= 4; ++length)
      for (const std::string& path : all_texts(2, length)) {
        int count = 0;
        for (std::size_t at = 0; at < whole.size(); ++at)
          if (length <= 3 && whole.compare(at, path.size(), path) == 0) ++count;
        ASSERT_EQ(trie.frequency(text(path)), count) << whole << " " << path;
      }
  }
}

TokenTrieOptions trie_options(int breadth, int node_count) {
  TokenTrieOptions options;
  options.depth_max = 3;
  options.breadth_min = options.breadth_max = breadth;
  options.node_count = node_count;
  options.is_padded = false;
  return options;
}

std::vector<std::string> trie_paths(const TokenTrieOptions& options, const std::string& learned,
                                    const std::string& history) {
  TokenTrie trie(options);
  trie.insert(text(learned));
  const law::DraftTree tree = trie.draft(text(history));
  std::vector<std::string> paths;
  for (int node = 0; node < tree.size(); ++node) paths.push_back(spelled(tree.tokens_to(node)));
  return paths;
}

using Paths = std::vector<std::string>;

TEST(TokenTrie, ContinuesTheLongestMatchFirstAndMergesTheOthersIn) {
  EXPECT_EQ(trie_paths(trie_options(1, 2), "abcab", "ab"), (Paths{"c", "ca"}))
      << "abc ends there, bca goes on";
  EXPECT_EQ(trie_paths(trie_options(1, 9), "abcab", "xyz"), Paths{});
  EXPECT_EQ(trie_paths(trie_options(1, 9), "abc", "c"), Paths{}) << "c has no continuation";
}

TEST(TokenTrie, TakesTheLastUsedOrTheMostFrequent) {
  EXPECT_EQ(trie_paths(trie_options(1, 1), "ababac", "a"), Paths{"c"});
  EXPECT_EQ(trie_paths(trie_options(2, 2), "ababac", "a"), (Paths{"c", "b"}));
  TokenTrieOptions frequent = trie_options(2, 1);
  frequent.by_frequency = true;
  EXPECT_EQ(trie_paths(frequent, "ababac", "a"), Paths{"b"});
  frequent.node_count = 3;
  EXPECT_EQ(trie_paths(frequent, "ababac", "a"), (Paths{"b", "ba", "c"}))
      << "ab 2 of 3, aba 2 of 2 of that, ac 1 of 3";
}

TEST(TokenTrie, PadsWithTokenZeroBehindTheRoot) {
  TokenTrieOptions options = trie_options(1, 3);
  options.is_padded = true;
  EXPECT_EQ(trie_paths(options, "bcb", "b"), (Paths{"c", "cb", "a"}));
  EXPECT_EQ(trie_paths(options, "bcb", "z"), (Paths{"a", "a", "a"}));
}

TEST(TokenTrie, EvictsWhatWasUsedLongestAgoFromItsEnd) {
  TokenTrieOptions options = trie_options(1, 1);
  options.depth_max = 2;
  options.capacity = 4;
  TokenTrie trie(options);
  trie.insert(text("ab"));
  EXPECT_EQ(trie.size(), 4u) << "root, a, ab, b";
  trie.insert(text("c"));
  EXPECT_EQ(trie.size(), 4u);
  EXPECT_EQ(trie.frequency(text("ab")), 0);
  EXPECT_EQ(trie.frequency(text("a")), 1);
  EXPECT_EQ(trie.frequency(text("c")), 1);
  options.capacity = 2;
  EXPECT_THROW(TokenTrie(options).insert(text("ab")), Error);
}

TEST(SuffixTree, CountsEveryStretchUpToItsDepth) {
  for (const std::string& whole : all_texts(2, 6)) {
    SuffixTree tree(3);
    tree.append(0, text(whole.substr(0, 2)));
    tree.append(1, text("ab"));
    tree.append(0, text(whole.substr(2)));
    for (int length = 0; length <= 4; ++length) {
      for (const std::string& pattern : all_texts(2, length)) {
        int count = 0;
        int followed = 0;
        for (const std::string& part : {whole, std::string("ab")})
          for (std::size_t at = 0; at < part.size(); ++at) {
            if (length > 3 || part.compare(at, pattern.size(), pattern) != 0) continue;
            ++count;
            followed += at + pattern.size() < part.size() && length < 3;
          }
        ASSERT_EQ(tree.count(text(pattern)), count) << whole << " " << pattern;
        ASSERT_EQ(tree.most_frequent(text(pattern)).has_value(), followed > 0);
      }
    }
  }
}

TEST(SuffixTree, BreaksTiesByItsList) {
  const auto best = [](const std::string& whole) {
    SuffixTree tree(2);
    tree.append(0, text(whole));
    return spelled({tree.most_frequent(text("a")).value()});
  };
  EXPECT_EQ(best("abac"), "b") << "seen first";
  EXPECT_EQ(best("abacac"), "c") << "seen twice";
  EXPECT_EQ(best("abacacab"), "b") << "first among the once seen: before all that are seen twice";
  EXPECT_EQ(best("abacadadac"), "d") << "c was behind b among the once seen: it goes behind d";
}

std::string suffix_drafted(const std::string& history, const SuffixOptions& options = {}) {
  SuffixTree tree(options.depth_max);
  tree.append(0, text(history));
  return spelled(speculate(tree, text(history), options).tokens);
}

TEST(SuffixSpeculation, TakesTheDraftWhoseFrequenciesSumToMost) {
  SuffixTree tree(24);
  tree.append(0, text("abcabab"));
  const SuffixDraft draft = speculate(tree, text("abcabab"), {});
  EXPECT_EQ(spelled(draft.tokens), "ca");
  EXPECT_EQ(draft.score, Exact(2, 3)) << "ab was followed by c 1 time in 3, abc by a always";
  EXPECT_EQ(draft.matched, 2u);
}

TEST(SuffixSpeculation, IsBoundedByMatchFactorOffsetAndShare) {
  EXPECT_EQ(suffix_drafted("abcdeabcd"), "eabc") << "4 tokens match, so 4 are drafted";
  SuffixOptions options;
  options.factor = Exact(1, 2);
  EXPECT_EQ(suffix_drafted("abcdeabcd", options), "ea");
  options.offset = -2;
  EXPECT_EQ(suffix_drafted("abcdeabcd", options), "");
  options = {};
  options.draft_max = 1;
  EXPECT_EQ(suffix_drafted("abcdeabcd", options), "e");
  options = {};
  options.share_min = Exact(2, 5);
  EXPECT_EQ(suffix_drafted("abcabab", options), "");
  options.share_min = Exact(1, 3);
  EXPECT_EQ(suffix_drafted("abcabab", options), "ca");
  options.depth_max = 2;
  EXPECT_EQ(suffix_drafted("abcabab", options), "c") << "one token of two is matched";
}

TEST(SuffixSpeculation, LearnsFromEarlierAndFromConcurrentRequests) {
  const LookupEvents alone = asked({"ab"});
  EXPECT_EQ(spelled(suffix_speculation({alone, 9}, {})), "");
  EXPECT_EQ(spelled(suffix_speculation({alone, 9}, {}, {text("bcd")})), "c");
  LookupEvents events = asked({"x", "xbd"}, 1);
  events.push_back(alone.front());
  EXPECT_EQ(spelled(suffix_speculation({events, 9}, {})), "d");
  EXPECT_EQ(spelled(suffix_speculation({asked({"xbd"}, 1), 9}, {})), "") << "a prompt is no output";
}

/// The target's argmax is the letter behind the last one.
model::ToyModelPtr successor_model() {
  return model::function_model(3, [](const Context& context) {
    return one_hot_row(3, context.empty() ? 0 : (context.back() + 1) % 3);
  });
}

TEST(Lookahead, AdvancesItsWindowAndPoolsWhatRunsThroughIt) {
  const model::ToyModelPtr target = successor_model();
  const LookaheadOptions options{3, 2, 60, false};
  const LookaheadState start = initial_state(*target, text("a"), options);
  EXPECT_EQ(start.levels, (std::vector<Context>{text("a"), text("bb")}));
  EXPECT_TRUE(start.pool.empty());
  const LookaheadState next = advanced(start, *target, text("a"), text("ab"), options);
  EXPECT_EQ(next.levels, (std::vector<Context>{text("b"), text("cc")}));
  EXPECT_EQ(next.pool, (std::map<Token, std::vector<Guess>>{{0, {text("bc")}}}))
      << "both trajectories run from a through b to c";
  EXPECT_EQ(lookahead_state_of(memory_of(next)), next);
}

TEST(Lookahead, PoolsTextAndForgetsWhatWasSeenLongestAgo) {
  const model::ToyModelPtr target = successor_model();
  LookaheadOptions options{3, 1, 2, true};
  const LookaheadState state = initial_state(*target, text("abcabaaccabc"), options);
  EXPECT_EQ(state.pool.at(0), (std::vector<Guess>{text("cc"), text("bc")}))
      << "bc, ba, ac, cc, and bc again, of which two are kept";
  EXPECT_EQ(state.pool.at(1), (std::vector<Guess>{text("ca"), text("aa")}));
}

}  // namespace
}  // namespace draftproof::reference::draft
