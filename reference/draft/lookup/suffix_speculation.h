// Suffix decoding: Oliaro et al., "SuffixDecoding" (NeurIPS 2025, arXiv:2411.04975);
// ArcticInference (csrc/suffix_decoding/suffix_tree.cc, read at 9d464388, 2026-06-29) and vLLM's
// method "suffix". A suffix tree of what was said counts how often every stretch of tokens occurs.
// For every length of match the most frequent continuation is followed while its relative frequency
// holds; the draft whose frequencies sum to most wins. The frequencies choose the draft, they are
// not a law that it was drawn from: reporting them as one is lossy (fixtures/faults,
// frequency_as_draft_law).
#pragma once

#include <deque>
#include <map>

#include "reference/draft/lookup/lookup.h"

namespace draftproof::reference::draft {

/// vLLM's defaults.
struct SuffixOptions {
  std::size_t depth_max = 24;
  int draft_max = 32;
  Exact factor = 1;  ///< drafted tokens per matched token
  Exact offset = 0;
  Exact share_min = Exact(1, 10);  ///< of the whole path, not of a token
};

/// How often stretches of up to depth_max tokens occur in texts, and which token follows them most.
class SuffixTree {
 public:
  /// Precondition: depth_max >= 1.
  explicit SuffixTree(std::size_t depth_max);

  /// Appends to the text of that number; texts may grow in turns.
  void append(int text, Token token);
  void append(int text, const std::vector<Token>& tokens);

  /// Occurrences of `pattern`, those that overlap each other included; 0 when it is longer than
  /// depth_max. The empty one occurs before every token.
  std::int64_t count(const std::vector<Token>& pattern) const;
  /// The most frequent token behind `pattern`; absent when nothing follows within depth_max.
  /// Equally frequent ones come in the order of a list that the engine keeps sorted: a token that
  /// is seen for the first time goes to its end; one that is seen again goes behind all that are
  /// then as frequent, unless it was the first of those as frequent as before and one more frequent
  /// by one stands in front of it: then it goes before all that are as frequent now.
  std::optional<Token> most_frequent(const std::vector<Token>& pattern) const;

 private:
  struct Node {
    std::int64_t count = 0;
    Token token = 0;
    std::vector<int> children;
  };

  int find(const std::vector<Token>& pattern) const;
  int seen_again(int node, std::size_t place);

  std::size_t depth_max_;
  std::vector<Node> nodes_;
  std::map<int, std::deque<int>> active_;  // by text: where its last suffixes stand, longest first
};

struct SuffixDraft {
  std::vector<Token> tokens;
  Exact score = 0;  ///< sum over tokens of the relative frequency of the path down to them
  std::size_t matched = 0;
};

/// The best draft behind `history` from one tree; among equals that of the longest match. Of the
/// history only the last depth_max tokens count, of which at least one is never matched.
SuffixDraft speculate(const SuffixTree& tree, const Context& history, const SuffixOptions& options);

/// The request's own tree (its whole history) or the global one (`known` texts of earlier requests
/// and what each request of the batch has emitted behind its prompt), whichever scores more, its
/// own when they are equal. What a request was asked first is its prompt.
std::vector<Token> suffix_speculation(const Question& question, const SuffixOptions& options,
                                      const std::vector<std::vector<Token>>& known = {});

}  // namespace draftproof::reference::draft
