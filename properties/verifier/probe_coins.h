// Probe coins: the coins of consecutive probes of a certificate, as a subject asks for them.
#pragma once

#include "oracle/certificate.h"
#include "reference/coin.h"

namespace draftproof::properties::verifier {

/// Request id = index in the chunk, position = row.
class ProbeCoins final : public reference::Coins {
 public:
  ProbeCoins(const oracle::Probe* first, std::size_t count) : first_(first), count_(count) {}

  std::uint64_t coin(const reference::CoinAddress& address) const override {
    if (address.request >= count_) return 0;
    const oracle::Probe& probe = first_[address.request];
    if (address.purpose == reference::Purpose::kBonus) return probe.bonus_coin;
    const auto& coins =
        address.purpose == reference::Purpose::kAccept ? probe.accept_coins : probe.recovered_coins;
    return address.position < coins.size() ? coins[address.position] : probe.bonus_coin;
  }

 private:
  const oracle::Probe* first_;
  std::size_t count_;
};

}  // namespace draftproof::properties::verifier
