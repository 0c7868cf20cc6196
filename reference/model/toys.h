// Toys: pairs of a target and a draft model that show one kind of fault each. A law that is right
// on one of them may be wrong on another: equal rows hide index faults, full supports hide support
// faults, models without memory hide stale state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reference/model/toy_model.h"

namespace draftproof::reference::model {

/// Small rational rows that are a function of (seed, key): `vocab_size` weights out of a common
/// denominator, so that products of many rows stay short numbers.
struct RowFamily {
  int vocab_size = 3;
  std::uint64_t seed = 1;
  bool has_zeros = false;  ///< about a third of the tokens have probability 0

  /// Never all on one token unless vocab_size is 1; equal keys get equal rows.
  LawRow row(const std::vector<std::int64_t>& key) const;
};

/// T1: every context has a row of its own.
ToyModelPtr full_memory_model(const RowFamily& rows);
/// T2: the row depends on the last `order` tokens.
ToyModelPtr markov_model(const RowFamily& rows, int order);
/// T5 (with T1's rows): probability on even tokens only, or on odd ones only.
ToyModelPtr parity_model(const RowFamily& rows, bool is_odd);
/// T6: the row depends on a state s that is fed token by token: s' = (3 s + x + 1) mod 5, s = 0
/// before the first.
ToyModelPtr recurrent_model(const RowFamily& rows);
int recurrent_state(int state, Token token);
/// T8: copies the token `period` steps back with probability 7/8, and spreads the rest evenly over
/// all tokens; evenly over all where there is none.
ToyModelPtr copying_model(int vocab_size, int period);
/// weight x first + (1 - weight) x second, row by row: a draft that is near its target.
ToyModelPtr mixed_model(ToyModelPtr first, ToyModelPtr second, const Exact& weight);

struct Toy {
  std::string name;
  std::string statement;  ///< what its rows depend on, and what they are there to show
  ToyModelPtr target;
  ToyModelPtr draft;
  Context prompt;
};

/// "textbook" (T0: .1/.3/.6 against .7/.2/.1 everywhere), "full-memory", "near", "markov", "zeros",
/// "equal", "disjoint", "recurrent", "copying", "two-tokens".
const std::vector<Toy>& toys();
/// Throws Error(kInput) that lists the known toys.
const Toy& toy(std::string_view name);

}  // namespace draftproof::reference::model
