// Recorded run: transcripts that lie in files, whoever wrote them: run stores of draftproof, shards
// of one run, lines of JSON (tools/schema/transcript.schema.json) of anybody's engine. What lines
// alone do not say of their run is read off them: settings are the sampling parameters that came,
// cases the prompts.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "properties/audits/evidence.h"
#include "tools/audit/run_record.h"

namespace draftproof::tools::audit {

struct RecordedRun {
  RunRecord record;
  properties::audits::Evidence evidence;
  std::filesystem::path folder;  ///< of the first file
  std::vector<std::string> files;
  bool is_of_store = false;  ///< false: lines alone
  std::string changed;       ///< why what came last may be another engine's; empty: nothing
};

/// A folder stands for its run.sqlite. Throws Error(kInput) at the file, and the line, for what is
/// neither, for files of different runs (saying what differs), for nothing to judge.
RecordedRun read_run(const std::vector<std::string>& files);

/// The run that these transcripts are of. Throws Error(kInput) at "case ID" for a case that is not
/// one: its trials were asked differently.
RunRecord record_of(const properties::audits::Evidence& evidence);

}  // namespace draftproof::tools::audit
