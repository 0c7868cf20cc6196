// Tiny cases: target and draft tables over every context of a tree small enough to walk. Rows may
// differ at every context, since equal rows hide index faults.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "reference/distribution.h"
#include "reference/token.h"

namespace draftproof::reference::law {

template <class Scalar>
using LawRow = std::vector<Scalar>;

/// [context length][context] -> row. A context of length n is the number with the base-vocab_size
/// digits x_1 .. x_n, first token most significant.
template <class Scalar>
using LawTable = std::vector<std::vector<LawRow<Scalar>>>;

/// What a rule reports of a draft: the row its token was drawn from, or all mass on the token.
enum class DraftReport : std::uint8_t { kLawDrawn, kOneHot };

/// A draft of draft_count tokens at the empty context. Tables of target lengths 0 .. draft_count
/// and draft lengths 0 .. draft_count - 1 serve one iteration; sequence_law() needs longer ones.
template <class Scalar>
struct TinyCase {
  int vocab_size = 0;
  int draft_count = 0;
  LawTable<Scalar> target;
  LawTable<Scalar> draft;
  DraftReport report = DraftReport::kLawDrawn;
};

using Context = std::vector<Token>;

/// The number of a context in a table of its length.
std::size_t context_index(int vocab_size, std::span<const Token> context);

/// All contexts of one length, in the order of their numbers.
std::vector<Context> contexts(int vocab_size, int length);

/// Tables that ask `target` and `draft` once per context of length 0 .. depth (draft: one less).
/// depth >= draft_count; all rows have one vocab_size.
TinyCase<Exact> table_case(int draft_count, int depth,
                           const std::function<Distribution(const Context&)>& target,
                           const std::function<Distribution(const Context&)>& draft);

/// Rows that depend on the position only: target[i] for i = 0 .. draft.size(). Throws Error(kInput)
/// when the vocabularies or the counts do not fit together.
TinyCase<Exact> position_case(const std::vector<Distribution>& target,
                              const std::vector<Distribution>& draft);

/// The same tables in double precision.
TinyCase<double> in_double(const TinyCase<Exact>& exact);

}  // namespace draftproof::reference::law
