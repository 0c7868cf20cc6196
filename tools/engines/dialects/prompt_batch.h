// Prompt batch: one body for several prompts, which an engine then runs together.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tools/engines/dialects/dialect.h"

namespace draftproof::tools::engines {

inline constexpr std::size_t kPromptsTogetherMax = 64;  ///< in one body

/// `settings_of` the requests with their prompts at `field`; nullopt where one body cannot say
/// them: none or too many, a stream, a prompt without ids, settings that are not the same.
std::optional<Json> prompt_batch(
    const std::vector<properties::SamplingRequest>& requests, const char* field,
    const std::function<Json(const properties::SamplingRequest&)>& settings_of);

}  // namespace draftproof::tools::engines
