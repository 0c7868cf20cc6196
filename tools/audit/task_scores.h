// Task scores: what both arms reach on the same samples, as a command of the user says of an
// audit's own answers, or as lm-eval wrote it in its sample logs (--log_samples). Higher is better.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "oracle/paired_scores.h"
#include "properties/audits/evidence.h"
#include "properties/audits/matrix.h"

namespace draftproof::tools::audit {

/// One metric's scores of samples that both arms have.
struct ScoreSeries {
  std::string name;        ///< "exact_match,strict-match"; "score_command"
  bool is_bounded = true;  ///< scores lie in [0, 1]
  std::string range_said;  ///< who says so: "exact_match is a share", "all of them do"
  std::vector<oracle::PairedScore> scores;
  std::uint64_t lost = 0;  ///< pairs of which a request failed
};

/// Two logs of one task: lines of JSON with doc_id, filter (where there are several) and numbers
/// under the names in "metrics", else under every name that is no field of lm-eval's own. Paired
/// by doc_id and filter; a series each metric and filter. Metrics that are no numbers, or that fall
/// as answers get better (perplexities, ter, brier_score), are left out. Throws Error(kInput) at
/// the file, and the line: what is no such line, documents that one arm lacks, that came twice,
/// or that differ (doc_hash, prompt_hash).
std::vector<ScoreSeries> read_score_logs(const std::filesystem::path& baseline,
                                         const std::filesystem::path& speculative);

struct ScoreCommand {
  std::string command;  ///< as for sh -c
  std::filesystem::path
      folder;                  ///< its input (ARM.jsonl) and its words (command.log) are kept here
  double time_limit_s = 3600;  ///< of an arm
};

/// Starts the command once an arm: lines of that arm's transcripts (draftproof/transcript/1) on its
/// stdin, of trials that both arms answered, in one order; it prints one number a line, in that
/// order, and ends with exit code 0. Its environment has DRAFTPROOF_ARM. Throws
/// Error(kEnvironment) at the command: it fails, is late, prints what is no finite number, or more
/// or fewer of them than lines came.
ScoreSeries run_score_command(const ScoreCommand& order, const properties::audits::Matrix& matrix,
                              const properties::audits::Evidence& evidence);

}  // namespace draftproof::tools::audit
