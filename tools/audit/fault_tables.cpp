#include "tools/audit/fault_tables.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "oracle/distance.h"

namespace draftproof::tools::audit {
namespace {

/// Of bounds that describe.
constexpr double kMiss = 0.05;
/// Two-sided, of a normal.
constexpr double kQuantile = 1.959963984540054;

oracle::Interval wilson(double broken, double all) {
  const double share = broken / all;
  const double squared = kQuantile * kQuantile / all;
  const double middle = (share + squared / 2) / (1 + squared);
  const double reach =
      kQuantile * std::sqrt(share * (1 - share) / all + squared / (4 * all)) / (1 + squared);
  return {std::max(0.0, middle - reach), std::min(1.0, middle + reach)};
}

void place_in(std::vector<FaultTable>& tables, const GroupKey& key, const std::string& unit,
              FaultGroup group) {
  if (tables.empty() || tables.back().by != key.table) tables.push_back({key.table, unit, {}});
  group.name = key.name;
  tables.back().groups.push_back(std::move(group));
}

/// One group is no place.
std::vector<FaultTable> with_places(std::vector<FaultTable> tables) {
  tables.erase(std::remove_if(tables.begin(), tables.end(),
                              [](const FaultTable& table) { return table.groups.size() < 2; }),
               tables.end());
  return tables;
}

FaultGroup group_of(const oracle::Effect& effect, std::uint64_t count) {
  FaultGroup group;
  group.count = count;
  group.size = effect.total_variation;
  group.bounds = effect.total_variation_bounds;
  return group;
}

}  // namespace

GroupKey number_group(const std::string& table, std::uint64_t number) {
  constexpr std::uint64_t kSingle = 16;
  const auto rank = static_cast<std::int64_t>(number);
  if (number <= kSingle) return {table, rank, std::to_string(number)};
  std::uint64_t last = 2 * kSingle;
  while (last < number) last *= 2;
  return {table, static_cast<std::int64_t>(last),
          std::to_string(last / 2 + 1) + " to " + std::to_string(last)};
}

void ShareTables::add(const std::vector<GroupKey>& groups, bool is_broken) {
  for (const GroupKey& key : groups) {
    auto& [broken, all] = counts_[key];
    broken += is_broken ? 1 : 0;
    ++all;
  }
}

std::vector<FaultTable> ShareTables::tables(const std::string& unit) const {
  std::vector<FaultTable> list;
  for (const auto& [key, count] : counts_) {
    const auto broken = static_cast<double>(count.first), all = static_cast<double>(count.second);
    FaultGroup group;
    group.count = count.second;
    group.size = broken / all;
    group.bounds = wilson(broken, all);
    place_in(list, key, unit, std::move(group));
  }
  return with_places(std::move(list));
}

void PlaceTables::add(const std::vector<GroupKey>& groups, const std::vector<double>& law,
                      reference::Token token, double coin) {
  std::size_t cell = kPlaces;
  const auto own = static_cast<std::size_t>(token);
  if (token >= 0 && own < law.size() && law[own] > 0) {
    double place = law[own] * coin;
    for (std::size_t other = 0; other < law.size(); ++other)
      if (law[other] > law[own] || (law[other] == law[own] && other < own)) place += law[other];
    cell = std::min(static_cast<std::size_t>(place * kPlaces), kPlaces - 1);
  }
  for (const GroupKey& key : groups) ++counts_[key][cell];
}

std::vector<FaultTable> PlaceTables::tables() const {
  std::array<double, kPlaces + 1> law;
  law.fill(1.0 / kPlaces);
  law.back() = 0;
  std::vector<FaultTable> list;
  for (const auto& [key, counts] : counts_) {
    const auto all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    place_in(list, key, "total variation", group_of(oracle::effect_of(counts, law, kMiss), all));
  }
  return with_places(std::move(list));
}

void ArmTables::add(const std::vector<GroupKey>& groups, const std::string& cell,
                    properties::Arm arm) {
  for (const GroupKey& key : groups)
    ++counts_[key][cell][arm == properties::Arm::kBaseline ? 0 : 1];
}

std::vector<FaultTable> ArmTables::tables() const {
  std::vector<FaultTable> list;
  for (const auto& [key, cells] : counts_) {
    std::vector<std::uint64_t> speculative, baseline;
    for (const auto& [cell, counts] : cells) {
      baseline.push_back(counts[0]);
      speculative.push_back(counts[1]);
    }
    const auto all = std::accumulate(speculative.begin(), speculative.end(), std::uint64_t{0});
    const auto others = std::accumulate(baseline.begin(), baseline.end(), std::uint64_t{0});
    if (all == 0 || others == 0) continue;
    place_in(list, key, "total variation",
             group_of(oracle::effect_between(speculative, baseline, kMiss), all));
  }
  return with_places(std::move(list));
}

}  // namespace draftproof::tools::audit
