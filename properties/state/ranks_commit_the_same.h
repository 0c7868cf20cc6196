// Ranks commit the same: hashes of accepted count and tokens, and the drafted tokens, are equal
// across ranks at every step (vllm-project/vllm#17498, sgl-project/sglang#40246). The runs that are
// tried grow, so that the first divergence that is found is a least history.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "reference/decode/ranks.h"

namespace draftproof::properties {

using RankDecoder = std::function<reference::decode::RankRun(const reference::decode::ReplayRun&)>;

struct RankFinding {
  std::size_t run_count = 0;
  std::size_t step_count = 0;     ///< steps of requests, compared
  std::size_t refused_count = 0;  ///< runs that ended because the ranks refused a step
  std::optional<reference::decode::RankDivergence> divergence;
  std::string history;  ///< the least run, every step of it up to the divergence; or empty
};

/// Runs of 1 to 12 tokens, drafts of 0 to 4 (ragged), 1 to 3 requests, seeded and not, at
/// temperature 1, with top-k 2 and greedy; prompts that repeat.
RankFinding ranks_commit_the_same(const RankDecoder& decode, std::size_t vocab_size);

}  // namespace draftproof::properties
