// Shaped targets: a target model as a request sees it. The plain decoder's rows are the laws of an
// engine's contract behind prompt and emitted tokens; a verification needs the same laws behind the
// drafted tokens too, each row with its own history: counts include the drafted tokens before it,
// the grammar stands where they lead. A contract that freezes its counts over the draft (SGLang
// with speculation) has other rows there than the plain decoder, and is lossy exactly as far as
// they differ.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "reference/contract.h"
#include "reference/law/scorer.h"
#include "reference/model/grammar.h"
#include "reference/model/toy_model.h"

namespace draftproof::reference::law {

struct ShapedTarget {
  int vocab_size = 0;
  /// The model's row behind prompt and tokens.
  std::function<std::vector<float>(const Context&)> logits;
  Contract contract;
  RowRequest request;
  /// Its mask is put into the request behind every history.
  std::optional<model::Grammar> grammar;
  std::size_t prompt_length = 0;  ///< the first tokens of every context
};

/// fp32 logarithms of a model's rows; -inf for probability 0.
std::function<std::vector<float>(const Context&)> logarithms_of(model::ToyModelPtr model);

/// The history of the row behind `context` (prompt and emitted tokens) and `drafted`.
reference::History history_behind(const ShapedTarget& target, const Context& context,
                                  std::vector<Token> drafted);

/// The law of that row. Throws as law_of_row(): a row whose every token is banned has none.
LawRow row_behind(const ShapedTarget& target, const Context& context,
                  const std::vector<Token>& drafted);

/// The plain decoder: what the contract makes of the model when nothing is ever drafted.
model::ToyModelPtr serial_model(const ShapedTarget& target);

/// The rows of a verification, as the contract has them. Stateless.
std::shared_ptr<const Scorer> shaped_scorer(const ShapedTarget& target);

}  // namespace draftproof::reference::law
