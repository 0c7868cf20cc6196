// Collector: asks both arms for the trials of a matrix, round by round, and hands on what came
// back. It judges nothing itself; that a setting is settled is for properties/audits/judge.h to
// say.
//
// A round takes a setting's cases to 1, 2, 4, ... times first_look trials; then the setting is
// looked at, and left alone when it is settled. Whether it is depends on its own trials alone, so
// the order in which settings are visited (most evidence first) changes nothing but the order,
// unless a limit cuts. A trial beyond a look says that the look did not settle the setting: a run
// that was killed in the middle of a round goes on with that round, and ends with the very set of
// transcripts that it would have had.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "properties/audits/judge.h"
#include "tools/audit/arm_change.h"

namespace draftproof::tools::audit {

/// `case_id` of the first answers of arms that were just started: of no case, and judged by nobody.
/// One for each first setting, so that shards, which share none, can be merged.
std::string cold_case(const properties::audits::Setting& setting);
bool is_cold_case(const std::string& case_id);

struct CollectPlan {
  const properties::audits::Matrix& matrix;
  const properties::audits::JudgeSettings& judge;
  std::vector<std::size_t> settings;  ///< indices of those that are asked: a shard
  std::optional<double> time_limit_s;
  std::optional<std::uint64_t> request_max;  ///< of this call
  std::uint64_t repeated_trials = 8;         ///< of a case: asked twice, seed included
  std::uint64_t scored_trials = 256;         ///< of a case, where answers are scored
  double warm_up_s = 0;                      ///< one request of each arm at least
  bool stops_at_violation = false;
};

/// The world, as far as collecting sees it. Throws as properties::Engine::generate.
struct CollectHooks {
  using Scores = std::vector<std::vector<properties::TokenLogprob>>;
  std::function<std::vector<properties::Completion>(
      properties::Arm, const std::vector<properties::SamplingRequest>&, int concurrency)>
      ask;
  /// Teacher forcing of the speculative arm; absent: answers are not scored.
  std::function<Scores(const std::vector<reference::Token>&, int candidate_count)> score = {};
  /// Transcripts are kept before they count.
  std::function<void(const std::vector<properties::Transcript>&)> keep;
  /// Why the arms are no longer those of the beginning.
  std::function<std::optional<ArmChange>()> what_changed = [] { return std::nullopt; };
  std::function<bool()> is_interrupted = [] { return false; };
  std::function<double()> now;  ///< seconds, monotonic
  /// Trials of this setting so far, of at most so many.
  std::function<void(std::size_t setting, std::uint64_t done, std::uint64_t of)> progress =
      [](std::size_t, std::uint64_t, std::uint64_t) {};
};

enum class CollectEnd : std::uint8_t {
  kComplete,
  kTimeLimit,
  kRequestLimit,
  kInterrupted,
  kViolation,   ///< stops_at_violation
  kArmLost,     ///< an arm is gone, or fails whatever it is asked
  kArmChanged,  ///< what it answered last may be another engine's
};

struct CollectResult {
  CollectEnd end = CollectEnd::kComplete;
  std::string reason;          ///< one line, where it is not complete
  std::uint64_t requests = 0;  ///< that were sent, warm-up included
  /// Settings that the protocol has no words for, or that fail each time, and why.
  std::vector<std::pair<std::size_t, std::string>> refused;
};

/// Fills `evidence`, which may hold trials already. Throws what hooks.keep throws.
CollectResult collect(const CollectPlan& plan, const CollectHooks& hooks,
                      properties::audits::Evidence& evidence);

/// The settings of shard `index` of `count`.
std::vector<std::size_t> settings_of_shard(const properties::audits::Matrix& matrix,
                                           std::size_t index, std::size_t count);

}  // namespace draftproof::tools::audit
