// Filter options: --top-k, --top-p and --min-p, alike for every command that shapes a row.
#pragma once

#include <CLI/CLI.hpp>

namespace draftproof::tools {

/// Adds them to a command whose settings have these fields.
template <typename Settings>
void add_filters(CLI::App& command, Settings& settings) {
  command.add_option("--top-k", settings.top_k, "Keep the k largest logits");
  command.add_option("--top-p", settings.top_p, "Keep the least prefix of this probability");
  command.add_option("--min-p", settings.min_p, "Keep what has this share of the largest");
}

}  // namespace draftproof::tools
