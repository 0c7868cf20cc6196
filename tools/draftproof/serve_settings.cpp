#include "tools/draftproof/serve_settings.h"

#include <CLI/CLI.hpp>

namespace draftproof::tools {

void add_serve(CLI::App& app, ServeSettings& settings) {
  CLI::App& command =
      *app.add_subcommand("serve", "Serve a toy engine over HTTP, in an engine's words");
  serve::ToySettings& toy = settings.toy;
  command.add_option("--toy", toy.toy, "hashed, or see: draftproof list toy-models");
  command.add_option("--dialect", toy.dialect, "llama.cpp, vllm, sglang or openai");
  command.add_option("--host", settings.host, "Default: this machine only");
  command.add_option("--port", settings.port, "Default: one that is free")
      ->check(CLI::Range(0, 65535));
  command.add_option("--speculation", settings.speculation)->check(CLI::IsMember({"on", "off"}));
  command.add_option("--drafts", toy.drafts, "model, greedy, lookup or tree");
  command.add_option("--draft-length", toy.draft_length, "Tokens or nodes, at most");
  command.add_option("--rule", toy.rule, "See: draftproof list rules; default: chain, or match");
  command.add_option("--bug", toy.bug, "One hand-over done wrong: draftproof list state-faults");
  command.add_option("--eos", toy.eos, "The end token's id; default: there is none");
  command.add_option("--vocab", toy.vocab_size, "Tokens of --toy hashed");
  command.add_option("--spelling", toy.spelling, "letters, or json for structured output");
  command.add_option("--context", toy.context_max, "Prompt and answer, at most");
  command.add_option("--requests", toy.request_max, "That run together");
  command.add_option("--page-size", toy.page_size, "Of both caches");
  command.add_flag("--asynchronous", toy.is_asynchronous, "Commit one frame late");
  command.add_option("--seed", settings.seed, "Of requests without one");
}

}  // namespace draftproof::tools
