// Request coins: every request of a batch with coins of its own seed, whatever its number is, so
// that equal seeds give equal tokens in any company.
#pragma once

#include <utility>
#include <vector>

#include "reference/coin.h"
#include "reference/error.h"

namespace draftproof::reference::decode {

class RequestCoins final : public Coins {
 public:
  /// Addresses of `request` are answered by PhiloxCoins(seed), as request 0.
  void add(std::uint32_t request, std::uint64_t seed) { seeds_.push_back({request, seed}); }

  std::uint64_t coin(const CoinAddress& address) const override {
    for (const auto& [request, seed] : seeds_) {
      if (request != address.request) continue;
      CoinAddress own = address;
      own.request = 0;
      return PhiloxCoins(seed).coin(own);
    }
    DRAFTPROOF_CHECK(false, "no seed for request " + std::to_string(address.request));
    return 0;
  }

 private:
  std::vector<std::pair<std::uint32_t, std::uint64_t>> seeds_;
};

}  // namespace draftproof::reference::decode
