#include "tools/draftproof/toy_settings.h"

#include <CLI/CLI.hpp>

#include "tools/draftproof/filter_options.h"

namespace draftproof::tools {
namespace {

void add_write(CLI::App& parent, ToySettings& settings) {
  CLI::App& command =
      *parent.add_subcommand("write", "Write a toy and its drafts, with manifests of their laws");
  command.add_option("toy", settings.toy, "A built-in toy (draftproof toy list); options alter it");
  command.add_option("--kind", settings.kind, "bigram, attention or integer, instead of a toy")
      ->check(CLI::IsMember({"bigram", "attention", "integer"}));
  command.add_option("--format", settings.format, "gguf, or safetensors for transformers and vLLM");
  command.add_option("--dtype", settings.dtype, "f32, f16 or bf16: the law is the same");
  command.add_option("--tokenizer", settings.tokenizer, "Of gguf: llama, or gpt2 for OpenVINO");
  command.add_option("--out", settings.folder, "Where files go; default: here");
  command.add_option("--name", settings.name, "Of the files; default: the toy's");
  // One value each time, or a toy named behind it would be taken for a draft.
  command
      .add_option("--draft", settings.drafts,
                  "Also a draft: near, far, adversarial or permuted; repeat for more")
      ->allow_extra_args(false);
  command.add_option("--seed", settings.seed, "Of the weights; default 1");
  command.add_option("--vocab", settings.vocab_size, "All ids, specials among them");
  command.add_option("--layers", settings.layers, "Of attention: 1 to 8");
  command.add_option("--head-dim", settings.head_dim, "vLLM wants at least 32, the default");
  command.add_option("--sharpness", settings.sharpness, "Standard deviation of the logits, about");
  command.add_option("--unreachable", settings.unreachable_count,
                     "So many last ids that never come");
  command.add_option("--ties", settings.tie_count, "So many live tokens with equal logits");
  command.add_option("--near-tie", settings.near_tie, "Each of them so much above the one before");
  command.add_flag("--end-trap", settings.has_end_trap, "The end token comes at every position");
  command.add_option("--spelling", settings.spelling, "letters, or json");
}

void add_law_of_toy(CLI::App& parent, ToySettings& settings) {
  CLI::App& command = *parent.add_subcommand("law", "Print the law of the next token of a toy");
  command.add_option("manifest", settings.manifest, "FILE.toy.json that toy write made")
      ->required();
  command.add_option("--prompt", settings.prompt, "Ids before it: 1,5,7")->required();
  command.add_option("--draft", settings.draft,
                     "The manifest of a draft: its law, and how often its token is kept");
  command.add_option("--temperature", settings.temperature, "0 is greedy");
  add_filters(command, settings);
  command.add_option("--contract", settings.contract,
                     "Whose order of filters: draftproof list engines");
  command.add_option("-o,--output", settings.output, "What stdout carries")
      ->check(CLI::IsMember({"text", "json"}));
}

}  // namespace

void add_toy(CLI::App& app, ToySettings& settings) {
  CLI::App& toy = *app.add_subcommand("toy", "Tiny models with a known law for real engines");
  toy.require_subcommand(1);
  add_write(toy, settings);
  add_law_of_toy(toy, settings);
  CLI::App& list = *toy.add_subcommand("list", "The built-in toys, one line each");
  list.add_option("-o,--output", settings.output, "What stdout carries")
      ->check(CLI::IsMember({"text", "jsonl"}));
  for (CLI::App* action : toy.get_subcommands({})) {
    action->callback([&settings, action] { settings.action = action->get_name(); });
    action->footer(
        "Exit codes:\n  0    done\n  3    bad options, or a file that is not ours\n"
        "  4    internal error\n");
  }
}

}  // namespace draftproof::tools
