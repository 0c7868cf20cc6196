// The ledger of coins: buckets by position, so that a read looks at the few coins of one token.
#include "reference/decode/ledger.h"

#include <algorithm>

namespace draftproof::reference::decode {

std::string to_string(Purpose purpose) {
  switch (purpose) {
    case Purpose::kDraft:
      return "draft";
    case Purpose::kAccept:
      return "accept";
    case Purpose::kRecovered:
      return "recovered";
    case Purpose::kBonus:
      return "bonus";
    case Purpose::kTreeLevel:
      return "tree level";
    case Purpose::kTreeSecond:
      return "tree second";
  }
  return "unknown";
}

std::string to_string(const CoinAddress& address) {
  return "request " + std::to_string(address.request) + ", position " +
         std::to_string(address.position) + ", " + to_string(address.purpose) + ", slot " +
         std::to_string(address.slot) + ", iteration " + std::to_string(address.iteration);
}

bool looks_ahead(std::string_view rule) { return rule == "block" || rule == "traversal"; }

std::uint32_t influence_end(std::string_view rule, std::uint32_t position, std::size_t kept_count) {
  return looks_ahead(rule) ? kWholeUnit : position + static_cast<std::uint32_t>(kept_count);
}

void Ledger::read(const CoinAddress& address) {
  ++read_count_;
  Account& account = accounts_[address.request];
  if (address.position < account.floor)
    refute(address, account.floor_step, step_, "lies behind tokens that stand");
  if (const Entry* before = find(account, address))
    refute(address, before->step, step_, "is read again after it had influenced");
  Unit& unit = open_unit(account);
  if (std::find(unit.reads.begin(), unit.reads.end(), address) != unit.reads.end())
    refute(address, step_, step_, "is read twice in one step");
  unit.reads.push_back(address);
}

void Ledger::settle(std::uint64_t step, std::uint32_t request, Fate fate,
                    std::uint32_t influence_end) {
  const auto found = accounts_.find(request);
  if (found == accounts_.end()) return;
  Account& account = found->second;
  const auto unit = std::find_if(account.units.begin(), account.units.end(),
                                 [&](const Unit& open) { return open.step == step; });
  if (unit == account.units.end()) return;
  const std::vector<CoinAddress> reads = std::move(unit->reads);
  account.units.erase(unit);
  if (fate == Fate::kDiscardedBlindly) return;

  for (const CoinAddress& address : reads) {
    const bool influences = influence_end == kWholeUnit || address.position < influence_end;
    if (!influences || address.position < account.floor) continue;
    if (const Entry* before = find(account, address)) {
      if (before->step != step)
        refute(address, before->step, step, "influenced in two steps that were open together");
      continue;
    }
    bucket(account, address.position).push_back({address, step});
  }
}

void Ledger::forget(std::uint32_t request, std::uint32_t floor) {
  Account& account = accounts_[request];
  if (floor <= account.floor) return;
  account.floor = floor;
  account.floor_step = step_;
  while (!account.buckets.empty() && account.base < floor) {
    account.buckets.pop_front();
    ++account.base;
  }
}

std::size_t Ledger::remembered_count() const {
  std::size_t count = 0;
  for (const auto& [request, account] : accounts_)
    for (const std::vector<Entry>& entries : account.buckets) count += entries.size();
  return count;
}

std::size_t Ledger::open_count() const {
  std::size_t count = 0;
  for (const auto& [request, account] : accounts_) count += account.units.size();
  return count;
}

const Ledger::Entry* Ledger::find(const Account& account, const CoinAddress& address) {
  if (address.position < account.base) return nullptr;
  const std::size_t index = address.position - account.base;
  if (index >= account.buckets.size()) return nullptr;
  for (const Entry& entry : account.buckets[index])
    if (entry.address == address) return &entry;
  return nullptr;
}

std::vector<Ledger::Entry>& Ledger::bucket(Account& account, std::uint32_t position) {
  if (account.buckets.empty()) account.base = position;
  for (; position < account.base; --account.base) account.buckets.emplace_front();
  const std::size_t index = position - account.base;
  if (index >= account.buckets.size()) account.buckets.resize(index + 1);
  return account.buckets[index];
}

Ledger::Unit& Ledger::open_unit(Account& account) const {
  for (Unit& unit : account.units)
    if (unit.step == step_) return unit;
  account.units.push_back({step_, {}});
  return account.units.back();
}

void Ledger::refute(const CoinAddress& address, std::uint64_t first, std::uint64_t second,
                    const std::string& reason) {
  if (fault_.has_value()) return;
  fault_ = LedgerFault{address, first, second,
                       "the coin of " + to_string(address) + " " + reason + ": step " +
                           std::to_string(first) + ", then step " + std::to_string(second)};
}

}  // namespace draftproof::reference::decode
