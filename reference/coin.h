// Coins: addressed 64-bit uniform numbers. A coin is a pure function of its address, never consumed
// from a stream, so bookkeeping cannot move tokens (numerics contract, "Coins").
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

namespace draftproof::reference {

enum class Purpose : std::uint8_t {
  kDraft = 0,
  kAccept = 1,
  kRecovered = 2,
  kBonus = 3,
  kTreeLevel = 4,
  kTreeSecond = 5,
};

/// iteration < 2^24; it is 0 for prefix-adapted rules (chain), where coins may be keyed by
/// position.
struct CoinAddress {
  std::uint32_t request = 0;
  std::uint32_t position = 0;
  Purpose purpose = Purpose::kDraft;
  std::uint32_t slot = 0;
  std::uint32_t iteration = 0;

  auto key() const { return std::tuple(request, position, purpose, slot, iteration); }
  friend bool operator<(const CoinAddress& a, const CoinAddress& b) { return a.key() < b.key(); }
  friend bool operator==(const CoinAddress& a, const CoinAddress& b) { return a.key() == b.key(); }
};

/// A source of coins. Looking at a coin twice gives the same number.
class Coins {
 public:
  virtual ~Coins() = default;
  /// A 64-bit integer u, standing for the uniform number u / 2^64 in [0, 1).
  virtual std::uint64_t coin(const CoinAddress& address) const = 0;
};

/// Philox4x32-10 (Salmon et al., SC 2011): key = (seed low, seed high), counter =
/// {position, slot, purpose | iteration << 8, request}, coin = out[1] << 32 | out[0].
class PhiloxCoins final : public Coins {
 public:
  explicit PhiloxCoins(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t seed() const { return seed_; }
  std::uint64_t coin(const CoinAddress& address) const override;

 private:
  std::uint64_t seed_;
};

/// Coins written down one by one, for tests and probes; every other address answers `fallback`.
class ScriptedCoins final : public Coins {
 public:
  explicit ScriptedCoins(std::uint64_t fallback = 0) : fallback_(fallback) {}
  void set(const CoinAddress& address, std::uint64_t coin) { coins_[address] = coin; }
  std::uint64_t coin(const CoinAddress& address) const override;
  const std::map<CoinAddress, std::uint64_t>& scripted() const { return coins_; }
  std::uint64_t fallback() const { return fallback_; }

 private:
  std::uint64_t fallback_;
  std::map<CoinAddress, std::uint64_t> coins_;
};

}  // namespace draftproof::reference
