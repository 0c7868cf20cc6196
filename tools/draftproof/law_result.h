// Law result: what a planned decoding emits, and what it should have emitted. Everything is exact.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "reference/law/optimum.h"
#include "tools/draftproof/law_plan.h"

namespace draftproof::tools {

/// The first tokens of as many iterations as it takes, beside the plain decoder's.
struct SequenceResult {
  reference::law::SequenceLaw law;
  reference::law::SequenceLaw target;
  reference::Exact distance;
};

struct LawResult {
  LawPlan plan;
  reference::law::EmissionLaw emission;  ///< the first iteration
  /// plan.iterations iterations, then plain draws up to joint_length tokens; and plain draws alone.
  reference::law::SequenceLaw joint;
  reference::law::SequenceLaw target;
  reference::Exact distance;  ///< total variation between the two
  int joint_length = 0;
  reference::law::HistoryLaw histories;                   ///< empty for one iteration
  std::vector<std::optional<reference::Exact>> expected;  ///< emitted tokens, by iteration
  std::optional<reference::Exact> formula;  ///< the first of them by the rule's own formula
  /// What no lossless rule exceeds in the first iteration; absent for methods, greedy rules,
  /// one-hot reports and prompts.
  std::optional<reference::law::LosslessOptimum> optimum;
  std::optional<SequenceResult> sequence;  ///< where plan.tokens says how many
  reference::law::WalkCost cost;
};

/// True once this process has computed for so many seconds more than when it was made: a busy
/// machine shortens nobody's walk.
std::function<bool()> time_is_up_after(double seconds);

/// Throws Error(kInput) when the walk is too large, with a size that is not, or takes longer than
/// plan.seconds_max.
LawResult law_result(LawPlan plan);

}  // namespace draftproof::tools
