#include "tools/cost/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/report/table.h"

namespace draftproof::tools::cost {

namespace {

using nlohmann::ordered_json;
using report::Align;

const char* name_of(reference::LogitFormat format) {
  switch (format) {
    case reference::LogitFormat::kFloat32:
      return "float32";
    case reference::LogitFormat::kBfloat16:
      return "bfloat16";
    case reference::LogitFormat::kFloat16:
      return "float16";
  }
  return "";
}

std::string ran_on_hardware(const Costs& costs) {
  return costs.is_timed ? costs.device : std::string("never");
}

std::string blocks_of(const Cost& cost) {
  std::string text;
  for (const LaunchCost& launch : cost.launches)
    text += fmt::format("{}{}", text.empty() ? "" : "+", launch.blocks);
  return text;
}

/// "64/0": the most registers of an entry, and spilled bytes of all.
std::string registers_of(const Cost& cost) {
  Registers most;
  for (const LaunchCost& launch : cost.launches) {
    if (!launch.allotted) return "?";
    most.registers = std::max(most.registers, launch.allotted->registers);
    most.spilled_bytes += launch.allotted->spilled_bytes;
  }
  return fmt::format("{}/{}", most.registers, most.spilled_bytes);
}

/// Static and dynamic, the most of an entry.
std::string shared_of(const Cost& cost) {
  std::uint64_t most = 0;
  for (const LaunchCost& launch : cost.launches) {
    const std::uint64_t own = launch.allotted ? launch.allotted->shared_bytes : 0;
    most = std::max(most, own + launch.dynamic_shared_bytes);
  }
  return report::grouped(most);
}

std::string conflicts_of(const gpu::LaunchProfile& total) {
  if (total.shared.wavefronts == 0) return "0%";
  return fmt::format("{:.0f}%", 100.0 * static_cast<double>(total.shared.conflicts()) /
                                    static_cast<double>(total.shared.wavefronts));
}

/// Microseconds that the floor takes at the copy's rate.
double floor_microseconds(const Costs& costs, const Cost& cost) {
  if (costs.copied_gigabytes_a_second <= 0) return 0;
  return static_cast<double>(cost.shape.floor_bytes()) / costs.copied_gigabytes_a_second / 1e3;
}

std::vector<std::string> shape_cells(const Cost& cost) {
  return {cost.pipeline,
          report::grouped(cost.shape.vocab_size),
          std::to_string(cost.shape.draft_length),
          std::to_string(cost.shape.requests),
          name_of(cost.shape.format),
          cost.shape.has_filters ? "top-k, top-p" : "none",
          std::to_string(cost.launches.size()),
          blocks_of(cost)};
}

std::vector<std::string> counted_cells(const Cost& cost) {
  const gpu::LaunchProfile total = cost.total();
  std::vector<std::string> cells = shape_cells(cost);
  for (std::string& cell : std::vector<std::string>{
           fmt::format("{:.2f}", cost.requested_over_floor()),
           fmt::format("{:.2f}", cost.distinct_over_floor()),
           fmt::format("{:.2f}", total.loads.coalescing()), std::to_string(total.barriers_warp_max),
           fmt::format("{:.1f}", cost.instructions_an_element()),
           report::grouped(total.warp_instructions_max),
           fmt::format("{:.1f}", total.active_lanes()), conflicts_of(total), registers_of(cost),
           shared_of(cost)})
    cells.push_back(std::move(cell));
  return cells;
}

report::Table table_of(const Costs& costs) {
  std::vector<report::Column> columns{{"pipeline"},
                                      {"vocabulary", Align::kRight},
                                      {"drafted", Align::kRight},
                                      {"requests", Align::kRight},
                                      {"logits"},
                                      {"filters"},
                                      {"launches", Align::kRight},
                                      {"blocks", Align::kRight}};
  const std::vector<const char*> titles =
      costs.is_timed
          ? std::vector<const char*>{"median us", "floor us", "median / floor", "registers/spilled",
                                     "shared bytes"}
          : std::vector<const char*>{
                "requested / floor",      "distinct / floor", "coalescing",   "barriers",
                "instructions / element", "longest warp",     "active lanes", "bank conflicts",
                "registers/spilled",      "shared bytes"};
  for (const char* title : titles) columns.push_back({title, Align::kRight});
  columns.push_back({"ran on hardware"});
  report::Table table(std::move(columns));
  for (const Cost& cost : costs.rows) {
    if (!cost.skipped.empty()) continue;
    std::vector<std::string> cells;
    if (costs.is_timed) {
      cells = shape_cells(cost);
      const double median = cost.timing->median();
      const double floor = floor_microseconds(costs, cost);
      cells.push_back(fmt::format("{:.2f}", median));
      cells.push_back(fmt::format("{:.2f}", floor));
      cells.push_back(floor > 0 ? fmt::format("{:.2f}", median / floor) : "?");
      cells.push_back(registers_of(cost));
      cells.push_back(shared_of(cost));
    } else {
      cells = counted_cells(cost);
    }
    cells.push_back(ran_on_hardware(costs));
    table.add(std::move(cells));
  }
  return table;
}

ordered_json traffic_json(const gpu::GlobalTraffic& traffic) {
  return {{"accesses", traffic.accesses},
          {"requested_sectors", traffic.requested_sectors},
          {"ideal_sectors", traffic.ideal_sectors},
          {"distinct_sectors", traffic.distinct_sectors}};
}

ordered_json atomics_json(const gpu::AtomicTraffic& traffic) {
  return {{"accesses", traffic.accesses},
          {"operations", traffic.operations},
          {"turns", traffic.turns},
          {"queue_max", traffic.queue_max}};
}

ordered_json profile_json(const gpu::LaunchProfile& profile) {
  ordered_json classes;
  for (std::size_t kind = 0; kind < gpu::kInstructionClasses; ++kind)
    classes[gpu::to_string(static_cast<gpu::InstructionClass>(kind))] = profile.by_class[kind];
  return {{"loads", traffic_json(profile.loads)},
          {"stores", traffic_json(profile.stores)},
          {"shared",
           {{"accesses", profile.shared.accesses},
            {"wavefronts", profile.shared.wavefronts},
            {"ideal_wavefronts", profile.shared.ideal_wavefronts}}},
          {"global_atomics", atomics_json(profile.global_atomics)},
          {"shared_atomics", atomics_json(profile.shared_atomics)},
          {"local_accesses", profile.local_accesses},
          {"barriers", profile.barriers},
          {"barriers_block_max", profile.barriers_block_max},
          {"barriers_warp_max", profile.barriers_warp_max},
          {"warp_instructions", profile.warp_instructions},
          {"warp_instructions_max", profile.warp_instructions_max},
          {"thread_instructions", profile.thread_instructions},
          {"by_class", classes},
          {"branches", profile.branches},
          {"divergent_branches", profile.divergent_branches}};
}

ordered_json launch_json(const LaunchCost& launch) {
  ordered_json allotted;
  if (launch.allotted)
    allotted = {{"registers", launch.allotted->registers},
                {"spilled_bytes", launch.allotted->spilled_bytes},
                {"shared_bytes", launch.allotted->shared_bytes}};
  return {{"entry", launch.entry},
          {"blocks", launch.blocks},
          {"block_threads", launch.block_threads},
          {"dynamic_shared_bytes", launch.dynamic_shared_bytes},
          {"allotted", allotted},
          {"profile", launch.profile ? profile_json(*launch.profile) : ordered_json()}};
}

ordered_json row_json(const Costs& costs, const Cost& cost) {
  ordered_json row{{"pipeline", cost.pipeline},
                   {"remark", cost.remark},
                   {"vocabulary", cost.shape.vocab_size},
                   {"draft_length", cost.shape.draft_length},
                   {"requests", cost.shape.requests},
                   {"logits", name_of(cost.shape.format)},
                   {"has_filters", cost.shape.has_filters},
                   {"floor_bytes", cost.shape.floor_bytes()},
                   {"skipped", cost.skipped.empty() ? ordered_json() : ordered_json(cost.skipped)},
                   {"launches", ordered_json::array()},
                   {"counters", nullptr},
                   {"timing", nullptr}};
  for (const LaunchCost& launch : cost.launches) row["launches"].push_back(launch_json(launch));
  if (cost.is_counted())
    row["counters"] = {{"requested_over_floor", cost.requested_over_floor()},
                       {"distinct_over_floor", cost.distinct_over_floor()},
                       {"thread_instructions_an_element", cost.instructions_an_element()},
                       {"unsafe_observations", cost.unsafe_observations}};
  if (cost.timing)
    row["timing"] = {{"median_microseconds", cost.timing->median()},
                     {"floor_microseconds", floor_microseconds(costs, cost)},
                     {"microseconds", cost.timing->microseconds}};
  return row;
}

}  // namespace

std::string cost_page(const Costs& costs, bool is_markdown) {
  const report::Table table = table_of(costs);
  std::string page = is_markdown ? table.markdown() : table.text();
  if (costs.is_timed)
    page +=
        fmt::format("\nTimed on {}, {} L2; a copy reads and writes {:.0f} GB/s in the same run.\n",
                    costs.device, costs.is_cold ? "cold" : "warm", costs.copied_gigabytes_a_second);
  std::set<std::string> lines;
  for (const Cost& cost : costs.rows) {
    if (!cost.skipped.empty())
      lines.insert(fmt::format("{} at vocabulary {}, {} requests{}: {}", cost.pipeline,
                               report::grouped(cost.shape.vocab_size), cost.shape.requests,
                               cost.shape.has_filters ? ", filters" : "", cost.skipped));
    if (cost.unsafe_observations != 0)
      lines.insert(
          fmt::format("{}: {} unsafe observations", cost.pipeline, cost.unsafe_observations));
  }
  if (!lines.empty()) page += "\n";
  for (const std::string& line : lines) page += (is_markdown ? "* " : "") + line + "\n";
  return page;
}

std::string cost_json(const Costs& costs) {
  ordered_json document{
      {"schema_version", "draftproof/cost/1"},
      {"device", costs.device},
      {"ran_on_hardware", ran_on_hardware(costs)},
      {"is_timed", costs.is_timed},
      {"is_cold", costs.is_cold},
      {"copied_gigabytes_a_second",
       costs.is_timed ? ordered_json(costs.copied_gigabytes_a_second) : ordered_json()},
      {"rows", ordered_json::array()}};
  for (const Cost& cost : costs.rows) document["rows"].push_back(row_json(costs, cost));
  return document.dump(2) + "\n";
}

}  // namespace draftproof::tools::cost
