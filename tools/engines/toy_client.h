// Toy client: a served toy as properties::Engine, in the words of llama.cpp's server (POST
// /completion with several prompts in one body, so that they run together). One server an arm, or
// one for both, which is then asked request by request not to draft.
#pragma once

#include <memory>
#include <string>

#include "properties/engine.h"

namespace draftproof::tools {

struct ToyClientOptions {
  std::string host = "127.0.0.1";
  int baseline_port = 0;
  int speculative_port = 0;  ///< equal ports: one server, and the baseline asks for no drafts
  /// The protocol does not tell these.
  properties::Capabilities capabilities = {};
  int read_seconds_max = 30;  ///< an answer that takes longer is none
};

/// Throws as properties::Engine says; Error(kInput) at "request" for adjustments other than
/// penalties.
std::unique_ptr<properties::Engine> toy_client(const ToyClientOptions& options);

}  // namespace draftproof::tools
