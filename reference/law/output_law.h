// Output laws: the law of what a rule emits over a tiny case, by walking every branch, and how far
// it is from the target's. In rationals, "lossless" means that the distance is the number zero.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "reference/law/rule.h"

namespace draftproof::reference::law {

/// Joint law of one iteration's emitted tokens and accepted count. Holds no zeros.
template <class Scalar>
using EmissionLaw = std::map<Emission, Scalar>;

/// Joint law of sequences of one length. Holds no zeros.
template <class Scalar>
using SequenceLaw = std::map<std::vector<Token>, Scalar>;

/// One iteration at the empty context.
template <class Scalar>
EmissionLaw<Scalar> emission_law(const TinyCase<Scalar>& tiny_case,
                                 const RuleFunction<Scalar>& rule);

/// One iteration followed by plain draws from the target up to draft_count + 1 tokens, so that
/// emissions of unequal length compare: equal to target_law iff the iteration is lossless.
template <class Scalar>
SequenceLaw<Scalar> extended_law(const TinyCase<Scalar>& tiny_case, const EmissionLaw<Scalar>& law);

/// Iteration after iteration up to `length` tokens; the last ones draft no more than still fits.
/// Needs target tables of lengths 0 .. length - 1 and draft tables of 0 .. length - 2.
template <class Scalar>
SequenceLaw<Scalar> sequence_law(const TinyCase<Scalar>& tiny_case,
                                 const RuleFunction<Scalar>& rule, int length);

/// The plain decoder: the product of the target's rows along every sequence.
template <class Scalar>
SequenceLaw<Scalar> target_law(const TinyCase<Scalar>& tiny_case, int length);

/// The law of the token at `index` of a sequence.
template <class Scalar>
LawRow<Scalar> marginal(const SequenceLaw<Scalar>& law, int vocab_size, int index);

/// Half the sum of |first - second|.
template <class Scalar>
Scalar total_variation(const SequenceLaw<Scalar>& first, const SequenceLaw<Scalar>& second);
template <class Scalar>
Scalar total_variation(const EmissionLaw<Scalar>& first, const EmissionLaw<Scalar>& second);

/// Kullback-Leibler divergence of `second` from `first` in nats: sum of first ln(first / second);
/// infinity when `second` lacks a sequence of `first`.
template <class Scalar>
double kl_divergence(const SequenceLaw<Scalar>& first, const SequenceLaw<Scalar>& second);

/// How often verification reached a drafted position, and how often it kept the token there.
template <class Scalar>
struct PositionAcceptance {
  Scalar reached;
  Scalar accepted;
  /// Conditional acceptance; absent for a position that is never reached.
  std::optional<Scalar> conditional() const {
    if (reached == 0) return std::nullopt;
    return Scalar(accepted / reached);
  }
};

template <class Scalar>
std::vector<PositionAcceptance<Scalar>> acceptance_by_position(const EmissionLaw<Scalar>& law,
                                                               int draft_count);

/// Accepted tokens over drafted tokens. Precondition: draft_count > 0.
template <class Scalar>
Scalar draft_acceptance(const EmissionLaw<Scalar>& law, int draft_count);

template <class Scalar>
Scalar expected_emitted(const EmissionLaw<Scalar>& law);

}  // namespace draftproof::reference::law
