// Sums of 16-bit floats for atomics: rounded to nearest, subnormals kept, NaN canonical (0x7fff).
// The instruction set's own half arithmetic lives in isa/; atomics are the machine's, and this is
// all they need.
#pragma once

#include <cstdint>

namespace draftproof::gpu::emulator {

/// binary16.
std::uint16_t add_half(std::uint16_t a, std::uint16_t b);
/// bfloat16.
std::uint16_t add_bfloat(std::uint16_t a, std::uint16_t b);

}  // namespace draftproof::gpu::emulator
