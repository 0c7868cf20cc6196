// Reading floor: how far two servers of the same weights are apart when both read the prompts of an
// audit: the slack of their arithmetic, measured before anything is judged. Where they are apart by
// more than arithmetic explains they have not the same weights.
#pragma once

#include <cstdint>

#include "properties/audits/matrix.h"
#include "tools/engines/client.h"

namespace draftproof::tools::audit {

struct ReadingFloor {
  double gap_max = 0;  ///< of the logprobs of one token behind one prefix, in nats
  std::uint64_t gap_count = 0;
  std::size_t prompt_count = 0;
};

/// Asks both to read the distinct prompts of `matrix`, 16 at most, of two tokens and more. Throws
/// Error(kInput) at "target.scorer" where one of them cannot read prompts, no prompt is long
/// enough, or they have not the same weights.
ReadingFloor reading_floor(engines::ArmClient& drafting, engines::ArmClient& scorer,
                           const properties::audits::Matrix& matrix);

}  // namespace draftproof::tools::audit
