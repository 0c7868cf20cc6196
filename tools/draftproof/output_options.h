// Output options: what stdout and stderr carry, alike for every command that judges something.
#pragma once

#include <string>
#include <vector>

#include "tools/draftproof/settings.h"

namespace CLI {
class App;
}

namespace draftproof::tools {

/// Output options as typed, before the terminal is asked what "auto" means.
struct OutputTexts {
  std::string format = "text";
  std::string color = "auto";
  std::string progress = "auto";
  bool is_quiet = false;
  bool is_verbose = false;
};

/// Asks the terminals what "auto" means.
OutputSettings output_settings(const OutputTexts& texts, const Streams& streams);

/// Adds -o, of these formats.
void add_output(CLI::App& command, OutputTexts& texts, const std::vector<std::string>& formats);
/// Adds -o, -q, -v, --color and --progress.
void add_run_output(CLI::App& command, OutputTexts& texts);

}  // namespace draftproof::tools
