// The ledger of coins: who read which address, and whether anything came of it.
//
// The rule. *No address decides twice*: an address that is read again must not have influenced a
// decision or an emitted token before; discarded work consumes nothing. It is what makes coins that
// are keyed by position lossless for the rules that never look behind the last token they emit, and
// lossy for those that do (theorem C, reference/README.md; vllm-project/vllm#52522 is of the kind).
//
// In full. The work of one step on one request is a *unit*: the coins that its drafter and its rule
// read, and what came out. A read of a unit *influences* iff what stays of the unit, or a decision
// that was taken because of it, is not the same function without the value of that coin. Who
// settles a unit says so by its fate and by one position:
//   kept                   reads at positions below influence_end influence, those at or behind it
//                          do not. A walk from the base (chain, match, target-only, siblings): the
//                          position behind the last token that stays. It looked at no coin behind
//                          it, its drafted tokens there were never judged, and where a stop or a
//                          limit cut the tokens, that is decided by the tokens before the cut.
//                          Rules that look ahead (block, traversal): kWholeUnit, because a coin
//                          behind the kept prefix decided that it was not longer.
//   discarded blindly      nothing influences: preemption, cancellation, a draft that came late.
//                          What threw the work away would have done so whatever came out.
//   discarded by outcome   as if kept: that something else was wanted is a decision (draws until
//                          one fits, the best of several, a retry where a grammar says no).
// Faults: reading an address that influenced in another unit; reading an address twice in one unit;
// settling a unit as influencing where another unit, open at the same time, has influenced by the
// same address; and reading at a position that the ledger was told to forget, see below.
//
// Forgetting. A ledger of all addresses grows without end, so that its owner may say that positions
// below a floor are done (`forget`). That loses no fault: a coin at a position decides the token of
// that position, which has been emitted there, so that *any* later read below the floor is reported
// as a fault, read before or not. It needs an engine whose coins have the position of the token
// that they decide (every rule of reference/verify does), and a floor not above a position to which
// a stop may still rewind. The owner of an engine with other addresses does not forget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reference/coin.h"

namespace draftproof::reference::decode {

/// "kAccept" and so on in words: "accept", "recovered", ...
std::string to_string(Purpose purpose);
/// "request 1, position 7, accept, slot 0, iteration 0".
std::string to_string(const CoinAddress& address);

/// Coins that write down every address that is looked at, in order. Does not own `coins`.
class RecordingCoins final : public Coins {
 public:
  explicit RecordingCoins(const Coins& coins) : coins_(coins) {}
  std::uint64_t coin(const CoinAddress& address) const override {
    reads_.push_back(address);
    return coins_.coin(address);
  }
  const std::vector<CoinAddress>& reads() const { return reads_; }

 private:
  const Coins& coins_;
  mutable std::vector<CoinAddress> reads_;
};

/// What became of the work of one step on one request.
enum class Fate : std::uint8_t { kKept, kDiscardedBlindly, kDiscardedByOutcome };

/// Every read of the unit influenced.
inline constexpr std::uint32_t kWholeUnit = std::numeric_limits<std::uint32_t>::max();

/// True for the rules that look at coins behind the last token that they emit: block, traversal.
bool looks_ahead(std::string_view rule);

/// influence_end of a kept unit of `rule` whose first drafted token has `position`, and of whose
/// emitted tokens `kept_count` stay.
std::uint32_t influence_end(std::string_view rule, std::uint32_t position, std::size_t kept_count);

struct LedgerFault {
  CoinAddress address;
  std::uint64_t first_step = 0;   ///< of the read that influenced; the floor's for forgotten ones
  std::uint64_t second_step = 0;  ///< of the read that came again
  std::string why;                ///< one sentence, with address and steps
};

class Ledger {
 public:
  /// Steps are numbered by their owner; units of several steps may be open at once.
  void begin_step(std::uint64_t step) { step_ = step; }

  /// A read of the current step, for address.request.
  void read(const CoinAddress& address);

  /// Settles what `request` read in `step`; nothing was read: nothing happens. influence_end is as
  /// above, and means nothing for work that was discarded blindly.
  void settle(std::uint64_t step, std::uint32_t request, Fate fate,
              std::uint32_t influence_end = kWholeUnit);

  /// From now on every read of `request` below `floor` is a fault, and what is remembered of those
  /// positions is dropped. A floor never falls.
  void forget(std::uint32_t request, std::uint32_t floor);

  /// Forgets a request as a whole: its id will be another one's.
  void end_request(std::uint32_t request) { accounts_.erase(request); }

  /// The first fault, kept whatever follows.
  const std::optional<LedgerFault>& fault() const { return fault_; }

  std::uint64_t read_count() const { return read_count_; }
  /// Addresses that are remembered as having influenced, over all requests.
  std::size_t remembered_count() const;
  /// Units that were read in and not settled.
  std::size_t open_count() const;

 private:
  struct Entry {
    CoinAddress address;
    std::uint64_t step = 0;
  };
  struct Unit {
    std::uint64_t step = 0;
    std::vector<CoinAddress> reads;
  };
  struct Account {
    std::uint32_t base = 0;  ///< position of buckets[0]
    std::deque<std::vector<Entry>> buckets;
    std::uint32_t floor = 0;
    std::uint64_t floor_step = 0;
    std::vector<Unit> units;
  };

  static const Entry* find(const Account& account, const CoinAddress& address);
  static std::vector<Entry>& bucket(Account& account, std::uint32_t position);
  Unit& open_unit(Account& account) const;
  void refute(const CoinAddress& address, std::uint64_t first, std::uint64_t second,
              const std::string& reason);

  std::uint64_t step_ = 0;
  std::uint64_t read_count_ = 0;
  std::unordered_map<std::uint32_t, Account> accounts_;
  std::optional<LedgerFault> fault_;
};

}  // namespace draftproof::reference::decode
