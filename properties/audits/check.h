// Check: what one audit is handed of one setting. Each audit is a file that exports a function from
// a CheckContext to a verdict; judge.cpp alone knows them all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/audits/judge.h"

namespace draftproof::properties::audits {

/// Lives as long as the call. `cases` are the setting's, in the order of the matrix.
struct CheckContext {
  const Matrix& matrix;
  const Evidence& evidence;
  const JudgeSettings& settings;
  const Setting& setting;
  const AuditInfo& info;
  std::vector<const AuditCase*> cases;
  double log_alarm = 0;  ///< natural; the check's share of the budget is in it
  double miss = 0;       ///< for the bounds of this check's effects, all looks together
};

/// Trials of each case at every look, as far as transcripts are there: first_look, twice that, ...
/// and all that are there.
std::vector<std::uint64_t> look_sizes(const CheckContext& context, Arm arm);

/// The coin of ours inside a token's share: a function of its address alone, in [0, 1).
double place_coin(const Matrix& matrix, const TrialKey& key, std::size_t position);

/// A verdict with claim, property, setting and subject filled in; inconclusive so far.
oracle::Verdict begun(const CheckContext& context);

// One function a file.
oracle::Verdict baseline_law(const CheckContext& context);
oracle::Verdict next_token_law(const CheckContext& context);
oracle::Verdict joint_law(const CheckContext& context);
oracle::Verdict baseline_against_itself(const CheckContext& context);
oracle::Verdict two_sample_law(const CheckContext& context);
oracle::Verdict rescored_law(const CheckContext& context);
oracle::Verdict rescored_parity(const CheckContext& context);
oracle::Verdict draft_efficiency(const CheckContext& context);
oracle::Verdict greedy_margin_parity(const CheckContext& context);
oracle::Verdict same_seed_identity(const CheckContext& context);
oracle::Verdict seed_repeats(const CheckContext& context);
oracle::Verdict support_of_filters(const CheckContext& context);
oracle::Verdict well_formed(const CheckContext& context);
oracle::Verdict counter_identities(const CheckContext& context);
oracle::Verdict logprob_truth(const CheckContext& context);
oracle::Verdict grammar_validity(const CheckContext& context);
oracle::Verdict declared_distance(const CheckContext& context);

}  // namespace draftproof::properties::audits
