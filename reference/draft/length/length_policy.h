// Length policies: how long a chain is, decided where the theory allows it (theorem B of
// reference/README.md). Whether token i is drafted may depend on everything before it: the past,
// the row it would be drawn from, the tokens drafted before it, other requests. What may not happen
// is that a token is drawn, looked at, and then left out; a policy that looks at a drawn token may
// only stop behind it.
#pragma once

#include <functional>
#include <memory>

#include "reference/draft/drafter.h"
#include "reference/model/toy_model.h"

namespace draftproof::reference::draft {

/// Functions that are empty never stop anything and keep no memory.
struct LengthPolicy {
  std::function<law::Memory(const Context& prompt)> initial;
  /// Tokens that this iteration may have; asked once, before the first.
  std::function<int(const law::StepBegin&, const law::Memory& own, const law::Memory& shared)>
      limit;
  /// True: no token is drawn from `row`, the one behind the tokens drafted so far.
  std::function<bool(const LawRow& row)> stops_before;
  /// True: `token`, just drawn from `row`, is the last one; it stays.
  std::function<bool(const LawRow& row, Token token)> stops_behind;
  /// What is remembered of a draft before it is verified, and of how it went.
  std::function<void(const law::StepBegin&, const law::DraftTree&, law::Memory& own,
                     law::Memory& shared)>
      drafted;
  std::function<void(const law::StepEnd&, law::Memory& own, law::Memory& shared)> verified;
};

/// How the tokens of a chain come about.
enum class ChainDraw : std::uint8_t {
  kSampled,  ///< from the draft model's row, which is reported
  kLargest,  ///< the row's first maximum, reported one-hot
};

/// A chain from a draft model, as long as the policy says and at most as asked for.
std::shared_ptr<const Drafter> policed_drafter(model::ToyModelPtr draft, LengthPolicy policy,
                                               ChainDraw draw = ChainDraw::kSampled);

}  // namespace draftproof::reference::draft
