// Toy models: language models that are tables of rationals over a handful of tokens, so that every
// probability of everything decoded from them is exactly known.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "reference/distribution.h"
#include "reference/law_row.h"

namespace draftproof::reference::model {

class ToyModel {
 public:
  virtual ~ToyModel() = default;
  virtual int vocab_size() const = 0;

  /// The law of the next token behind `context`. Kept once computed, so a walk over many branches
  /// asks each row once; not for use by several threads at a time.
  /// Throws BrokenInvariant when the model answers with a row that is not a law.
  const LawRow& row(const Context& context) const;
  /// Forgets the rows that were kept; references to them end. For servers, which see ever more.
  void forget() const { known_.clear(); }

 protected:
  /// vocab_size() probabilities that sum to 1; equal contexts get equal rows.
  virtual LawRow compute(const Context& context) const = 0;

 private:
  mutable std::map<Context, LawRow> known_;
};

using ToyModelPtr = std::shared_ptr<const ToyModel>;

/// The model whose rows `law` computes.
ToyModelPtr function_model(int vocab_size, std::function<LawRow(const Context&)> law);

/// Rows that depend on the position only; the last one serves every later position. Throws
/// Error(kInput) when there is none or vocabularies differ.
ToyModelPtr position_model(const std::vector<Distribution>& rows);

/// Greedy decoding of `target`: all mass on the first maximum of its row.
ToyModelPtr greedy_model(ToyModelPtr target);

}  // namespace draftproof::reference::model
