// SHA-256 (FIPS 180-4), so that a file's hash in a manifest is the one that sha256sum prints.
#pragma once

#include <string>
#include <string_view>

namespace draftproof::tools::toys {

/// 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace draftproof::tools::toys
