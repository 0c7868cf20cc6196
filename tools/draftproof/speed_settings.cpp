#include "tools/draftproof/speed_settings.h"

#include <CLI/CLI.hpp>

namespace draftproof::tools {

void add_speed(CLI::App& app, SpeedSettings& settings) {
  CLI::App& command =
      *app.add_subcommand("speed", "Say from a measured trace: use, shorten or switch off");
  command.add_option("trace", settings.trace, "JSON lines (tools/docs/speed.md); - is stdin");
  command.add_option("--map", settings.map,
                     "Write draft length x batch x acceptance -> speed as CSV; - is stdout");
  command.add_option("--batches", settings.batches, "Batches of the map; default: the trace's")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20));
  command.add_flag("--examples", settings.shows_examples,
                   "Recompute published numbers, and say where each comes from");
  command.add_option("--matrix", settings.matrix, "Expand a benchmark matrix (TOML) to its runs");
  command.add_flag("--allow-damaged", settings.allows_damaged,
                   "List damaged lines and judge the rest, instead of refusing the trace");
  command.add_option("--confidence", settings.confidence, "Of each interval")
      ->check(CLI::Range(0.5, 0.999999));
  command.add_option("--length-limit", settings.length_limit, "Longest draft length predicted")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{4096}));
  const auto count = CLI::Range(std::int64_t{1}, std::int64_t{1} << 20);
  command.add_option("--query-group", settings.query_group, "Query heads per KV head")
      ->check(count);
  command.add_option("--tile", settings.tile, "Rows of a tile; default 128")->check(count);
  command.add_option("--experts", settings.experts, "Experts of a layer")->check(count);
  command.add_option("--experts-per-token", settings.experts_per_token, "Of them used by a token")
      ->check(count);
  command.add_option("--placement", settings.placement, "Where the drafter runs")
      ->check(CLI::IsMember({"serial", "overlapped", "remote"}));
  command.add_option("-o,--output", settings.format, "What stdout carries")
      ->check(CLI::IsMember({"text", "md", "json", "csv"}));
}

}  // namespace draftproof::tools
