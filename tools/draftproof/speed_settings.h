// Settings of `draftproof speed`, the options that fill them, and the command itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/draftproof/exit_code.h"
#include "tools/draftproof/settings.h"

namespace CLI {
class App;
}

namespace draftproof::tools {

struct SpeedSettings {
  std::string trace;            ///< a file of JSON lines; "-" is stdin
  std::string map;              ///< where the gain/loss map goes; "-" is stdout; empty: none
  std::string matrix;           ///< a benchmark matrix instead of a trace
  bool shows_examples = false;  ///< the worked examples instead of a trace
  std::string format = "text";  ///< text, md, json or csv
  bool allows_damaged = false;
  double confidence = 0.95;
  std::int64_t length_limit = 16;     ///< of predictions and of the map
  std::vector<std::int64_t> batches;  ///< of the map; empty: those of the trace
  std::optional<std::int64_t> query_group, tile, experts, experts_per_token;
  std::optional<std::string> placement;  ///< instead of the trace's
};

/// Adds the subcommand `speed`. `settings` must outlive the parser.
void add_speed(CLI::App& app, SpeedSettings& settings);

/// Judges a trace; or prints the worked examples, or the runs of a matrix. Exit 1 when a trace
/// contradicts itself. Throws Error for what the user named wrongly.
ExitCode speed_command(const SpeedSettings& settings, const Streams& streams);

}  // namespace draftproof::tools
