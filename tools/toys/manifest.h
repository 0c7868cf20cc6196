// Manifest: FILE.toy.json beside a toy's model files: its spec, from which weights and law are
// computed again, the hash of the weights that the spec had when it was written, the hash of every
// file, and what a client has to know of the vocabulary. tools/schema/toy.schema.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/toys/toy_spec.h"

namespace draftproof::tools::toys {

struct StoredFile {
  std::string name;  ///< from the manifest's folder on
  std::uint64_t bytes = 0;
  std::string sha256;
};

struct Manifest {
  std::string name;
  ToySpec spec;
  std::string weights_sha256;
  std::string format, dtype, tokenizer;
  std::string model;  ///< what an engine is pointed at, from the manifest's folder on
  std::vector<StoredFile> files;
};

std::string manifest_text(const Manifest& manifest);
/// Throws Error(kInput) at file and field. Does not look at the weights: read_manifest() does.
Manifest load_manifest(const std::filesystem::path& file);

}  // namespace draftproof::tools::toys
