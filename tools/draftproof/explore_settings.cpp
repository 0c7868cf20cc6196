#include "tools/draftproof/explore_settings.h"

#include <CLI/CLI.hpp>

namespace draftproof::tools {

void add_explore(CLI::App& app, ExploreSettings& settings) {
  CLI::App& command = *app.add_subcommand(
      "explore", "Every small history of the toy engine, beside a twin that never drafted");
  CLI::Option* world =
      command.add_option("--world", settings.world, "See: draftproof list worlds; default: all");
  CLI::Option* size =
      command.add_option("--size", settings.size, "small: half a minute for all; large: minutes")
          ->check(CLI::IsMember({"small", "large"}));
  CLI::Option* depth =
      command.add_option("--depth", settings.depth, "Actions of a history, at most; default: all")
          ->check(CLI::Range(1, 1'000'000));
  CLI::Option* bug = command.add_option(
      "--bug", settings.bug, "A fault, in the world that shows it: draftproof list state-faults");
  CLI::Option* soak = command
                          .add_option("--soak", settings.soak_tokens,
                                      "Instead: so many tokens through engines under random load")
                          ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  bug->excludes(world)->excludes(soak);
  soak->excludes(world)->excludes(size)->excludes(depth);
  command.add_option("--seed", settings.seed, "Of the soak's load; default 1")->needs(soak);
  command.add_option("--time-limit", settings.time_limit, "As 90s, 2m or 1h30m; then inconclusive");
  command.add_option("-o,--output", settings.output, "What stdout carries")
      ->check(CLI::IsMember({"text", "json"}));
}

}  // namespace draftproof::tools
