// Drafters and scorers out of functions. Most methods differ in the law of the next drafted token
// and in what is kept behind an iteration, and most of their faults are one of these exchanged for
// another: so each is a function of its own, and a wrong drafter is a right one with one of them
// replaced.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "reference/draft/drafter.h"
#include "reference/law/decoding.h"

namespace draftproof::reference::draft {

/// A drafter's behaviour; functions that are empty keep no memory.
struct DraftFunctions {
  std::function<law::Memory(const Context&)> initial;
  std::function<law::DraftTree(const law::StepBegin&, const law::Memory&, law::Chooser&)> draft;
  /// The memory behind an iteration, from that before it.
  std::function<law::Memory(const law::StepEnd&, const law::Memory&)> commit;
};

/// Precondition: `draft` is given.
std::shared_ptr<const Drafter> function_drafter(DraftFunctions functions);

/// Where the next token of a chain is drawn.
struct ChainPoint {
  const Context& context;             ///< prompt and everything emitted
  const std::vector<Token>& drafted;  ///< in this iteration, so far
  const law::Memory& memory;

  int offset() const { return static_cast<int>(drafted.size()); }
};

/// A law of the next drafted token; an empty row ends the draft.
using PointLaw = std::function<LawRow(const ChainPoint&)>;

struct ChainLaws {
  PointLaw drawn;
  PointLaw reported;                             ///< empty function: one-hot
  std::function<bool(const ChainPoint&)> stops;  ///< asked before a token is drawn; empty: never
};

/// Draws a chain from left to right, token i with the draft coin of offset i.
law::DraftTree drawn_chain(const ChainLaws& laws, const law::StepBegin& begin,
                           const law::Memory& memory, law::Chooser& chooser);

/// The chain drafter without memory.
DraftFunctions chain_functions(ChainLaws laws);
/// Reports the row it draws from.
ChainLaws reporting_drawn(PointLaw law);
/// Drafts the first maximum of each row, as what it is: one-hot.
ChainLaws greedy_drawn(PointLaw law);

struct ScorerFunctions {
  std::function<law::Memory(const Context&)> initial;
  /// draft.size() + 1 rows, as Scorer::rows.
  std::function<std::vector<LawRow>(const Context&, const law::DraftTree&, const law::Memory&)>
      rows;
  std::function<law::Memory(const law::StepEnd&, const law::Memory&)> commit;
};

/// Precondition: `rows` is given.
std::shared_ptr<const law::Scorer> function_scorer(ScorerFunctions functions);

/// `target` as its own scorer, drafted for by `functions`, decided by the rule of that name.
law::Decoding decoding_by(model::ToyModelPtr target, DraftFunctions functions,
                          std::string_view rule, int draft_count, const Context& prompt);

/// `context` and `tokens` behind it.
Context joined(const Context& context, const std::vector<Token>& tokens);
/// The last `count` tokens, fewer where there are not so many.
Context last_tokens(const Context& context, std::size_t count);
/// `row` over its sum; empty when the sum is 0.
LawRow over_sum(LawRow row);

}  // namespace draftproof::reference::draft
