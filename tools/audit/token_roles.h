// Token roles: how each emitted token came about, read off the verifications that an engine tells.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "properties/engine.h"

namespace draftproof::tools::audit {

/// kPrompt: of the prompt's own row, before any draft.
enum class TokenRole : std::uint8_t { kPrompt, kAccepted, kRecovered, kBonus };

/// One role a token. nullopt where no steps are told, or they do not fit the output: a verification
/// emits what it accepted and one more token, from the first token on or from the second.
std::optional<std::vector<TokenRole>> roles_of(const properties::Completion& completion);

}  // namespace draftproof::tools::audit
