// LogitBits: fp32 values as the bits of a storage format, and back. Both directions are exact; a
// value that the format cannot represent is refused.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reference/proposal.h"

namespace draftproof::gpu {

/// Bytes of one element.
std::size_t bytes_of(reference::LogitFormat format);

/// Precondition: `value` is NaN or representable in `format`.
std::uint32_t bits_of(reference::LogitFormat format, float value);

/// The value of the low bits of `bits`.
float value_of(reference::LogitFormat format, std::uint32_t bits);

}  // namespace draftproof::gpu
