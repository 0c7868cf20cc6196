// Typed rows: what the options of `law` have in common that are lists on the command line.
#pragma once

#include <string>
#include <vector>

namespace draftproof::tools {

/// Throws Error(kInput) with the option as its place.
[[noreturn]] void refuse(const std::string& message, const std::string& place);

/// What stands between separators, spaces left out; "1,,2" has an empty part.
std::vector<std::string> parts_of(const std::string& text, char separator);

/// "-inf", or a decimal or fraction rounded to fp32 once. Throws Error(kInput) at `place`.
float logit_of(const std::string& text, const std::string& place);

}  // namespace draftproof::tools
