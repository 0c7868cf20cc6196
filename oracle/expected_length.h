// Expected length: what can be said of a subject by counting how many tokens its iterations emit,
// without looking at any token. A lossless rule cannot emit more than the optimum of its case
// (reference/law/optimum.h), so whoever does is lossy. And a subject that is said to follow a rule
// emits exactly what the rule's formula says: more is a rule that accepts too much, even below the
// optimum; less is a drafter or cache that went wrong, which no law shows.
//
// Counts of emitted tokens lie in [1, emitted_max], so their mean has bounds at every sample size
// from betting: with m the assumed mean, the wealth of a bettor who stakes a share f on "above",
// the product of 1 - f + f (n - 1) / (m - 1) over the counts n, is a nonnegative martingale that
// starts at 1 if the mean is m (a supermartingale if it is less), and exceeds 1 / a with
// probability at most a, at whatever time one stops (Ville 1939; Waudby-Smith, Ramdas, JRSS B
// 2024). The mean over a grid of shares is one too. Means it refutes lie below the lower bound; the
// same from the other end gives the upper bound.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oracle/verdict.h"
#include "reference/scalar.h"

namespace draftproof::oracle {

/// What is known of a case before anything is measured.
struct LengthExpectation {
  reference::Exact optimum;      ///< no lossless rule emits more on average
  std::string optimum_name;      ///< why
  std::string rule;              ///< what the subject is said to follow
  reference::Exact rule_length;  ///< what that rule's formula says
  int emitted_max = 1;           ///< the largest number of tokens of one iteration
};

/// Numbers of iterations by how many tokens they emitted: element n counts those of n tokens.
using LengthCounts = std::vector<std::uint64_t>;

struct MeanBounds {
  double low = 0;
  double high = 0;
};

/// Bounds on the mean that both hold, at every time at once, with probability at least
/// 1 - false_alarm. Preconditions: 0 < false_alarm < 1; no count outside [1, emitted_max].
MeanBounds mean_bounds(const LengthCounts& counts, int emitted_max, double false_alarm);

/// The property "emits no more than a lossless rule can", for the claim sequence-lossless.
/// Violated: the length is above the optimum. Upheld says nothing about the law, and says so. Where
/// the optimum is emitted_max nobody can be above it: inconclusive, with the note "not exercised".
Verdict emits_no_more_than_lossless(const reference::Exact& measured,
                                    const LengthExpectation& expected);
/// The same from samples, all of iterations of the case: violated if the lower bound is above the
/// optimum, upheld if the upper bound exceeds it by no more than `visible`, else inconclusive.
Verdict emits_no_more_than_lossless(const LengthCounts& counts, const LengthExpectation& expected,
                                    double false_alarm, double visible);

/// The property "emits what its rule's formula says", for the claim coupled. Above: violated.
/// Below: upheld, with the note "lossless but inefficient" if `is_lossless`, which the length alone
/// cannot tell; else inconclusive.
Verdict emits_as_its_rule(const reference::Exact& measured, const LengthExpectation& expected,
                          bool is_lossless);
/// The same from samples. Upheld only if the bounds hold the formula's length and are no wider than
/// `visible`.
Verdict emits_as_its_rule(const LengthCounts& counts, const LengthExpectation& expected,
                          bool is_lossless, double false_alarm, double visible);

}  // namespace draftproof::oracle
