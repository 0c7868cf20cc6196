// Masses: the integer weights every decision is made of (tools/docs/numerics.md, section 1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/status.h"

namespace draftproof::reference {

using Mass = std::uint64_t;
__extension__ typedef unsigned __int128 WideMass;

/// A row of masses, indexed by token id, with its exact total (< 2^63). With a status other than
/// kOk the row has no masses and no total.
struct MassRow {
  std::vector<Mass> mass;
  Mass total = 0;
  Status status = Status::kOk;
};

/// S, the fraction bits of a row: 44 for vocab_size <= 2^18, else 62 - ceil(log2(vocab_size)).
int fraction_bits(std::size_t vocab_size);

/// Mass of one logit under scale a = log2(e)/temperature in a row whose maximum is `max_logit`:
/// floor(h(frac(z a)) 2^(S + floor(z a) - floor(m a))). Preconditions: neither is NaN or +inf,
/// logit <= max_logit, |max_logit a| <= 2^21. -inf has mass 0.
Mass mass_of(float logit, float max_logit, float scale, int fraction_bits);

/// False when |max_logit * scale| (rounded to fp32) exceeds 2^21 or is NaN: status kRange.
bool in_range(float max_logit, float scale);

/// ceil(factor * x) for a double factor in (0, 1], exact in 128 bits.
Mass ceil_product(double factor, Mass x);

/// floor(coin * x / 2^64), x < 2^127.
WideMass scaled(std::uint64_t coin, WideMass x);

}  // namespace draftproof::reference
