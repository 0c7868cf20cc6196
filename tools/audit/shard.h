// Shard: which part of a matrix this process asks. Parts need no coordination: a setting's shard is
// a hash of its id, so one more machine is one more number.
#pragma once

#include <cstddef>
#include <string>

namespace draftproof::tools::audit {

struct Shard {
  std::size_t index = 0;  ///< from 0
  std::size_t count = 1;
};

/// "2/8" is the second of eight. "auto/8", or "auto", takes the place that the scheduler gave this
/// task: SLURM_ARRAY_TASK_ID (less SLURM_ARRAY_TASK_MIN), OMPI_COMM_WORLD_RANK,
/// JOB_COMPLETION_INDEX; the count from SLURM_ARRAY_TASK_COUNT, OMPI_COMM_WORLD_SIZE where it is
/// not typed. Throws Error(kInput) at "--shard" that says what is missing.
Shard shard_from(const std::string& text);

}  // namespace draftproof::tools::audit
