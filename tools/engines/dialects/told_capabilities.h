// Told capabilities: what an engine with ids and raw logprobs can, as far as its facts tell.
#pragma once

#include "tools/engines/client.h"

namespace draftproof::tools::engines {

inline properties::Capabilities told_capabilities(const ArmFacts& facts) {
  return {.name = facts.engine + " " + facts.version + " " + facts.model,
          .vocab_size = facts.vocab_size.value_or(0),
          .draft_count = facts.draft_count.value_or(0),
          .can_draw = true,
          .logprobs = properties::LogprobKind::kRaw};
}

}  // namespace draftproof::tools::engines
