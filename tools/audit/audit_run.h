// Audit run: a configuration and two arms that are up -> what is asked and judged (RunRecord), and
// the collecting of it into a store.
#pragma once

#include <functional>
#include <string>

#include "tools/audit/arms.h"
#include "tools/audit/collector.h"
#include "tools/audit/run_record.h"

namespace draftproof::tools::audit {

/// Prompts that are texts are cut by the engine's own tokenizer; what no engine can be asked, and
/// what it tells of itself, is decided here. Throws Error(kInput) at "prompts" or "target.toy".
RunRecord record_of(const AuditConfig& config, Arms& arms);

/// How a run is limited and watched; arms and store are those of the run.
struct CollectOrder {
  const AuditConfig& config;
  const RunRecord& record;
  const properties::audits::JudgeSettings& judge;
  std::vector<std::size_t> settings;  ///< of the shard
  std::function<bool()> is_interrupted;
  std::function<void(std::size_t setting, std::uint64_t done, std::uint64_t of)> progress;
};

/// Keeps every answer in the store before it counts. A change of the engine behind an arm is kept
/// as the store's fact "changed".
CollectResult collect_into(store::ObservationStore& store, properties::audits::Evidence& evidence,
                           Arms& arms, const CollectOrder& order);

}  // namespace draftproof::tools::audit
