// Paired answers: two samples of one law that nobody knows, as pairs in a fixed order, and what
// oracle/two_sample.h makes of them at doubling looks. What two_sample_law says of both arms and
// baseline_against_itself of two halves of one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oracle/verdict.h"
#include "properties/audits/check.h"

namespace draftproof::properties::audits {

struct AnswerPair {
  const AuditCase* audit_case = nullptr;
  const Transcript* one = nullptr;
  const Transcript* other = nullptr;
};

struct PairSample {
  std::vector<AnswerPair> pairs;
  std::vector<std::size_t> looks;  ///< how many pairs are there at each look
  std::uint64_t left_out = 0;      ///< pairs with a failure, or with what is no token id
};

/// Trials of both arms that have a seed of their own each: (baseline, speculative).
PairSample pairs_of_arms(const CheckContext& context);
/// Even and odd trials of the baseline.
PairSample pairs_of_baseline(const CheckContext& context);

struct PairFinding {
  double log_e_value = 0;  ///< the largest at any look
  std::size_t look_count = 0;
  double slack = 0;              ///< nats that the tolerance takes off, all pairs together
  std::uint64_t cell_count = 0;  ///< of the token that the effect is of, all prompts
};

/// `tolerance`: nats a token by which the laws of both sides may differ.
PairFinding pair_finding(const CheckContext& context, const PairSample& sample, double tolerance);

/// How far both are apart at a position: tokens of all prompts.
oracle::Effect pair_effect(const CheckContext& context, const PairSample& sample,
                           const PairFinding& finding, std::size_t position);

/// "tv 0.031 (0.02 to 0.04)"
std::string words_of(const oracle::Effect& effect);

/// The token behind a prompt, or behind its first token, whose shares differ most.
oracle::Witness pair_witness(const PairSample& sample, double log_e_value, const char* one_name,
                             const char* other_name);

/// Evidence, alarm, effect and kind: violated, upheld where enough would have been seen
/// (law_sample.h), else inconclusive.
void conclude(const CheckContext& context, const PairSample& sample, const PairFinding& finding,
              oracle::Verdict& verdict);

}  // namespace draftproof::properties::audits
