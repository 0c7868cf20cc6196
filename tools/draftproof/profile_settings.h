// Settings of `draftproof profile`, the options that fill them, and the command itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/draftproof/exit_code.h"
#include "tools/draftproof/settings.h"

namespace CLI {
class App;
}

namespace draftproof::tools {

struct ProfileSettings {
  std::vector<std::string> pipelines;  ///< parts of names; empty: all
  std::vector<std::uint64_t> vocabularies{32000};
  std::vector<std::uint64_t> requests{1};
  std::uint64_t draft_length = 4;
  std::string filters = "off";  ///< off, on or both
  std::string logits = "float32";
  std::string device = "emulator";
  bool is_cold = false;
  int repeats = 20;
  std::string seed;  ///< as typed; empty: 1
  std::string third_party = "build/third_party";
  std::string file;  ///< where the JSON goes as well; empty: nowhere
  std::string output = "text";
};

/// Adds the subcommand `profile`. `settings` must outlive the parser.
void add_profile(CLI::App& app, ProfileSettings& settings);

/// What acceptance costs, ours and others': counted on the emulated device, timed on a GPU. Exit 1
/// when a pipeline fails. Throws Error for what the user named wrongly.
ExitCode profile_command(const ProfileSettings& settings, const Streams& streams);

}  // namespace draftproof::tools
