// Integers of unbounded size from the reference's bounded ones, to hold them against each other.
#pragma once

#include "reference/scalar.h"
#include "reference/verify/wide.h"

namespace draftproof::reference::verify {

inline BigInteger big(WideMass value) {
  return (BigInteger(static_cast<std::uint64_t>(value >> 64)) << 64) +
         static_cast<std::uint64_t>(value);
}

inline BigInteger big(const Wide& value) { return (big(value.high()) << 64) + value.low(); }

}  // namespace draftproof::reference::verify
