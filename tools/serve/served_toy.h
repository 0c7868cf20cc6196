// Served toys: what `serve` and the demonstration put behind HTTP: a toy target, a way to draft for
// it, and an engine around both. Every law of them is known exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/decode/language_model.h"
#include "tools/serve/service.h"

namespace draftproof::tools::serve {

struct ToySettings {
  std::string toy = "markov";  ///< of model::toys(), or "hashed"
  std::string dialect = "llama.cpp";
  bool is_speculative = true;
  std::string drafts = "model";        ///< model, greedy, lookup, tree
  std::string rule = {};               ///< empty: chain; match for trees
  int draft_length = 3;                ///< tokens or nodes, at most
  std::optional<int> vocab_size = {};  ///< of "hashed": 8
  std::optional<Token> eos = {};
  std::string spelling = "letters";  ///< or json
  int context_max = 256;
  int request_max = 64;  ///< that run together
  int unfinished_max = 1024;
  int page_size = 4;
  bool is_asynchronous = false;
  std::uint64_t seed = 1;
  std::string bug = {};  ///< of fixtures::state_faults(); empty: none
};

/// "hashed" and the toys of reference/model, in the order in which they are listed.
std::vector<std::string> served_toy_names();

/// The models behind a name: what the laws of a served toy are functions of.
struct ServedModels {
  reference::decode::LanguageModelPtr target;
  reference::decode::LanguageModelPtr draft;
};
/// Throws Error(kInput) at "--toy" that lists the names, or at "--vocab".
ServedModels served_models(const std::string& toy_name, std::optional<int> vocab_size);

/// Everything but host and port. Throws Error(kInput) at the option that is wrong.
ServiceOptions served_toy(const ToySettings& settings);

}  // namespace draftproof::tools::serve
