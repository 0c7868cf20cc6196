// Llama.cpp settings: everything of a request but its prompt in the words of POST /completion, and
// the comparison with what the engine says that it used.
#pragma once

#include <cstdint>
#include <limits>

#include "tools/engines/dialects/dialect.h"

namespace draftproof::tools::engines {

/// 32 bits; the largest number means "draw one".
inline constexpr std::uint64_t kLlamaSeedMax = std::numeric_limits<std::uint32_t>::max() - 1ull;

/// Throws Error(kInput) at the field that has no word.
Json llama_settings(const properties::SamplingRequest& request, const Session& session);

/// What the engine says it used is what was sent. Fields that a build does not repeat are taken on
/// trust, but for the switch of drafts. Throws Error(kInput) at the field that differs.
void require_echo(const Json& sent, const Json& settings);

}  // namespace draftproof::tools::engines
