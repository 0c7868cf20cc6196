// Generators: where an engine's coins come from. The right one is addressed: a request's coins are
// a function of its seed, so that nothing that happens around it can move them. Engines that draw
// from streams have to say what a step, a discarded step and a cut did to the stream; that is what
// the events are for, and the addressed generator ignores them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/coin.h"
#include "reference/decode/ledger.h"
#include "reference/decode/replay_run.h"

namespace draftproof::reference::decode {

/// A request's place in the batch of one step.
struct Seat {
  std::uint32_t request = 0;    ///< its number in the run
  std::uint32_t position = 0;   ///< tokens before the step, prompt included
  std::size_t draft_count = 0;  ///< drafted tokens it asks for
};

/// What became of the work of one request in one step.
struct Settlement {
  std::uint32_t request = 0;
  Fate fate = Fate::kKept;
  std::size_t emitted_count = 0;  ///< tokens that the rule emitted
  std::size_t kept_count = 0;     ///< of them, those that stay; 0 when discarded
};

class Generator {
 public:
  virtual ~Generator() = default;
  virtual void begin_run(const ReplayRun& run, std::uint64_t entropy) = 0;
  virtual void begin_step(const std::vector<Seat>&) {}
  virtual void settle(const Settlement&) {}
  /// The coin at an address whose request is the number in the run.
  virtual std::uint64_t coin(const CoinAddress& address) = 0;
};

/// Each request its own Philox key: its seed, or a coin of the engine's entropy at its number. The
/// number is no part of the address, so that equal seeds have equal coins.
class AddressedGenerator : public Generator {
 public:
  void begin_run(const ReplayRun& run, std::uint64_t entropy) override {
    keys_.clear();
    for (const ReplayRequest& request : run.requests) {
      const auto number = static_cast<std::uint32_t>(keys_.size());
      keys_.push_back(request.seed ? *request.seed : PhiloxCoins(entropy).coin({number}));
    }
  }
  std::uint64_t coin(const CoinAddress& address) override {
    CoinAddress own = address;
    own.request = 0;
    return PhiloxCoins(keys_.at(address.request)).coin(own);
  }

 protected:
  std::uint64_t key(std::uint32_t request) const { return keys_.at(request); }

 private:
  std::vector<std::uint64_t> keys_;
};

/// A generator as Coins. Does not own it.
class GeneratorCoins final : public Coins {
 public:
  explicit GeneratorCoins(Generator& generator) : generator_(generator) {}
  std::uint64_t coin(const CoinAddress& address) const override { return generator_.coin(address); }

 private:
  Generator& generator_;
};

}  // namespace draftproof::reference::decode
