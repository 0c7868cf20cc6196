// ngram-mod: a lookup of llama.cpp (common/ngram-mod.cpp and speculative.cpp, read in build
// 11434, 2026). A table from the hash of the last n tokens to ONE next token: the last write
// wins, collisions are not noticed, and all requests of a server write into it. A draft is a walk
// through the table.
#pragma once

#include <map>

#include "reference/draft/lookup/lookup.h"

namespace draftproof::reference::draft {

/// The engine's defaults; drafts shorter than draft_min are dropped.
struct NgramModOptions {
  std::size_t key_size = 24;
  int draft_min = 48;
  int draft_max = 64;
  std::size_t table_size = std::size_t{4} << 20;
  std::size_t learned_at_once = 32;  ///< tokens that have to be unlearned before any is learned
  /// The table is emptied when, at the begin of a request, more than this share of its slots is in
  /// use, or after `poor_rounds_max` drafts in a row of which less than `poor_share` was kept. In
  /// 2026-04 that was 3 and 1/2, and slots written over were counted instead of those in use.
  Exact occupied_max = Exact(1, 4);
  bool counts_overwrites = false;
  Exact poor_share = Exact(1, 4);
  int poor_rounds_max = 5;
};

class NgramMod {
 public:
  explicit NgramMod(const NgramModOptions& options);

  /// Learns the history that a request begins with. The last token is being decoded.
  void begin(int request, const Context& history);
  /// A draft behind `history`. Precondition: the request has begun.
  std::vector<Token> ask(int request, const Context& history);
  void accepted(int request, int count);

  std::size_t slot(const std::vector<Token>& key) const;

 private:
  struct Request {
    std::size_t learned_to = 0;
    std::size_t drafted = 0;
    int poor_rounds = 0;
  };

  void learn(const Context& decoded, std::size_t from);
  void empty();

  NgramModOptions options_;
  std::map<std::size_t, Token> table_;
  std::size_t overwritten_ = 0;
  std::map<int, Request> requests_;
};

/// The table after all events, asked the last one.
std::vector<Token> ngram_mod(const Question& question, const NgramModOptions& options);

}  // namespace draftproof::reference::draft
