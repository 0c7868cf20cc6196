// Toy files: a toy on disk: its model, and NAME.toy.json beside it.
#pragma once

#include <filesystem>
#include <string>

#include "tools/toys/manifest.h"
#include "tools/toys/tensor.h"

namespace draftproof::tools::toys {

struct ToyFileOptions {
  std::filesystem::path folder;
  std::string name;             ///< letters, digits, '.', '_', '-'
  std::string format = "gguf";  ///< or "safetensors"
  TensorFormat dtype = TensorFormat::kF32;
  std::string tokenizer = "llama";  ///< of gguf: or "gpt2"; safetensors has one of its own
};

/// Throws Error(kInput) at the option that is wrong, before anything is written.
void validate(const ToyFileOptions& options);

/// FOLDER/NAME.gguf, or the files of FOLDER/NAME/, and FOLDER/NAME.toy.json last. What is there
/// already is replaced only where it is a toy's: a manifest of ours lists it, or it has these
/// bytes. Files that the manifest lists and this format does not have are removed, unless they were
/// altered. Throws Error(kInput) that names a file of somebody else's before anything is written,
/// Error(kEnvironment) when the folder cannot be written.
Manifest write_toy(const ToySpec& spec, const ToyFileOptions& options);

}  // namespace draftproof::tools::toys
