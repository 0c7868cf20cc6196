// Prompt set: what is asked: built-in prompts of toys (ids within the live vocabulary) and of text
// models (neutral texts, and the cohorts of a retrieval agent), and files of prompts: JSON lines of
// ours, of Spec-Bench (question_id, category, turns) and of SPEED-Bench (the same words, messages
// or prompt). Of several turns the first is asked: later ones need the answers before them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "properties/audits/known_target.h"
#include "properties/engine.h"

namespace draftproof::tools::audit {

/// Ids or a text, never both.
struct NamedPrompt {
  std::string name;  ///< letters, digits, '.', '-', '_'
  properties::Prompt ids = {};
  std::string text = {};
  std::string cohort = {};
};

/// Tokens that a toy emits, and its law where somebody wants the closest call.
struct ToyVocabulary {
  std::vector<reference::Token> live;
  const properties::audits::KnownTarget* target = nullptr;
};

struct BuiltinPrompt {
  std::string name, summary;
  bool is_of_toys = false;  ///< ids; otherwise a text
  std::string cohort = {};
};
const std::vector<BuiltinPrompt>& builtin_prompts();

/// Throws Error(kInput) at `place` that lists the names, or says that a name needs a toy.
NamedPrompt builtin_prompt(const std::string& name, const std::optional<ToyVocabulary>& toy,
                           std::uint64_t seed, const std::string& place);

/// `length` tokens of `live`, the same for the same seed.
NamedPrompt prompt_of_length(int length, const std::vector<reference::Token>& live,
                             std::uint64_t seed);

/// Throws Error(kInput) at FILE:LINE. `message_template`: "plain" (the contents, each behind its
/// role when there are several), "chatml", "llama-3", "messages" (as JSON, for chat servers). Names
/// that repeat get "-2", "-3", ...
std::vector<NamedPrompt> read_prompts(const std::filesystem::path& file,
                                      const std::string& message_template,
                                      std::optional<std::size_t> count_max);

}  // namespace draftproof::tools::audit
