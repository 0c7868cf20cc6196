// Whether this run rewrites the expected answers that it would otherwise be held to.
#pragma once

#include <cstdlib>
#include <string_view>

namespace draftproof::tests {

/// True under DRAFTPROOF_UPDATE_GOLDENS=1, and under no other value.
inline bool is_golden_update() {
  const char* wanted = std::getenv("DRAFTPROOF_UPDATE_GOLDENS");
  return wanted != nullptr && std::string_view(wanted) == "1";
}

}  // namespace draftproof::tests
