// The law of the integer chain over all 2^64 values of every coin, as a test oracle: coins are
// counted by bisection on the very functions that reference/verify decides with (each is monotone
// in its coin), and the rest is rational arithmetic. Against the paper's law on mass / total the
// distance is at most draft_count 2^-64 + vocab_size 2^-65: one coin per decision, one per
// breakpoint of the last draw, of which half the sum of absolute differences counts.
#pragma once

#include <vector>

#include "reference/law/output_law.h"
#include "reference/mass.h"

namespace draftproof::reference::law {

/// Mass rows at every context; [context length][context_index]. All rows are kOk.
struct MassCase {
  int vocab_size = 0;
  int draft_count = 0;
  std::vector<std::vector<MassRow>> target;
  std::vector<std::vector<MassRow>> draft;
};

/// mass / total of every row: the laws that the paper's rule is run on.
ModelCase laws_of(const MassCase& masses);

/// Drafts are drawn from exactly mass / total; accept, recovered and bonus coins are counted.
EmissionLaw coin_law(const MassCase& masses);

/// draft_count 2^-64 + vocab_size 2^-65.
Exact coin_law_bound(const MassCase& masses);

}  // namespace draftproof::reference::law
