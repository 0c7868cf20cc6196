// Fault tables: how a fault is spread over groups of tokens or trials, counted as they come.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/audit/localise.h"

namespace draftproof::tools::audit {

/// A group within a table; groups stand in the order of `rank`.
struct GroupKey {
  std::string table;
  std::int64_t rank = 0;
  std::string name;

  friend bool operator<(const GroupKey& one, const GroupKey& other) {
    return std::tie(one.table, one.rank, one.name) < std::tie(other.table, other.rank, other.name);
  }
};

/// "1", ..., "16", then "17 to 32", "33 to 64", ...; `number` is at least 1.
GroupKey number_group(const std::string& table, std::uint64_t number);

/// Shares of what breaks, with Wilson's interval (1927).
class ShareTables {
 public:
  void add(const std::vector<GroupKey>& groups, bool is_broken);
  std::vector<FaultTable> tables(const std::string& unit) const;

 private:
  std::map<GroupKey, std::pair<std::uint64_t, std::uint64_t>> counts_;  ///< broken, all
};

/// Places of tokens in their known laws, likeliest first: uniform where the law holds, so that how
/// far they are from it is a lower bound on how far tokens are from their laws.
class PlaceTables {
 public:
  /// `coin` in [0, 1); `law` sums to one. A token of probability 0 counts as no place at all.
  void add(const std::vector<GroupKey>& groups, const std::vector<double>& law,
           reference::Token token, double coin);
  std::vector<FaultTable> tables() const;

 private:
  static constexpr std::size_t kPlaces = 16;
  std::map<GroupKey, std::array<std::uint64_t, kPlaces + 1>> counts_;
};

/// Tokens of both arms by where they stand, for laws that nobody knows.
class ArmTables {
 public:
  /// `cell` names a token and where it stands; groups that a cell is in are the same in both arms.
  void add(const std::vector<GroupKey>& groups, const std::string& cell, properties::Arm arm);
  std::vector<FaultTable> tables() const;

 private:
  std::map<GroupKey, std::map<std::string, std::array<std::uint64_t, 2>>> counts_;
};

}  // namespace draftproof::tools::audit
