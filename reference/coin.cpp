// Coins from Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
// The address is packed here as the numerics contract says; kernels pack it with their own code,
// and known answers pin both.
#include "reference/coin.h"

#include <Random123/philox.h>

#include "reference/error.h"

namespace draftproof::reference {

std::uint64_t PhiloxCoins::coin(const CoinAddress& address) const {
  DRAFTPROOF_CHECK(address.iteration < (1U << 24), std::to_string(address.iteration));
  const std::uint32_t purpose_word =
      static_cast<std::uint32_t>(address.purpose) | (address.iteration << 8);
  const r123::Philox4x32::key_type key = {
      {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)}};
  const r123::Philox4x32::ctr_type counter = {
      {address.position, address.slot, purpose_word, address.request}};
  const r123::Philox4x32::ctr_type out = r123::Philox4x32()(counter, key);
  return static_cast<std::uint64_t>(out[1]) << 32 | out[0];
}

std::uint64_t ScriptedCoins::coin(const CoinAddress& address) const {
  const auto found = coins_.find(address);
  return found == coins_.end() ? fallback_ : found->second;
}

}  // namespace draftproof::reference
