// N-gram pool: the NGRAM drafter of TensorRT-LLM (tensorrt_llm/_torch/speculative/ngram.py, read at
// 02499765). Patterns of one token up to a largest size map to what followed them, in the order in
// which that was first seen. The pool may serve all requests, so that one request's text drafts for
// another: lossless, though not private.
#pragma once

#include <map>

#include "reference/draft/lookup/lookup.h"

namespace draftproof::reference::draft {

/// The engine's defaults, except for the sizes, which it asks for.
struct NgramPoolOptions {
  int draft_count_max = 4;                ///< tokens kept behind a pattern
  std::size_t size_max = 2;               ///< tokens of a pattern
  bool keeps_all = true;                  ///< else a longer match takes the place of all others
  bool uses_oldest = true;                ///< else the newest
  bool is_public = true;                  ///< one pool for all requests
  std::optional<std::size_t> length_max;  ///< of prompt and output
};

class NgramPool {
 public:
  explicit NgramPool(const NgramPoolOptions& options) : options_(options) {}

  /// Learns from `history` and answers with a draft behind it: that of the longest known pattern
  /// that it ends with.
  std::vector<Token> ask(int request, const Context& history);

  /// What is known to follow a pattern, in order; empty when it is unknown.
  std::vector<std::vector<Token>> matches(int request, const std::vector<Token>& pattern) const;

 private:
  using Pool = std::map<std::vector<Token>, std::vector<std::vector<Token>>>;

  void learn(Pool& pool, const Context& sequence, std::size_t size) const;

  NgramPoolOptions options_;
  std::map<int, Pool> pools_;  // by request; 0 for all when public
  std::map<int, std::size_t> start_;
};

/// The pool after all events, asked the last one.
std::vector<Token> ngram_pool(const Question& question, const NgramPoolOptions& options);

}  // namespace draftproof::reference::draft
