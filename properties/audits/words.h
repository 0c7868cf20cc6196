// Words: how audits tell requests and completions.
#pragma once

#include <span>
#include <string>

#include "properties/engine.h"

namespace draftproof::properties::audits {

/// "1 2 3"; "none" for no token.
std::string words_of(std::span<const reference::Token> tokens);
/// "prompt 1 2 3, temperature 0, 8 tokens", other settings where they are on.
std::string words_of(const SamplingRequest& request);
/// "31.2": three digits. rounded_up: of four decimals, never below `value`.
std::string rounded(double value);
std::string rounded_up(double value);
/// "31.2%"
std::string percent(double share);

}  // namespace draftproof::properties::audits
