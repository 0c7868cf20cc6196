// What `draftproof explore` is told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace draftproof::tools {

struct ExploreSettings {
  std::string world = "all";
  std::string size = "small";
  std::optional<int> depth;
  std::string bug;
  std::optional<std::int64_t> soak_tokens;
  std::string seed;        ///< as typed; empty: 1
  std::string time_limit;  ///< as typed; empty: none
  std::string output = "text";
};

/// Adds the command to the parser, which writes into `settings`.
void add_explore(CLI::App& app, ExploreSettings& settings);

}  // namespace draftproof::tools
