// Token ids: what a drafter proposes, a verifier judges and a request emits.
#pragma once

#include <cstdint>

namespace draftproof::reference {

/// A token id in [0, vocab_size), or kPlaceholder.
using Token = std::int32_t;

/// A slot of the draft that holds no token: the draft ends there and nothing behind it is read
/// (numerics contract, edge table).
inline constexpr Token kPlaceholder = -1;

}  // namespace draftproof::reference
