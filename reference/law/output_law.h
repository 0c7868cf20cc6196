// Output laws: what a rule emits in one iteration, what a decoder emits, and how far two laws are
// from each other.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "reference/law/rule.h"

namespace draftproof::reference::law {

/// Joint law of one iteration's emitted tokens and accepted count. Holds no zeros.
using EmissionLaw = std::map<Emission, Exact>;

/// Joint law of sequences. Holds no zeros.
using SequenceLaw = std::map<std::vector<Token>, Exact>;

/// One iteration followed by plain draws from the target up to `length` tokens, so that emissions
/// of unequal length compare: equal to target_law iff the iteration is lossless. Precondition: no
/// emission is longer.
SequenceLaw extended_law(const model::ToyModel& target, const EmissionLaw& law, int length,
                         const Context& prompt = {});

/// The law of the token at `index` of a sequence.
LawRow marginal(const SequenceLaw& law, int vocab_size, int index);

/// Half the sum of |first - second|.
Exact total_variation(const SequenceLaw& first, const SequenceLaw& second);
Exact total_variation(const EmissionLaw& first, const EmissionLaw& second);

/// Kullback-Leibler divergence of `second` from `first` in nats: sum of first ln(first / second);
/// infinity when `second` lacks a sequence of `first`.
double kl_divergence(const SequenceLaw& first, const SequenceLaw& second);

/// How often verification reached a drafted position, and how often it kept the token there.
struct PositionAcceptance {
  Exact reached;
  Exact accepted;
  /// Conditional acceptance; absent for a position that is never reached.
  std::optional<Exact> conditional() const {
    if (reached == 0) return std::nullopt;
    return Exact(accepted / reached);
  }
};

std::vector<PositionAcceptance> acceptance_by_position(const EmissionLaw& law, int draft_count);

/// Accepted tokens over drafted tokens. Precondition: draft_count > 0.
Exact draft_acceptance(const EmissionLaw& law, int draft_count);

/// Expected number of emitted tokens of one iteration.
Exact expected_emitted(const EmissionLaw& law);

}  // namespace draftproof::reference::law
