// Token trie: the NGRAM drafter of SGLang (srt/speculative/cpp_ngram/trie.cpp, read at 0d1d60f5;
// ngram_worker.py at 0037c142). Every stretch of up to max_trie_depth tokens that any request
// emitted is a path; all suffixes of the history that are paths are continued into one draft tree,
// the longest first, by recency (BFS) or by frequency (PROB). Verified target-only.
#pragma once

#include "reference/draft/lookup/lookup.h"

namespace draftproof::reference::draft {

struct TokenTrieOptions {
  std::size_t depth_max = 18;
  int breadth_min = 1;
  int breadth_max = 10;
  int node_count = 11;                ///< drafted tokens, all in all
  std::size_t capacity = 10'000'000;  ///< nodes, the root included
  bool by_frequency = false;          ///< PROB; else BFS
  /// The engine fills the tree up with children of the root, all of token 0. They are candidates
  /// like all others; a verifier that gives each of them a share of the coin is lossy.
  bool is_padded = true;
};

class TokenTrie {
 public:
  explicit TokenTrie(const TokenTrieOptions& options);

  /// Every suffix of `tokens`, cut to depth_max, becomes a path. Evicts what was used longest ago
  /// when there is no room. Throws Error(kInput) when there is none at all.
  void insert(const std::vector<Token>& tokens);
  /// The draft behind the last depth_max tokens of `history`.
  law::DraftTree draft(const Context& history) const;

  /// How often a path was inserted; 0 when it is none.
  std::int64_t frequency(const std::vector<Token>& path) const;
  std::size_t size() const;  ///< nodes, the root included

 private:
  struct Node {
    int parent = -1;
    Token token = 0;
    std::int64_t frequency = 0;
    std::int64_t used = 0;  // the later, the larger
    int depth = 0;
    bool is_gone = false;
    std::vector<int> children;
  };
  struct Anchor {
    int node;
    int depth;
  };

  int child(int node, Token token) const;
  int find(const std::vector<Token>& path) const;
  void evict(std::size_t count);
  std::vector<Anchor> anchors(const Context& history) const;
  void add_by_recency(law::DraftTree& tree, const Anchor& anchor) const;
  std::vector<int> sorted(int node, bool by_frequency) const;
  law::DraftTree by_frequency(const Context& history) const;

  TokenTrieOptions options_;
  std::vector<Node> nodes_;
  std::size_t gone_ = 0;
  std::int64_t clock_ = 0;
};

/// The trie into which `known` was inserted first, and then, behind every verification of every
/// request, the last depth_max tokens of its history; asked the last event.
law::DraftTree token_trie(const Question& question, const TokenTrieOptions& options,
                          const std::vector<std::vector<Token>>& known = {});

}  // namespace draftproof::reference::draft
