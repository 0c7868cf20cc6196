// What `draftproof serve` is told.
#pragma once

#include <string>

#include "tools/serve/served_toy.h"

namespace CLI {
class App;
}

namespace draftproof::tools {

struct ServeSettings {
  serve::ToySettings toy;
  std::string host = "127.0.0.1";
  int port = 0;
  std::string speculation = "on";
  std::string seed;  ///< as typed
};

/// Adds the command to the parser, which writes into `settings`.
void add_serve(CLI::App& app, ServeSettings& settings);

}  // namespace draftproof::tools
