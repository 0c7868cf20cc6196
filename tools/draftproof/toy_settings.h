// What `draftproof toy write`, `toy law` and `toy list` are told, and the command itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/draftproof/exit_code.h"
#include "tools/draftproof/settings.h"

namespace CLI {
class App;
}

namespace draftproof::tools {

struct ToySettings {
  std::string action;  ///< write, law or list

  // write
  std::string toy;  ///< of toys::named_toys(); empty: --kind alone
  std::string kind;
  std::string seed;  ///< as typed
  std::optional<int> vocab_size, layers, head_dim, unreachable_count, tie_count;
  std::optional<double> sharpness, near_tie;
  bool has_end_trap = false;
  std::optional<std::string> spelling;
  std::vector<std::string> drafts;
  std::string format = "gguf", dtype = "f32", tokenizer = "llama";
  std::string name;  ///< of the files; empty: the toy's
  std::string folder = ".";

  // law
  std::string manifest, draft;
  std::string prompt;
  double temperature = 1;
  std::optional<std::int64_t> top_k;
  std::optional<double> top_p, min_p;
  std::string contract = "default";

  std::string output = "text";
};

/// Adds the command to the parser, which writes into `settings`.
void add_toy(CLI::App& app, ToySettings& settings);

/// Throws Error for what the user named wrongly.
ExitCode toy_command(const ToySettings& settings, const Streams& streams);

}  // namespace draftproof::tools
