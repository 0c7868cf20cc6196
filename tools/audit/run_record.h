// Run record: what a store says of its run beside the transcripts: the matrix that was asked, what
// it was to be judged by, who answered. Judging needs nothing else, so a run.sqlite is judged
// anywhere, and two files are of one run when these agree.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "properties/audits/judge.h"
#include "tools/audit/config.h"
#include "tools/audit/toy_law.h"
#include "tools/store/observation_store.h"

namespace draftproof::tools::audit {

struct RunRecord {
  properties::audits::Matrix matrix;
  /// Laws left out: they are behind `toy`.
  properties::audits::JudgeSettings judge;
  std::string toy;               ///< a name or a manifest; empty: nobody knows the law
  std::optional<int> toy_vocab;  ///< of the toy "hashed"
  std::vector<std::string> required_claims;
  bool inconclusive_is_failure = true;
  /// What a lossy mode may cost. Of its score command a store keeps only that there was one, since
  /// what comes with a file is not started.
  std::optional<ApproximateGate> approximate;
  Traffic traffic;
  std::vector<std::string> not_exercised;
  std::string baseline, speculative;  ///< who answered: identity_of(facts); empty: not told
  /// For the eyes of a reader: name -> words. May differ between files of one run.
  std::vector<std::pair<std::string, std::string>> told;
};

/// What the files of one run share, by name -> JSON.
std::vector<std::pair<std::string, std::string>> shared_facts(const RunRecord& record);

/// Writes what is not there yet. Throws Error(kInput) when the store is of another run.
void write_record(store::ObservationStore& store, const RunRecord& record);
/// Throws Error(kInput) at `place` for a store without a record, or with a damaged one.
RunRecord read_record(const store::ObservationStore& store, const std::string& place);

/// Why what came last may be another engine's, and nothing may be judged; empty: nothing is said.
std::string change_of(const store::ObservationStore& store);
void write_change(store::ObservationStore& store, const std::string& why);

/// Judge settings whose laws live in `law`. Throws as toy_law; a manifest is looked for by its name
/// in `folder`, unless that is empty, and then at its path.
properties::audits::JudgeSettings judge_settings(const RunRecord& record, ToyLaw& law,
                                                 const std::string& folder,
                                                 const std::string& place);

}  // namespace draftproof::tools::audit
