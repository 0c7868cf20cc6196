// Toy rows: the float64 logits behind any history, kept for whoever asks again. A bigram has a row
// for every last token: nothing is written into its states, so a row is the last matrix times the
// norm of an embedding. Of the others rows are kept by history, and the cells of the last history
// asked for, so that a sequence walked token by token costs one forward pass a token.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "reference/model/toy_llama.h"
#include "tools/toys/toy_spec.h"

namespace draftproof::tools::toys {

class ToyRows {
 public:
  explicit ToyRows(const ToySpec& spec);

  int vocab_size() const { return spec_.vocab_size; }
  /// Throws Error(kInput) for no token, or one outside the vocabulary.
  std::vector<double> behind(std::span<const reference::Token> history);

 private:
  std::vector<double> computed(std::span<const reference::Token> history);
  std::vector<double> row_of(reference::Token last) const;

  ToySpec spec_;
  reference::model::ToyLlamaWeights weights_;        ///< of a bigram
  std::optional<reference::model::ToyLlama> model_;  ///< of the others
  std::mutex one_at_a_time_;
  std::map<std::vector<reference::Token>, std::vector<double>> known_;
  std::size_t kept_ = 0;  ///< numbers in known_
  std::vector<reference::Token> walked_;
  reference::model::LlamaCache cells_;  ///< of walked_
};

}  // namespace draftproof::tools::toys
