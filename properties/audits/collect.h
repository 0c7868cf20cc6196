// Collect: asks an engine for the trials of a matrix, setting by setting, look by look, until
// nothing that is asked would change or the plan is spent. What is there already is not asked
// again, so a collection that was interrupted is resumed by handing its evidence in; which trials
// are asked depends on what is there and on nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "properties/audits/evidence.h"
#include "properties/audits/judge.h"
#include "properties/audits/matrix.h"
#include "properties/engine.h"

namespace draftproof::properties::audits {

/// Where a collection stands, told after every batch.
struct CollectProgress {
  std::size_t setting = 0;         ///< index in Matrix::settings
  std::uint64_t requests = 0;      ///< answered in this call
  std::uint64_t requests_due = 0;  ///< of this look, still to come
  std::uint64_t look = 0;          ///< trials of a case at the look that is being filled
};

struct CollectSettings {
  JudgeSettings judge = {};
  std::size_t batch_size = 32;     ///< requests of an arm that are handed over together
  bool has_narrow_seeds = false;   ///< the engine's seeds are below 2^31
  std::uint64_t repeat_count = 2;  ///< so many first trials of a shared-seed case are asked twice
  std::uint64_t request_max = 0;   ///< of this call; 0: no limit
  std::size_t shard = 0, shard_count = 1;
  /// Every batch as soon as it is there, before the next one is asked for.
  std::function<void(const std::vector<Transcript>&)> sink = {};
  std::function<void(const CollectProgress&)> progress = {};
  /// True: no further batch. Asked before each.
  std::function<bool()> is_stopped = {};
  /// Candidates of every token behind its prefix, raw, without drawing (ArmClient::score); none:
  /// the engine cannot. Asked for sampled answers where there is no baseline.
  std::function<std::vector<std::vector<TokenLogprob>>(const Prompt&)> score = {};
  std::uint64_t score_count = 256;  ///< so many first trials of a case are scored
};

struct Collected {
  Evidence evidence;
  std::uint64_t requests = 0;
  bool is_complete = true;           ///< false: stopped, or the limit was reached
  std::vector<std::size_t> settled;  ///< settings that ended before their plan was spent
};

/// `evidence`: what is there already. Throws what the engine throws; the sink has all that came
/// before.
Collected collect(Engine& engine, const Matrix& matrix, const CollectSettings& settings,
                  Evidence evidence = {});

}  // namespace draftproof::properties::audits
