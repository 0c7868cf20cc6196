// card_reader: kernel cards from TOML files. The struct and the launch are gpu/kernel_card.
#pragma once

#include <string>
#include <string_view>

#include "gpu/kernel_card.h"

namespace draftproof::tools {

/// Throws Error(kInput) "FILE:LINE: ..." for malformed TOML, an unknown or missing key, a value of
/// the wrong type, an expression that does not parse. Unknown keys are errors: a typing slip in a
/// card must not silently become a default.
gpu::KernelCard card_from_toml(std::string_view text, const std::string& file);

/// Throws Error(kInput) when `file` cannot be read.
gpu::KernelCard read_card(const std::string& file);

/// The folder that holds build/third_party/NAME's files: `given` if not empty, else
/// build/third_party below the card's folder or one above it, else below the current one. Throws
/// Error(kInput) that names tools/kernels/fetch.sh when the card's PTX is in none of them.
std::string third_party_folder(const gpu::KernelCard& card, const std::string& given);

}  // namespace draftproof::tools
