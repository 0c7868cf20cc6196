// The version that reports carry; a test holds it against the build's own.
#pragma once

namespace draftproof::tools {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace draftproof::tools
